import { ok, strictEqual } from "node:assert/strict";
import { createHandler } from "../../mod.ts";
import { startCountingProxy } from "../support/database/counting_proxy.ts";
import { engines } from "../support/database/engines.ts";
import { batchOf, get, post } from "../support/handler/batch.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { testSecret } from "../support/handler/token.ts";

const once = { toServer: 1, fromServer: 1 };
const twice = { toServer: 2, fromServer: 2 };
const singular = { Accept: "application/vnd.svc.object+json" };

const inserted = (id: number) => post("/makers", { id, name: "many" });
const referring = post("/tools", { id: 80, name: "saw" }, {
  headers: { Prefer: "return=representation" },
  refs: { "/maker_id": "m#/id" },
});

const requests: readonly [string, RequestParts, typeof once][] = [
  ["GET /tools?id=eq.1", {}, once],
  ["GET /tools?id=eq.1", { headers: singular }, once],
  ["GET /tools?select=name,makers(name)&order=id&limit=2", {}, once],
  ["GET /tools?limit=1", { headers: { Prefer: "count=exact" } }, once],
  ["HEAD /tools", {}, once],
  ["POST /makers", { body: { id: 50, name: "one" } }, once],
  [
    "POST /makers",
    { body: { id: 51, name: "two" }, headers: { Prefer: "return=representation" } },
    once,
  ],
  [
    "POST /makers?columns=id,name,tools(id,name)&select=id,tools(name)",
    {
      body: { id: 52, name: "three", tools: [{ id: 5200, name: "saw" }] },
      headers: { Prefer: "return=representation" },
    },
    once,
  ],
  ["PATCH /makers?id=eq.50", { body: { name: "uno" } }, once],
  ["DELETE /makers?id=eq.51", {}, once],
  ["POST /", batchOf(Array.from({ length: 10 }, (_, n) => inserted(n + 60))), once],
  ["POST /", batchOf([get("/tools"), get("/makers")]), once],
  ["POST /", batchOf([{ ...inserted(80), id: "m" }, referring]), twice],
  // What has to be looked at before it is kept takes a second round trip.
  ["PATCH /makers?id=eq.50", { body: { name: "eins" }, headers: singular }, twice],
];

const strict = { Prefer: "handling=strict, max-affected=9" };
const png = { Accept: "image/png" };

/** By fixture: the schema cache alone says what is called and how it is represented. */
const calls: Readonly<Record<string, typeof requests>> = {
  functions: [
    ["GET /rpc/add_them?a=1&b=2", {}, once],
    ["HEAD /rpc/add_them?a=1&b=2", {}, once],
    ["POST /rpc/add_them", { body: { a: 1, b: 2 } }, once],
    ["POST /rpc/add_them", { body: { a: 1, b: 2 }, headers: singular }, once],
    ["POST /rpc/next", {}, once],
    ["POST /rpc/next", { headers: { ...singular, Prefer: "count=exact" } }, once],
    ["POST /rpc/r_void", {}, once],
    ["GET /rpc/plus?v=1&v=2", {}, once],
    ["POST /rpc/f", { body: "hi", headers: { "Content-Type": "text/plain" } }, once],
    ["GET /rpc/range_of?min=1&max=3&limit=1", { headers: { Prefer: "count=exact" } }, once],
    ["GET /rpc/items_of?o=7&select=id,owners(name)", { headers: strict }, once],
    ["GET /rpc/repeatable", {}, once],
    ["GET /rpc/with_timeout", { headers: { Prefer: "timezone=UTC" } }, once],
    ["POST /rpc/add_two", { headers: strict }, twice],
  ],
  representations: [
    ["GET /plain", { headers: { Accept: "text/unknown, text/csv" } }, once],
    ["GET /items", { headers: { Accept: "text/tab-separated-values" } }, once],
    ["GET /rpc/png", { headers: png }, once],
    ["GET /rpc/page", { headers: { Accept: "text/html,*/*;q=0.8" } }, once],
    ["GET /todos?label=eq.0000FF", {}, once],
  ],
};

for (const [fixture, list] of Object.entries({ writes: requests, ...calls })) {
  Deno.test(`a request is one write to the socket and one answer from it: ${fixture}`, async (t) => {
    await using resources = new AsyncDisposableStack();
    const database = await engines.pg({ name: fixture, roles: ["anon", "writer"] });
    resources.defer(() => database.remove());
    await using proxy = startCountingProxy(Number(new URL(database.uri).port));
    const uri = new URL(database.uri);
    uri.port = String(proxy.port);
    const handler = createHandler({
      dbUri: uri.href,
      dbSchemas: ["api"],
      dbAnonRole: "anon",
      jwtSecret: testSecret,
      dbPool: 1,
      // The probe of notifications would be counted, too.
      dbChannelEnabled: false,
      batchMaxOperations: 10,
    });
    await handler.ready();
    for (const [line, parts, expected] of list) {
      await t.step(line, async () => {
        const send = async () => {
          const response = await handler(await buildRequest({ line, origin: "http://x" }, parts));
          await response.bytes();
          return response.status;
        };
        if (!line.startsWith("POST")) await send();
        proxy.take();
        const status = await send();
        strictEqual(status < 300, true, String(status));
        const { toServer, fromServer } = proxy.take();
        strictEqual(toServer, expected.toServer);
        // What functions leave is undone in the same write, whose answer may come later.
        if (fixture === "writes") strictEqual(fromServer, expected.fromServer);
      });
    }
    await handler.close();
  });
}

const megabyte = 1024 * 1024;

Deno.test("304 of a body of 1 MB reads less than 1 kB from the database", async () => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "etags", roles: ["anon", "writer", "clerk"] });
  resources.defer(() => database.remove());
  await using proxy = startCountingProxy(Number(new URL(database.uri).port));
  const uri = new URL(database.uri);
  uri.port = String(proxy.port);
  const handler = createHandler({
    dbUri: uri.href,
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    dbPool: 1,
    dbChannelEnabled: false,
    etagMode: "on",
  });
  resources.defer(() => handler.close());
  await handler.ready();
  const send = async (line: string, parts: RequestParts) => {
    const response = await handler(await buildRequest({ line, origin: "http://x" }, parts));
    return { response, length: (await response.bytes()).length };
  };
  const body = { customer: "x".repeat(megabyte) };
  strictEqual((await send("PATCH /orders?id=eq.1", { body })).response.status, 204);
  for (const line of ["GET /orders?id=eq.1", "GET /orders", "GET /rpc/order_of?order_id=1"]) {
    const { response, length } = await send(line, {});
    ok(length > megabyte);
    const headers = { "If-None-Match": response.headers.get("ETag")! };
    for (let time = 0; time < 3; time++) {
      proxy.takeBytes();
      strictEqual((await send(line, { headers })).response.status, 304);
      const bytes = proxy.takeBytes();
      ok(bytes > 0 && bytes < 1024, `${line}: ${bytes} bytes`);
    }
  }
});
