/** `rate-limits`: what requests of the handler are counted by, and what refused ones receive. */
import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { createHandler } from "../../mod.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { testSecret } from "../support/handler/token.ts";
import { errorBody } from "../support/handler/rows.ts";
import { stopClock } from "../support/timing/replaced_clock.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;
const origin = "http://localhost:3000";

/** Sends a request of a client, and returns its status and its `RateLimit` field. */
async function sendFrom(
  { handler }: Pick<Api, "handler">,
  client: string | null,
  line: string,
  parts: RequestParts = {},
): Promise<string> {
  const response = await handler(await buildRequest({ line, origin }, parts), { client });
  await response.body?.cancel();
  return `${response.status} ${response.headers.get("RateLimit") ?? "-"}`;
}

const byAddress = serviceSuite("tools", { ...base, rateLimits: "address: 2/1d by ip on /tools" }, {
  title: "rate-limits by ip",
});

byAddress.test("a policy refuses requests before authentication, and shows its count", async (api) => {
  using _clock = stopClock();
  const cross = { headers: { Origin: "http://a.example" } };
  strictEqual(await sendFrom(api, "192.0.2.1", "GET /tools"), '200 "address";r=1;t=43200');
  const invalid = { headers: { Authorization: "Bearer nonsense" } };
  strictEqual(await sendFrom(api, "192.0.2.1", "GET /tools", invalid), '401 "address";r=0;t=43200');
  const request = await buildRequest({ line: "GET /tools", origin }, { ...invalid, ...cross });
  const response = await api.handler(request, { client: "192.0.2.1" });
  strictEqual(response.status, 429);
  deepStrictEqual(
    await response.json(),
    errorBody("SVC136 | Too many requests | Policy address allows 2 requests in 86400 seconds"),
  );
  const { headers } = response;
  strictEqual(headers.get("RateLimit-Policy"), '"address";q=2;w=86400');
  strictEqual(headers.get("RateLimit"), '"address";r=0;t=43200');
  strictEqual(headers.get("Retry-After"), "43200");
  strictEqual(headers.get("Access-Control-Allow-Origin"), "*");
  match(
    headers.get("Access-Control-Expose-Headers")!,
    /, RateLimit, RateLimit-Policy, Retry-After$/,
  );
  strictEqual(await sendFrom(api, "192.0.2.2", "GET /tools"), '200 "address";r=1;t=43200');
});

byAddress.test("a policy counts every spelling of its path, and no other path", async (api) => {
  using _clock = stopClock();
  const client = "192.0.2.3";
  strictEqual(await sendFrom(api, client, "GET /%74ools?id=eq.1"), '200 "address";r=1;t=43200');
  strictEqual(await sendFrom(api, client, "OPTIONS /tools"), '200 "address";r=0;t=43200');
  strictEqual(await sendFrom(api, client, "GET /tools"), '429 "address";r=0;t=43200');
  strictEqual(await sendFrom(api, client, "HEAD /tools"), '429 "address";r=0;t=43200');
  strictEqual(await sendFrom(api, client, "GET /makers"), "200 -");
});

byAddress.test("a preflight request is not counted", async (api) => {
  using _clock = stopClock();
  const preflight = {
    headers: { Origin: "http://a.example", "Access-Control-Request-Method": "GET" },
  };
  for (let time = 0; time < 5; time++) {
    strictEqual(await sendFrom(api, "192.0.2.4", "OPTIONS /tools", preflight), "200 -");
  }
  strictEqual(await sendFrom(api, "192.0.2.4", "GET /tools"), '200 "address";r=1;t=43200');
});

byAddress.test("requests without an address count together", async (api) => {
  const request = () => buildRequest({ line: "GET /tools", origin });
  const statuses: number[] = [];
  for (const info of [{}, undefined, { client: null }]) {
    const response = await api.handler(await request(), info);
    await response.body?.cancel();
    statuses.push(response.status);
  }
  deepStrictEqual(statuses, [200, 200, 429]);
});

const byIdentity = serviceSuite("tools", {
  ...base,
  rateLimits: "anon: 2/1d by ip for anon; users: 3/1d by $.sub; writers: 5/1d by all for writer",
}, { title: "rate-limits by claim and role" });

