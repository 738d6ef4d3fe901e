/** Policies, exact to the request, with a fake clock. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { Admission, type RateLimits } from "../../../../src/state/rate_limits/rate_limiter.ts";
import { prepareRateLimits } from "../../../../src/state/rate_limits/prepare.ts";
import { limitedResource } from "../../../../src/api/handler/limited_resource.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";
import { mcpOptions } from "../../../../src/wings/mcp/mcp_options.ts";

/** A request; the defaults are an anonymous GET. */
interface Sent {
  readonly client?: string | null;
  readonly line?: string;
  readonly role?: string;
  readonly claims?: object;
  /** Default: "s". */
  readonly signature?: string;
  /** The token is not valid: no policy sees its role. */
  readonly isRejected?: boolean;
}

interface Outcome {
  readonly isAdmitted: boolean;
  readonly details: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** Limits on a fake clock. */
class Limited {
  readonly clock = fakeClock();
  readonly refused: string[] = [];
  #limits: RateLimits | null = null;

  async configure(
    rateLimits: string | null,
    mcpPath: string | null = null,
    threads = 1,
  ): Promise<this> {
    const config = { rateLimits, mcpPath, wingOptions: mcpOptions };
    this.#limits = await prepareRateLimits({
      config,
      previous: this.#limits,
      now: this.clock.now,
      threads,
    });
    return this;
  }

  send(
    {
      client = "192.0.2.1",
      line = "GET /todos",
      role = "anon",
      claims,
      signature = "s",
      isRejected,
    }: Sent = {},
  ): Outcome {
    const [method = "", path = ""] = line.split(" ");
    const admission = new Admission({
      limits: this.#limits!,
      onRefused: (policy) => this.refused.push(policy),
      client,
      resource: limitedResource({ method, path }, {
        serverQueryMethod: true,
        dbRootSpec: { name: "start" },
      }),
    });
    try {
      admission.chargeClient();
      if (!isRejected) {
        const json = JSON.stringify({ ...claims, role });
        admission.chargeIdentity({
          role,
          claims: json,
          token: claims === undefined ? null : `${json}.${signature}`,
        });
      }
      return { isAdmitted: true, details: null, headers: Object.fromEntries(admission.headers()) };
    } catch (error) {
      ok(error instanceof ServiceError);
      const { status, code, details, headers = [] } = error.fields;
      deepStrictEqual([status, code], [429, "136"]);
      const sent = [...headers, ...admission.headers()];
      return { isAdmitted: false, details: String(details), headers: Object.fromEntries(sent) };
    }
  }

  /** Sends the same request several times; returns how many were admitted. */
  admitted(times: number, sent: Sent = {}): number {
    let count = 0;
    for (let time = 0; time < times; time++) if (this.send(sent).isAdmitted) count++;
    return count;
  }
}

const limited = (text: string) => new Limited().configure(text);

Deno.test("Admission admits a burst, then requests at the steady rate", async () => {
  const limits = await limited("a: 60/1m by ip");
  strictEqual(limits.admitted(100), 60);
  await limits.clock.pass(999);
  strictEqual(limits.admitted(1), 0);
  await limits.clock.pass(1);
  strictEqual(limits.admitted(10), 1);
  await limits.clock.pass(30_000);
  strictEqual(limits.admitted(100), 30);
  await limits.clock.pass(3_600_000);
  strictEqual(limits.admitted(100), 60);
});

Deno.test("Admission admits the whole count where intervals are not whole microseconds", async () => {
  for (const count of [3, 7, 11, 99, 997, 9_999]) {
    const limits = await limited(`a: ${count}/1m by ip`);
    strictEqual(limits.admitted(count + 5), count);
  }
});

Deno.test("Admission bounds a burst below and above the count", async () => {
  const below = await limited("a: 600/1m burst 3 by ip");
  strictEqual(below.admitted(10), 3);
  await below.clock.pass(100);
  strictEqual(below.admitted(10), 1);
  const above = await limited("a: 60/1m burst 100 by ip");
  strictEqual(above.admitted(200), 100);
});

Deno.test("Admission shows count, window, remaining requests and seconds", async () => {
  const limits = await limited("users: 600/1m burst 100 by $.sub");
  deepStrictEqual(limits.send({ claims: { sub: "u" } }).headers, {
    "RateLimit-Policy": '"users";q=600;w=60',
    "RateLimit": '"users";r=99;t=1',
  });
  const anon = await limited("anon: 60/1m by ip for web_anon");
  for (let time = 0; time < 60; time++) anon.send({ role: "web_anon" });
  deepStrictEqual(anon.send({ role: "web_anon" }), {
    isAdmitted: false,
    details: "Policy anon allows 60 requests in 60 seconds",
    headers: {
      "Retry-After": "1",
      "RateLimit-Policy": '"anon";q=60;w=60',
      "RateLimit": '"anon";r=0;t=1',
    },
  });
  deepStrictEqual(anon.send({ role: "other" }).headers, {});
  deepStrictEqual(anon.refused, ["anon"]);
});

