import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { freePort } from "../support/server/free_port.ts";
import { startService } from "../support/server/process.ts";
import { testSecret } from "../support/handler/token.ts";

const init = new URL("../../examples/todos/todos.sql", import.meta.url).pathname;

Deno.test("a file of the older grammar with the line that names its dialect just works", async () => {
  const [port, adminPort] = [freePort(), freePort()];
  const configText = `# as it was
dialect = "pgrst"
db-uri = "pglite://memory"
db-embedded-init = "${init}"
db-schema = "api"          # the spelling of old releases
db-anon-role = "web_anon"
db-pool = "many"           # no number: the default
jwt-secret =
  "${testSecret}"
role-claim-key = ".role"   # the syntax before JSONPath
log-level = "info"
raw-media-types = "image/png"
db-use-legacy-gucs = on
server-port = ${port}
admin-server-port = ${adminPort}
#; db-anon-role = "nobody"
app { settings { region = "eu" } }
`;
  const ports = { "server-port": port, "admin-server-port": adminPort };
  await using service = await startService(ports, {
    configText,
    env: { PGRST_DB_MAX_ROWS: "1", SVC_DB_MAX_ROWS: "2", PGRST_NOT_A_KEY: "x" },
  });
  await service.listening();
  await service.stderr.waitFor(/: Starting PostgREST \d/);
  await service.stderr.waitFor(/See the migration guide on how to update: https:\/\/\S+#\S+$/);
  const response = await service.fetch("GET /todos?select=id&order=id", { as: "todo_user" });
  match(response.headers.get("Server")!, /^postgrest\//);
  deepStrictEqual(await response.json(), [{ id: 1 }]);
  const missing = await service.fetch("GET /todo");
  strictEqual(missing.headers.get("Proxy-Status"), "PostgREST; error=PGRST205");
  await missing.body?.cancel();
  const metrics = await service.fetchAdmin("GET /metrics");
  match(await metrics.text(), /^pgrst_db_pool_max 1\.0$/m);
});
