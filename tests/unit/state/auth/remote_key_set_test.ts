import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import type { KeySet } from "../../../../src/state/auth/keys.ts";
import { RemoteKeySet } from "../../../../src/state/auth/remote_key_set.ts";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { Counter } from "../../../../src/base/observe/metric_registry.ts";
import type { Observation } from "../../../../src/base/observe/observation.ts";
import { eventually } from "../../../support/timing/eventually.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";
import {
  type IssuerKey,
  issuerKey,
  keySource,
  type SourceAnswer,
} from "../../../support/handler/key_sets.ts";

const url = "https://id.test/keys";
const [one, two, three] = await Promise.all([issuerKey("1"), issuerKey("2"), issuerKey("3")]);

function jwks(...keys: readonly IssuerKey[]) {
  return { body: { keys: keys.map(({ publicJwk }) => publicJwk) } };
}

interface SetupOptions {
  readonly sharing?: "shared" | "unshared";
  readonly maxStaleMs?: number;
  readonly discovery?: boolean;
  /** Number of timers that the runtime ends with their request. */
  readonly lostTimers?: number;
}

function setup(answer: SourceAnswer, options: SetupOptions = {}) {
  const { sharing = "shared", maxStaleMs = 86_400_000, discovery = false } = options;
  const clock = fakeClock();
  let { lostTimers = 0 } = options;
  const source = keySource({ [url]: answer });
  const events: Observation[] = [];
  const fetches = new Counter({ name: "fetches", help: "", labels: ["issuer", "result"] });
  const set = new RemoteKeySet(
    discovery
      ? { location: { kind: "discovery", issuer: "https://id.test" }, issuer: "https://id.test" }
      : { location: { kind: "url", url }, issuer: "id" },
    maxStaleMs,
    {
      fetch: source.fetch,
      fetches,
      now: clock.now,
      schedule: (run, ms) => lostTimers-- > 0 ? () => {} : clock.schedule(run, ms),
      observe: (event) => void events.push(event),
      sharing,
    },
  );
  return { clock, source, events, set, fetches };
}

function kids({ keys }: KeySet): readonly (string | null)[] {
  return keys.map(({ kid }) => kid);
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.fields.code === "310";
}

Deno.test("RemoteKeySet fetches once for requests that come together", async () => {
  const { set, source } = setup(jwks(one));
  const first = await Promise.all([set.current(), set.current()]);
  deepStrictEqual(first.map(kids), [["1"], ["1"]]);
  strictEqual(first[0], first[1]);
  strictEqual(set.current(), first[0], "without a promise while the keys are fresh");
  strictEqual(source.count(url), 1);
});

Deno.test("RemoteKeySet fetches once for an unknown kid, and then none for 30 s", async () => {
  const { set, source, clock } = setup(jwks(one));
  await set.current();
  await set.setWithKey(null);
  strictEqual(source.count(url), 1, "none for a token without kid");
  source.answers.set(url, jwks(one, two));
  deepStrictEqual(kids(await set.setWithKey("2")), ["1", "2"]);
  strictEqual(source.count(url), 2);
  for (let n = 0; n < 100; n++) await set.setWithKey(`random ${n}`);
  strictEqual(source.count(url), 2);
  await clock.pass(29_999);
  await set.setWithKey("3");
  strictEqual(source.count(url), 2);
  await clock.pass(1);
  source.answers.set(url, jwks(three));
  deepStrictEqual(kids(await set.setWithKey("3")), ["3"]);
  strictEqual(source.count(url), 3);
});

Deno.test("RemoteKeySet fetches once for 100 unknown kids at once", async () => {
  const { set, source } = setup(jwks(one));
  const flood = () =>
    Promise.all(Array.from({ length: 100 }, (_, n) => set.setWithKey(`random ${n}`)));
  await flood();
  strictEqual(source.count(url), 1, "the first fetch is new enough");
  await flood();
  strictEqual(source.count(url), 2);
  await flood();
  strictEqual(source.count(url), 2);
});

Deno.test("RemoteKeySet lets no flood of unknown kids wait for refreshes that hang", async () => {
  const { set, source, clock } = setup(jwks(one));
  const first = await set.current();
  await clock.pass(480_000);
  source.answers.set(url, { held: new Promise(() => {}), body: "" });
  strictEqual(set.current(), first, "starts a refresh");
  const waiting = [set.setWithKey("a"), set.setWithKey("b")];
  ok(waiting.every((keys) => keys instanceof Promise), "the refresh may bring the keys");
  await clock.pass(0);
  await clock.pass(5000);
  deepStrictEqual(await Promise.all(waiting), [first, first]);
  await clock.pass(1000);
  strictEqual(set.current(), first, "starts a retry");
  await clock.pass(0);
  strictEqual(source.count(url), 3);
  strictEqual(set.setWithKey("c"), first, "without a promise");
  await clock.pass(5000);
});