Deno.test("prepareRateLimits() divides rate and burst among threads", async () => {
  const limited = await new Limited().configure("a: 10/10s burst 5 by ip", null, 2);
  const admitted = () => Array.from({ length: 5 }, () => limited.send().isAdmitted);
  deepStrictEqual(admitted(), [true, true, false, false, false]);
  await limited.clock.pass(2000);
  deepStrictEqual(admitted(), [true, false, false, false, false]);
});

Deno.test("Admission names the time from which a client is admitted again", async () => {
  const limits = await limited("a: 2/1h by ip");
  limits.admitted(2);
  const { headers } = limits.send();
  strictEqual(headers["Retry-After"], "1800");
  await limits.clock.pass(1_799_999);
  strictEqual(limits.admitted(1), 0);
  await limits.clock.pass(1);
  strictEqual(limits.admitted(2), 1);
});

Deno.test("Admission charges no policy if another one refuses", async () => {
  const limits = await limited("wide: 10/1h by ip; narrow: 2/1h by ip on /rpc/login");
  strictEqual(limits.admitted(9, { line: "POST /rpc/login" }), 2);
  strictEqual(limits.admitted(20), 8);
});

Deno.test("Admission refunds what it charged before authentication", async () => {
  const limits = await limited("wide: 10/1h by ip; narrow: 2/1h by role");
  strictEqual(limits.admitted(9), 2);
  strictEqual(limits.admitted(20, { role: "clerk" }), 2);
  strictEqual(limits.admitted(20, { isRejected: true }), 6);
});

Deno.test("Admission counts requests with an invalid token by address only", async () => {
  const limits = await limited("address: 3/1h by ip; role: 1/1h by role");
  strictEqual(limits.admitted(5, { isRejected: true }), 3);
  strictEqual(limits.admitted(5, { client: "192.0.2.2" }), 1);
});

Deno.test("Admission shows the tightest policy", async () => {
  const limits = await limited("wide: 100/1h by ip; narrow: 2/1h by role");
  strictEqual(limits.send().headers["RateLimit"], '"narrow";r=1;t=1800');
  const ties = await limited("short: 2/1m by ip; long: 2/1h by ip");
  strictEqual(ties.send().headers["RateLimit"], '"long";r=1;t=1800');
});

