/** `svc record`, and a service that permits the recorded requests only. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { withClient } from "../support/database/postgres_client.ts";
import { engines } from "../support/database/engines.ts";
import { testSecret } from "../support/handler/token.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { configText, type ServiceProcess, startService } from "../support/server/process.ts";
import { programFolder } from "../support/server/program.ts";

const requests: readonly (readonly [line: string, parts?: RequestParts])[] = [
  ["GET /products?select=id,name&price=gte.5&limit=2"],
  ["GET /products?select=id,name&price=gte.1&limit=1", { as: "writer" }],
  ["GET /products?select=id&order=id", { headers: { Accept: "text/csv" } }],
  ["PATCH /orders?id=eq.1", { as: "writer", body: { note: "x" } }],
  ["DELETE /lines?order_id=eq.9", { as: "writer" }],
  ["OPTIONS /products"],
  ["GET /nix"],
];

const recorded = `# Reviewed.
products_by_price  anon,writer  GET  /products?select=id,name&price=gte.*&limit=..2
products  anon  GET  /products?select=id&order=id
    Accept: text/csv
change_orders_by_id  writer  PATCH  /orders?id=eq.*  {note}
delete_lines_by_order_id  writer  DELETE  /lines?order_id=eq.*
`;

async function send(service: ServiceProcess): Promise<readonly number[]> {
  await service.listening();
  const statuses: number[] = [];
  for (const [line, parts] of requests) {
    const response = await service.fetch(line, parts);
    await response.body?.cancel();
    statuses.push(response.status);
  }
  return statuses;
}

Deno.test("svc record writes a file, which a service enforces and reads again", async (t) => {
  const database = await engines.pg({ name: "operations", roles: ["anon", "writer"] });
  await using resources = new AsyncDisposableStack();
  resources.defer(() => database.remove());
  const folder = resources.use(await programFolder());
  const config = {
    "db-schemas": "api",
    "db-anon-role": "anon",
    "jwt-secret": testSecret,
    "log-level": "info",
    "log-format": "json",
  };
  const file = `${folder.path}/api.operations`;
  const env = { SVC_DB_URI: database.uri };
  await folder.write("svc.conf", configText(config));

  await t.step("a recording adds each request that succeeds", async () => {
    await folder.write("api.operations", "# Reviewed.\n");
    await using service = await startService(config, { args: ["record", file], env });
    deepStrictEqual(await send(service), [200, 200, 200, 204, 204, 200, 404]);
    strictEqual(await folder.read("api.operations"), recorded);
  });

  await t.step("a second recording adds nothing", async () => {
    await using service = await startService(config, { args: ["record", file], env });
    await send(service);
    strictEqual(await folder.read("api.operations"), recorded);
  });

  await t.step("a reload reads the file", async () => {
    await using service = await startService({ ...config, operations: file }, { env });
    deepStrictEqual(await send(service), [200, 200, 200, 204, 204, 200, 403]);
    const added = "GET /products?select=price";
    strictEqual((await service.fetch(added)).status, 403);
    await folder.write("api.operations", `${recorded}prices anon GET /products?select=price\n`);
    const after = service.stderr.all.length;
    service.signal("SIGUSR2");
    await service.stderr.waitFor(/config-reloaded/, { after });
    strictEqual((await service.fetch(added)).status, 200);
  });

  await t.step("svc check --measure measures the index of an operation", async () => {
    const table = `create table api.big (id int primary key, kind int);
      insert into api.big select n, n % 1000 from generate_series(1, 20000) n;
      analyze api.big;
      grant select on api.big to anon;`;
    await withClient(database.superuserUri!, (client) => client.query(table));
    await folder.write("big.operations", "scan anon GET /big?select=id&kind=eq.*\n");
    const run = async (uri: string) => {
      const args = ["check", "--measure", "--json", "--operations=big.operations", "svc.conf"];
      const { stdout } = await folder.run(args, { SVC_DB_URI: uri });
      const found: readonly Record<string, string>[] = JSON.parse(stdout);
      return found.find(({ name }) => name === "operation-index")!;
    };
    const { message, sql } = await run(database.superuserUri!);
    match(message!, /^operation scan of anon reads all rows of api\.big: .* → .* on 20,000 rows$/);
    strictEqual(sql, "create index on api.big (kind);");
    // The login role cannot create the index.
    match((await run(database.uri))["message"]!, /: not measured, 42501$/);
  });
});
