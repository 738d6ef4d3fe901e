/** Limits that protect the process: `server-max-url-length`, `-header-size`, `-requests`. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { createHandler, type Observation } from "../../mod.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { sessionsAreBlocked } from "../support/database/blocked_sessions.ts";
import { buildRequest } from "../support/handler/request.ts";
import { errorBody } from "../support/handler/rows.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;

const lengths = serviceSuite("long_bodies", {
  ...base,
  serverMaxUrlLength: 100,
  serverMaxHeaderSize: 200,
}, { title: "lengths of URL and header" });

const tooLong = (length: number) =>
  errorBody(
    `SVC131 | URL too long | Path and query string have ${length} bytes; at most 100 are accepted`,
  );

const large = { "X-Large": "x".repeat(300) };
const tooLarge = (size: number) =>
  errorBody(
    `SVC132 | Request headers too large | The header has ${size} bytes; at most 200 are accepted`,
  );
const preflight = { Origin: "http://a.example", "Access-Control-Request-Method": "GET" };

lengths.rows("lengths of URL and header are checked first", [
  ["GET /single?id=eq.0", {}, 200, []],
  [`GET /single?id=eq.${"0".repeat(86)}`, {}, 200, []],
  [`GET /single?id=eq.${"0".repeat(87)}`, {}, 414, tooLong(101)],
  [`GET /${"a".repeat(101)}/b/c`, {}, 414, tooLong(106)],
  ["GET /single", { headers: large }, 431, tooLarge(311)],
  ["GET /nothing", { headers: { ...large, Authorization: "Bearer x" } }, 431, tooLarge(336)],
  ["OPTIONS /single", { headers: { ...preflight, ...large } }, 431, tooLarge(373)],
  [`OPTIONS /${"a".repeat(100)}`, { headers: preflight }, 414, tooLong(101), {
    "Access-Control-Allow-Methods": null,
  }],
  ["OPTIONS /single", { headers: preflight }, 200, undefined, {
    "Access-Control-Allow-Origin": "*",
  }],
]);

lengths.test("a long URL is refused before its body is read", async (api) => {
  let read = 0;
  const body = new ReadableStream<Uint8Array>({ pull: () => void read++ }, { highWaterMark: 0 });
  const line = `POST /${"a".repeat(100)}`;
  const bare = await buildRequest({ line, origin: "http://localhost:3000" });
  const response = await api.handler(new Request(bare, { body }));
  deepStrictEqual([response.status, (await response.json()).code, read], [414, "SVC131", 0]);
});

/** A function that waits until the test releases a lock. */
const waiting = `
  create table public.gate (id int);
  create function api.wait() returns int language plpgsql security definer as
    $$ begin lock table public.gate; return 1; end $$;
  create function api.rows() returns setof text stable language sql
    as $$ select repeat('x', 1000) from generate_series(1, 100000) $$`;

Deno.test("server-max-requests refuses further requests at once, until one has ended", async () => {
  const shed: Observation[] = [];
  const config = {
    dbSchemas: ["api"],
    serverMaxRequests: 2,
    observe: (event: Observation) => {
      if (event.kind === "request-shed" || event.kind === "request-failed") shed.push(event);
    },
  };
  await withAdministeredHandler(waiting, config, async ({ handler, admin }) => {
    const send = async (line: string, headers = {}) =>
      await handler(await buildRequest({ line, origin: "http://h" }, { headers }));
    await admin.query("begin; lock table public.gate");
    const held = [send("POST /rpc/wait"), send("POST /rpc/wait")];
    // Each waits for a connection or for the lock.
    await sessionsAreBlocked(admin, 2);
    const refused = await send("GET /single");
    strictEqual(refused.status, 503);
    strictEqual(refused.headers.get("Retry-After"), "1");
    deepStrictEqual(await refused.json(), errorBody("SVC135 | Too many requests at the same time"));
    deepStrictEqual(shed.splice(0), [{ kind: "request-shed", reason: "requests" }]);
    const preflighted = await send("OPTIONS /single", preflight);
    strictEqual(preflighted.status, 200);
    await admin.query("commit");
    deepStrictEqual((await Promise.all(held)).map(({ status }) => status), [200, 200]);
    strictEqual((await send("GET /rpc/rows?limit=1")).status, 200);
    deepStrictEqual(shed, []);
  });
});

Deno.test("server-max-requests counts a response until its body has ended", async () => {
  const config = { dbSchemas: ["api"], serverMaxRequests: 1 };
  await withAdministeredHandler(waiting, config, async ({ handler }) => {
    const get = async (line: string) =>
      await handler(await buildRequest({ line, origin: "http://h" }));
    const cancelled = await get("GET /rpc/rows");
    const read = async (response: Response) => {
      await response.body?.cancel();
      return response.status;
    };
    strictEqual(await read(await get("GET /rpc/rows?limit=1")), 503);
    strictEqual(await read(cancelled), 200);
    const whole = await get("GET /rpc/rows");
    strictEqual(await read(await get("GET /rpc/rows?limit=1")), 503);
    strictEqual((await whole.text()).length > 100_000_000, true);
    strictEqual(await read(await get("HEAD /rpc/rows")), 200);
    strictEqual(await read(await get("GET /rpc/rows?limit=1")), 200);
  });
});

Deno.test("server-max-requests frees the place of a request that fails", async () => {
  await using handler = disposable(createHandler({
    ...base,
    dbUri: "postgres://nobody@127.0.0.1:1/none",
    dbPoolAcquisitionTimeout: 1,
    serverMaxRequests: 1,
  }));
  for (let turn = 0; turn < 3; turn++) {
    const response = await handler(await buildRequest({ line: "GET /a", origin: "http://h" }));
    strictEqual((await response.json()).code !== "SVC135", true);
  }
});

Deno.test("a handler reports limits of connections, which it does not have, once", async () => {
  const events: Observation[] = [];
  await using handler = disposable(createHandler({
    ...base,
    ...{ serverIdleTimeout: 30, serverMaxConnections: 5 },
    dbUri: "postgres://nobody@127.0.0.1:1/none",
    observe: (event) => void events.push(event),
  }));
  for (let turn = 0; turn < 2; turn++) {
    const response = await handler(await buildRequest({ line: "GET /a", origin: "http://h" }));
    await response.body?.cancel();
  }
  deepStrictEqual(events.filter(({ kind }) => kind === "limits-unavailable"), [
    { kind: "limits-unavailable", keys: ["server-idle-timeout", "server-max-connections"] },
  ]);
});

function disposable<Value extends { close(): Promise<void> }>(value: Value) {
  return Object.assign(value, { [Symbol.asyncDispose]: () => value.close() });
}