Deno.test("RemoteKeySet refreshes in the background from 80 % of the age on", async () => {
  const { set, source, clock } = setup({
    ...jwks(one),
    headers: { "cache-control": "max-age=100" },
  });
  const first = await set.current();
  source.answers.set(url, jwks(two));
  await clock.pass(79_999);
  strictEqual(set.current(), first);
  strictEqual(source.count(url), 1);
  await clock.pass(1);
  strictEqual(set.current(), first);
  strictEqual(set.current(), first);
  await eventually("the refresh", () => {
    const current = set.current();
    return !(current instanceof Promise) && kids(current)[0] === "2";
  });
  strictEqual(source.count(url), 2);
});

Deno.test("RemoteKeySet waits for a refresh of keys that are no longer fresh", async () => {
  const { set, source, clock } = setup(jwks(one));
  await set.current();
  source.answers.set(url, jwks(two));
  await clock.pass(600_000);
  const current = set.current();
  ok(current instanceof Promise);
  deepStrictEqual(kids(await current), ["2"]);
});

Deno.test("RemoteKeySet renews the age of an unchanged set", async () => {
  const { set, source, clock } = setup(jwks(one));
  const first = await set.current();
  source.answers.set(url, { ...jwks(one), headers: { "cache-control": "max-age=1000" } });
  await clock.pass(600_000);
  strictEqual(await set.current(), first);
  await clock.pass(799_999);
  strictEqual(set.current(), first);
  strictEqual(source.count(url), 2);
});

Deno.test("RemoteKeySet serves old keys through an outage, then none", async () => {
  const { set, source, clock, events, fetches } = setup(jwks(one), { maxStaleMs: 100_000 });
  const first = await set.current();
  source.answers.set(url, "unreachable");
  await clock.pass(600_000);
  strictEqual(await set.current(), first);
  strictEqual(source.count(url), 2);
  strictEqual(set.current(), first, "no fetch within the backoff");
  for (let second = 1; second < 100; second++) {
    await clock.pass(1000);
    strictEqual(set.current(), first, `after ${second} s`);
  }
  // 1, 2, 4, 8, 16 and 32 s after the failure before.
  strictEqual(source.count(url), 2 + 6);
  await clock.pass(1000);
  throws(() => set.current(), isUnavailable);
  deepStrictEqual(events, [
    { kind: "jwks-failed", issuer: "id", reason: "the request failed: cannot connect to URL" },
  ]);
  deepStrictEqual(fetches.samples(), [[["id", "success"], 1], [["id", "failure"], 7]]);
  source.answers.set(url, jwks(two));
  await clock.pass(60_000);
  deepStrictEqual(kids(await set.current()), ["2"]);
  source.answers.set(url, "unreachable");
  await clock.pass(700_000);
  await rejects(async () => await set.current(), isUnavailable);
  strictEqual(events.length, 2, "the next outage has a line of its own");
});

Deno.test("RemoteKeySet says when to retry before the first success", async () => {
  const { set, source, clock } = setup("unreachable");
  const retryAfter = async () => {
    const error = await Promise.resolve().then(() => set.current()).catch((thrown) => thrown);
    return error instanceof ServiceError ? error.fields.headers?.[0]?.[1] : null;
  };
  const waits = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const seconds = await retryAfter();
    waits.push(seconds);
    await clock.pass(Number(seconds) * 1000);
  }
  deepStrictEqual(waits, ["1", "2", "4", "8", "16", "32", "60", "60"]);
  strictEqual(source.count(url), 8);
});

Deno.test("RemoteKeySet refuses sets that it must not trust", async () => {
  const short = await crypto.subtle.generateKey(
    { ...rsaParams, modulusLength: 1024 },
    true,
    ["sign", "verify"],
  );
  const weak = await crypto.subtle.exportKey("jwk", short.publicKey);
  const oct = { kty: "oct", k: "cmVhbGx5cmVhbGx5cmVhbGx5cmVhbGx5dmVyeXNhZmU" };
  const broken = { kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: "1" };
  const rows: readonly (readonly [string, SourceAnswer, string])[] = [
    ["a redirect", { status: 302, headers: { location: "https://evil.test" } }, "status 302"],
    ["an error", { status: 500 }, "status 500"],
    ["304", { status: 304 }, "status 304"],
    ["no content", { status: 204 }, "status 204"],
    ["2 MiB", { body: " ".repeat(2 * 1024 ** 2) }, "more than 1048576 bytes"],
    ["no JSON", { body: "<html>" }, "not a JSON Web Key Set"],
    ["an array", { body: [one.publicJwk] }, "not a JSON Web Key Set"],
    ["keys that are no list", { body: { keys: {} } }, "not a JSON Web Key Set"],
    ["101 keys", { body: { keys: Array(101).fill(one.publicJwk) } }, "more than 100 keys"],
    ["no keys", { body: { keys: [] } }, "no usable key"],
    ["a symmetric key", { body: { keys: [oct] } }, "no usable key"],
    ["a broken key", { body: { keys: [broken] } }, "no usable key"],
    ["a short RSA key", { body: { keys: [weak] } }, "no usable key"],
    [
      "a key for encryption",
      { body: { keys: [{ ...one.publicJwk, use: "enc" }] } },
      "no usable key",
    ],
    ...[["encrypt"], ["sign"], "verify", null, []].map((key_ops) =>
      [
        `a key for ${JSON.stringify(key_ops)}`,
        { body: { keys: [{ ...one.publicJwk, key_ops }] } },
        "no usable key",
      ] as const
    ),
    ["null", { body: { keys: [null, 5, "x", []] } }, "no usable key"],
  ];
  for (const [name, answer, reason] of rows) {
    const { set, events } = setup(answer);
    await rejects(async () => await set.current(), isUnavailable, name);
    deepStrictEqual(events, [{ kind: "jwks-failed", issuer: "id", reason }], name);
  }
});