byIdentity.test("policies count by address, claim and role", async (api) => {
  using _clock = stopClock();
  const as = (sub: string) => ({ as: { role: "writer", sub } });
  const line = "GET /tools?id=eq.1";
  strictEqual(await sendFrom(api, "192.0.2.1", line, as("a")), '200 "users";r=2;t=28800');
  strictEqual(await sendFrom(api, "192.0.2.2", line, as("a")), '200 "users";r=1;t=28800');
  strictEqual(await sendFrom(api, "192.0.2.2", line, as("b")), '200 "users";r=2;t=28800');
  strictEqual(await sendFrom(api, "192.0.2.2", line, as("a")), '200 "users";r=0;t=28800');
  strictEqual(await sendFrom(api, "192.0.2.2", line, as("a")), '429 "users";r=0;t=28800');
  strictEqual(await sendFrom(api, "192.0.2.2", line, as("c")), '200 "writers";r=0;t=17280');
  strictEqual(await sendFrom(api, "192.0.2.2", line, as("d")), '429 "writers";r=0;t=17280');
  strictEqual(await sendFrom(api, "192.0.2.9", line), '200 "anon";r=1;t=43200');
  strictEqual(await sendFrom(api, "192.0.2.9", line), '200 "anon";r=0;t=43200');
  strictEqual(await sendFrom(api, "192.0.2.9", line), '429 "anon";r=0;t=43200');
  const unused = { headers: { Authorization: "Bearer nonsense" } };
  strictEqual(await sendFrom(api, "192.0.2.9", line, unused), "401 -");
});

const behindProxy = serviceSuite("tools", {
  ...base,
  rateLimits: "a: 1/1d by ip",
  serverTrustedProxies: ["10.0.0.0/8"],
}, { title: "rate-limits behind a proxy" });

behindProxy.test("the address is the one that a trusted proxy names", async (api) => {
  using _clock = stopClock();
  const of = (client: string) => ({ headers: { "X-Forwarded-For": client } });
  const line = "GET /tools?id=eq.1";
  const admitted = '200 "a";r=0;t=86400';
  const refused = '429 "a";r=0;t=86400';
  strictEqual(await sendFrom(api, "10.0.0.1", line, of("192.0.2.1")), admitted);
  strictEqual(await sendFrom(api, "10.0.0.2", line, of("192.0.2.1, 10.0.0.9")), refused);
  strictEqual(await sendFrom(api, "10.0.0.1", line, of("6.6.6.6, 192.0.2.1")), refused);
  strictEqual(await sendFrom(api, "10.0.0.1", line, of("192.0.2.2")), admitted);
  strictEqual(await sendFrom(api, "203.0.113.1", line, of("192.0.2.3")), admitted);
  strictEqual(await sendFrom(api, "203.0.113.1", line, of("192.0.2.4")), refused);
});

Deno.test("a reload of rate-limits keeps the counts, and a wrong text keeps the policies", async () => {
  const sql = "create table api.todos (id int); grant select on api.todos to public";
  const config = {
    dbSchemas: ["api"],
    dbAnonRole: "authenticator",
    jwtSecret: testSecret,
    rateLimits: "a: 2/1d by ip; b: 9/1d by all",
  };
  await withAdministeredHandler(sql, config, async ({ handler, admin }) => {
    const { rows } = await admin.query("select current_database() as name");
    const set = async (value: string) => {
      await admin.query(
        `alter role authenticator in database "${
          rows[0]!["name"]
        }" set svc.rate_limits = '${value}'`,
      );
      await handler.reloadConfig();
    };
    using _clock = stopClock();
    const get = () => sendFrom({ handler }, "192.0.2.1", "GET /todos");
    strictEqual(await get(), '200 "a";r=1;t=43200');
    await set("a: 2/1d by ip");
    strictEqual(await get(), '200 "a";r=0;t=43200');
    strictEqual(await get(), '429 "a";r=0;t=43200');
    await set("a: 2/1d by host");
    strictEqual(await get(), '429 "a";r=0;t=43200');
    await set("a: 2/1d by $.[]");
    strictEqual(await get(), '429 "a";r=0;t=43200');
    await set("c: 2/1d by ip");
    strictEqual(await get(), '200 "c";r=1;t=43200');
  });
});

Deno.test("createHandler refuses policies that differ from the grammar, and names the first", async () => {
  const make = (rateLimits: string) =>
    createHandler({ dbUri: "pglite://memory", dbSchemas: ["api"], rateLimits });
  let message = "";
  try {
    make("login: 5/1m by ip on POST /rpc/login; anon: 60/1w by ip");
  } catch (error) {
    message = error instanceof Error ? error.message : "";
  }
  match(message, /^rateLimits: policy 2: expected name: count\/time /);
  const handler = make("a: 5/1m by $.[]");
  await rejects(handler.ready(), (error: Error) => {
    match(error.message, /SVC_RATE_LIMITS.*: policy a: invalid JSONPath \(\$\.\[\]\)/);
    return true;
  });
  await handler.close();
});