/** Whether two requests share a count of one. */
const keys: readonly (readonly [policy: string, one: Sent, other: Sent, isShared: boolean])[] = [
  ["by ip", {}, {}, true],
  ["by ip", {}, { client: "192.0.2.2" }, false],
  ["by ip", { client: "2001:db8::1" }, { client: "2001:db8::2:3" }, true],
  ["by ip", { client: "2001:db8::1" }, { client: "2001:db8:0:1::1" }, false],
  ["by ip", { client: null }, { client: null }, true],
  ["by ip", { client: null }, {}, false],
  ["by ip", { claims: { sub: "a" } }, { claims: { sub: "b" } }, true],
  ["by all", {}, { client: "192.0.2.2", role: "clerk" }, true],
  ["by role", {}, { client: "192.0.2.2" }, true],
  ["by role", {}, { role: "clerk" }, false],
  ["by token", { claims: { jti: 1 } }, { claims: { jti: 1 }, client: "192.0.2.2" }, true],
  ["by token", { claims: { jti: 1 } }, { claims: { jti: 2 } }, false],
  // Some algorithms have several signatures of one text.
  ["by token", { claims: { jti: 1 } }, { claims: { jti: 1 }, signature: "t" }, true],
  ["by token", {}, {}, true],
  ["by token", {}, { client: "192.0.2.2" }, false],
  ["by $.sub", { claims: { sub: "a", n: 1 } }, { claims: { sub: "a", n: 2 } }, true],
  ["by $.sub", { claims: { sub: "a" } }, { claims: { sub: "b" } }, false],
  ["by $.sub", { claims: { sub: "192.0.2.1" } }, {}, false],
  ["by $.sub", { claims: { n: 1 } }, {}, true],
  ["by $.sub", { claims: { sub: null } }, {}, true],
  ["by $.a.b", { claims: { a: { b: 1 } } }, { claims: { a: { b: 1, c: 2 } } }, true],
  ["by $.a", { claims: { a: { b: 1 } } }, { claims: { a: { b: 2 } } }, false],
  ["by $['a b']", { claims: { "a b": 1 } }, { claims: { "a b": 2 } }, false],
  ["by $.role", {}, { client: "192.0.2.2" }, false],
  ["by all for anon", {}, { role: "clerk" }, false],
  ["by all for anon, clerk", {}, { role: "clerk" }, true],
  ["by all on /todos", {}, { line: "POST /todos" }, true],
  ["by all on /todos", {}, { line: "GET /%74odos" }, true],
  ["by all on /todos", {}, { line: "GET /todos/" }, true],
  ["by all on /todos", {}, { line: "GET /todos_archive" }, false],
  ["by all on /todos", {}, { line: "GET /Todos" }, false],
  ["by all on GET /todos", {}, { line: "HEAD /todos" }, true],
  ["by all on GET /todos", {}, { line: "POST /todos" }, false],
  ["by all on GET /todos", {}, { line: "QUERY /todos" }, true],
  ["by all on GET /todos", {}, { line: "POST /todos/$query" }, true],
  ["by all on GET /todos", {}, { line: "POST /todos/%24query" }, true],
  ["by all on QUERY /todos", { line: "QUERY /todos" }, { line: "POST /todos/$query" }, true],
  ["by all on QUERY /todos", { line: "QUERY /todos" }, { line: "GET /todos" }, false],
  ["by all on POST /todos", { line: "POST /todos" }, { line: "POST /todos/$query" }, false],
  ["by all on /todos/$query", { line: "POST /todos/$query" }, { line: "GET /todos" }, false],
  ["by all on /rpc/a", { line: "POST /rpc/a" }, { line: "POST /rpc/a/$query" }, true],
  ["by all on /rpc/start", { line: "GET /rpc/start" }, { line: "QUERY /" }, true],
  ["by all on /", {}, { line: "GET /" }, true],
  ["by all on /rpc", { line: "GET /rpc/a" }, { line: "POST /rpc/b" }, true],
  ["by all on /rpc/", { line: "GET /rpc/a" }, { line: "POST /rpc/b" }, true],
  ["by all on /rpc/start", { line: "GET /rpc/start" }, { line: "GET /" }, true],
  ["by all on /rpc/a", { line: "GET /rpc/a" }, { line: "GET /rpc%2Fa" }, false],
  ["by all on /a%20b", { line: "GET /a%20b" }, { line: "GET /a%20b" }, true],
  ["by all on /a%2Fb", { line: "GET /a%2fb" }, { line: "GET /a/b" }, false],
];

for (const [policy, one, other, isShared] of keys) {
  const label = `${policy}: ${JSON.stringify(one)} and ${JSON.stringify(other)}`;
  Deno.test(`Admission counts ${isShared ? "together" : "apart"} ${label}`, async () => {
    const limits = await limited(`a: 1/1h ${policy}`);
    strictEqual(limits.send(one).isAdmitted, true);
    strictEqual(limits.send(other).isAdmitted, !isShared);
  });
}

Deno.test("prepareRateLimits() keeps the counts of the policies that stay", async () => {
  const limits = await limited("a: 5/1h by ip; b: 5/1h by ip on /b");
  strictEqual(limits.admitted(3), 3);
  await limits.configure("c: 9/1h by all; a: 5/1h by ip");
  strictEqual(limits.admitted(9), 2);
  await limits.configure("a: 60/1m by ip");
  strictEqual(limits.admitted(9), 0);
  await limits.clock.pass(60_000);
  strictEqual(limits.admitted(100), 60);
});

/** Label, `rate-limits`, and how many of 200 requests to `/mcp` are admitted. */
const mcpRows: readonly (readonly [string, string | null, number])[] = [
  ["no policy", null, 120],
  ["policies for other paths", "mcp: 500/1m by ip on /todos", 120],
  ["a policy for its path", "agents: 150/1m by ip on /mcp", 150],
  ["a stricter policy for all paths", "all: 50/1m by all", 50],
];

for (const [label, policies, admitted] of mcpRows) {
  Deno.test(`prepareRateLimits() limits mcp-path with ${label}`, async () => {
    const limits = await new Limited().configure(policies, "/mcp");
    strictEqual(limits.admitted(200, { line: "POST /mcp" }), admitted);
  });
}

Deno.test("prepareRateLimits() rejects an invalid JSONPath", async () => {
  let message = "";
  await limited("a: 1/1s by $.[]").catch((error: Error) => message = error.message);
  ok(message.length > 0);
});