const rsaParams = {
  name: "RSASSA-PKCS1-v1_5",
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
};

Deno.test("RemoteKeySet skips single keys, and takes no private part", async () => {
  const oct = { kty: "oct", k: "cmVhbGx5cmVhbGx5cmVhbGx5cmVhbGx5dmVyeXNhZmU", kid: "oct" };
  const broken = { kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: "broken" };
  const { set, events } = setup({ body: { keys: [one.privateJwk, broken, oct, two.publicJwk] } });
  const keySet = await set.current();
  deepStrictEqual(kids(keySet), ["1", "2"]);
  for (const { verifiers } of keySet.keys) {
    for (const key of verifiers.values()) {
      deepStrictEqual([key.type, key.usages], ["public", ["verify"]]);
    }
  }
  deepStrictEqual(events, [{ kind: "jwks-keys-skipped", issuer: "id", places: [2] }]);
});

Deno.test("RemoteKeySet ends a fetch without an answer after 5 s", async () => {
  const { set, clock, events } = setup({ held: new Promise(() => {}), body: "" });
  const current = set.current();
  const rejected = rejects(async () => await current, isUnavailable);
  await clock.pass(0);
  await clock.pass(5000);
  await rejected;
  deepStrictEqual(events, [{ kind: "jwks-failed", issuer: "id", reason: "no answer within 5 s" }]);
});

const configuration = "https://id.test/.well-known/openid-configuration";

Deno.test("RemoteKeySet follows a discovery document of its issuer", async () => {
  const { set, source, clock } = setup(jwks(one), { discovery: true });
  source.answers.set(configuration, {
    body: { issuer: "https://id.test", jwks_uri: url },
  });
  deepStrictEqual(kids(await set.current()), ["1"]);
  await clock.pass(600_000);
  await set.current();
  deepStrictEqual([source.count(configuration), source.count(url)], [2, 2]);
});

Deno.test("RemoteKeySet refuses discovery documents that it must not trust", async () => {
  const rows: readonly (readonly [body: unknown, reason: string])[] = [
    [{ issuer: "https://evil.test", jwks_uri: url }, "the discovery document is of another issuer"],
    [{ issuer: "https://id.test/", jwks_uri: url }, "the discovery document is of another issuer"],
    [{ jwks_uri: url }, "the discovery document is of another issuer"],
    ["<html>", "the discovery document is not a JSON object"],
    ...["http://id.test/keys", "file:///etc/passwd", 5, null, "https://u:p@id.test/keys"].map((
      uri,
    ) =>
      [
        { issuer: "https://id.test", jwks_uri: uri },
        "the jwks_uri of the discovery document is not an https URL",
      ] as const
    ),
  ];
  for (const [body, reason] of rows) {
    const { set, source, events } = setup(jwks(one), { discovery: true });
    source.answers.set(configuration, { body });
    await rejects(async () => await set.current(), isUnavailable, reason);
    deepStrictEqual(events, [{ kind: "jwks-failed", issuer: "https://id.test", reason }]);
    strictEqual(source.count(url), 0);
  }
});

Deno.test("RemoteKeySet without shared I/O never waits for another request's fetch", async () => {
  const abandoned = new Promise<void>(() => {});
  const { set, source, clock } = setup({ held: abandoned, body: "" }, {
    sharing: "unshared",
    lostTimers: 1,
  });
  // The runtime ends this request, so its fetch has no end.
  void Promise.resolve(set.current()).catch(() => {});
  await clock.pass(0);
  source.answers.set(url, jwks(one));
  const second = set.current();
  deepStrictEqual(kids(await second), ["1"]);
  strictEqual(source.count(url), 2);
});

Deno.test("RemoteKeySet without shared I/O refreshes within waitUntil, or before the answer", async () => {
  const { set, clock, source } = setup(jwks(one), { sharing: "unshared" });
  const first = await set.current();
  await clock.pass(480_000);
  source.answers.set(url, jwks(two));
  const works: Promise<void>[] = [];
  strictEqual(set.current((work) => void works.push(work)), first);
  strictEqual(works.length, 1);
  await Promise.all(works);
  deepStrictEqual(kids(await set.current()), ["2"]);
  await clock.pass(480_000);
  const current = set.current();
  ok(current instanceof Promise);
  await current;
  strictEqual(source.count(url), 3);
});
