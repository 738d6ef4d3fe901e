import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { createHandler } from "../../mod.ts";
import { startCountingProxy } from "../support/counting_proxy.ts";
import { engines } from "../support/engines.ts";
import { buildRequest, type RequestParts } from "../support/request.ts";
import { testSecret } from "../support/token.ts";

const once = { toServer: 1, fromServer: 1 };
const twice = { toServer: 2, fromServer: 2 };
const singular = { Accept: "application/vnd.svc.object+json" };

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
  ["PATCH /makers?id=eq.50", { body: { name: "uno" } }, once],
  ["DELETE /makers?id=eq.51", {}, once],
  // What has to be looked at before it is kept takes a second round trip.
  ["PATCH /makers?id=eq.50", { body: { name: "eins" }, headers: singular }, twice],
];

Deno.test("a request is one write to the socket and one answer from it", async (t) => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "writes", roles: ["anon", "writer"] });
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
  });
  await handler.ready();
  for (const [line, parts, expected] of requests) {
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
      deepStrictEqual(proxy.take(), expected);
    });
  }
  await handler.close();
});
