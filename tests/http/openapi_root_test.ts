import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { createHandler } from "../../mod.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";
import { engines } from "../support/database/engines.ts";
import { documentOf } from "../support/handler/openapi.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";

const mine = { swagger: "2.0", info: { title: "Mine" } };
const openapi = "application/openapi+json; charset=utf-8";
const json = "application/json; charset=utf-8";

const suite = serviceSuite("openapi_root", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbRootSpec: { schema: "elsewhere", name: "root" },
}, { title: "db-root-spec" });

suite.rows("db-root-spec answers the root", [
  ["GET /", { headers: { Accept: "application/openapi+json" } }, 200, mine, {
    "Content-Type": openapi,
  }],
  ["GET /", { headers: { Accept: "application/json" } }, 200, mine, { "Content-Type": json }],
  ["POST /", { headers: { Accept: "application/json" }, body: {} }, 200, mine],
  ["HEAD /", { headers: { Accept: "application/json" } }, 200, undefined, { "Content-Type": json }],
  ["OPTIONS /", {}, 200, undefined, { Allow: "OPTIONS,GET,HEAD,POST" }],
  ...answers()`
DELETE / | 405 SVC101 | Cannot use the DELETE method on RPC
`,
]);

const missing = serviceSuite("openapi_root", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbRootSpec: { schema: null, name: "nowhere" },
}, { title: "db-root-spec of a function that does not exist" });

missing.test("db-root-spec that does not exist is a missing function", async (api) => {
  const response = await api("GET /");
  strictEqual(response.status, 404);
  strictEqual((await response.json()).code, "SVC202");
});

Deno.test("the document follows GRANT and REVOKE without a reload", async () => {
  const database = await engines.pg({ name: "openapi", roles: ["anon", "writer"] });
  const server = new URL(prepared(serverVariable));
  server.pathname = new URL(database.uri).pathname;
  const run = (sql: string) => withClient(server.href, (client) => client.query(sql));
  const handler = createHandler({ dbUri: database.uri, dbSchemas: ["api"], dbAnonRole: "anon" });
  const read = async () => {
    const { paths } = await documentOf(await handler(new Request("http://localhost/")));
    return ["/secret" in paths, "/rpc/hidden" in paths, "/task" in paths];
  };
  try {
    deepStrictEqual(await read(), [false, false, true]);
    await run("grant insert on api.secret to anon");
    await run("grant execute on function api.hidden to anon");
    deepStrictEqual(await read(), [true, true, true]);
    await run("revoke insert on api.secret from anon");
    await run("revoke select on api.task from anon");
    await run("revoke execute on function api.hidden from anon");
    deepStrictEqual(await read(), [false, false, false]);
    await run("comment on schema api is 'Renamed'");
    const { info } = await documentOf(await handler(new Request("http://localhost/")));
    strictEqual(info.title, "Renamed");
    notStrictEqual(info.description, undefined);
  } finally {
    await handler.close();
    await database.remove();
  }
});
