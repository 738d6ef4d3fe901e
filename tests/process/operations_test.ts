/** `svc record`, and a service that permits the recorded requests only. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
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
patch_orders_by_id  writer  PATCH  /orders?id=eq.*  {note}
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
});
