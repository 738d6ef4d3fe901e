import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { copyFolder } from "../support/server/copy_folder.ts";
import { eventually } from "../support/timing/eventually.ts";
import { freePort } from "../support/server/free_port.ts";
import { startCommand } from "../support/server/process.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { programCommand } from "../support/server/program_command.ts";
import { tenantDatabases } from "../support/handler/tenants.ts";

const example = fileURLToPath(new URL("../../examples/tenants", import.meta.url));

Deno.test("examples/tenants serves a folder of tenants, and follows its changes", async (t) => {
  await using resources = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "svc_tenants_" });
  resources.defer(() => Deno.remove(folder, { recursive: true }));
  await copyFolder(example, `${folder}/tenants`);
  const shopSql = await Deno.readTextFile(`${example}/shop.sql`);
  const databases = resources.use(await tenantDatabases(["acme", "globex", "initech"]));
  for (const uri of databases.superuserUris.values()) {
    // The roles of the example are those of the whole server.
    await withClient(
      uri,
      (client) =>
        client.query(`drop schema api cascade; ${shopSql.split("-- Roles")[0]!};
        grant usage on schema api to anon; grant select on api.products to anon`),
    );
  }
  const tenantFile = (name: string) => `${folder}/tenants/tenants/${name}.conf`;
  const uriLine = (name: string) => `db-uri = ${JSON.stringify(databases.uris.get(name))}\n`;
  for (const name of ["acme", "globex"]) {
    const text = await Deno.readTextFile(tenantFile(name));
    await Deno.writeTextFile(tenantFile(name), text.replace(/^db-uri.*\n/m, uriLine(name)));
  }
  const ports = { "server-port": freePort(), "admin-server-port": freePort() };
  const flags = Object.entries(ports).map(([key, port]) => `--${key}=${port}`);
  const file = `${folder}/tenants/svc.conf`;
  const command = (...more: string[]) =>
    programCommand([
      ...more,
      ...flags,
      "--db-anon-role=anon",
      "--log-level=info",
      "--log-format=json",
      file,
    ]);
  const service = resources.use(startCommand(command()));
  await service.stderr.waitFor(/API server listening on/);
  const get = async (path: string, port = ports["server-port"]) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()] as const;
  };
  // A request waits for 5 seconds, in which a busy machine may not load a schema cache.
  const untilLoaded = (name: string) =>
    eventually(`${name} is loaded`, async () => (await get(`/${name}/rpc/shop`))[0] === 200);
  const admin = (path: string) => get(path, ports["admin-server-port"]);

  await t.step("each tenant has its own configuration", async () => {
    await Promise.all(["acme", "globex"].map(untilLoaded));
    deepStrictEqual(await get("/acme/rpc/shop"), [200, '"Acme"']);
    deepStrictEqual(await get("/globex/rpc/shop"), [200, '"Globex"']);
    strictEqual((await get("/initech/rpc/shop"))[0], 404);
  });

  await t.step("a new file is a tenant at once", async () => {
    await Deno.writeTextFile(
      tenantFile("initech"),
      `${uriLine("initech")}app.settings.shop = "Initech"\n`,
    );
    await untilLoaded("initech");
    deepStrictEqual(await get("/initech/rpc/shop"), [200, '"Initech"']);
  });

  await t.step("a changed file takes effect", async () => {
    const text = await Deno.readTextFile(tenantFile("acme"));
    await Deno.writeTextFile(tenantFile("acme"), text.replace('"Acme"', '"Acme 2"'));
    await eventually("the new name", async () => (await get("/acme/rpc/shop"))[1] === '"Acme 2"');
  });

  await t.step("without its file, a tenant is gone", async () => {
    await Deno.remove(tenantFile("globex"));
    await service.stderr.waitFor(/"event":"tenant-closed".*"reason":"removed","tenant":"globex"/);
    strictEqual((await get("/globex/rpc/shop"))[0], 404);
  });

  await t.step("SIGUSR2 reads the defaults of the process again", async () => {
    const text = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, `${text}\ndb-max-rows = 1\n`);
    service.signal("SIGUSR2");
    await eventually(
      "one row",
      async () => JSON.parse((await get("/acme/products"))[1]).length === 1,
    );
  });

  await t.step("SIGUSR1 reloads the schema caches", async () => {
    const after = service.stderr.all.length;
    service.signal("SIGUSR1");
    await service.stderr.waitFor(/schema-cache-loaded.*"tenant":"(acme|initech)"/, { after });
  });

  await t.step("the admin server knows the tenants, and shows no secrets", async () => {
    const [status, text] = await admin("/tenants");
    strictEqual(status, 200);
    const states = JSON.parse(text).map(({ name, state }: Record<string, string>) => [name, state]);
    deepStrictEqual(states, [["acme", "loaded"], ["initech", "loaded"]]);
    deepStrictEqual((await admin("/ready"))[0], 200);
    deepStrictEqual((await admin("/ready?tenant=acme"))[0], 200);
    deepStrictEqual((await admin("/ready?tenant=globex"))[0], 404);
    const [, metrics] = await admin("/metrics");
    match(metrics, /^svc_tenant_requests_total\{tenant="acme"\} [1-9]/m);
    match(metrics, /^svc_tenants_loaded 2\.0$/m);
    match(metrics, /^http_server_request_duration_seconds_count\{.*http_route="\/rpc\/shop"/m);
    const [, config] = await admin("/config");
    ok(config.includes('tenants = "./tenants"') && !config.includes("the-secret-of"));
  });

  await t.step("commands that read one database refuse tenants", async () => {
    const [name, ...args] = command("--types");
    const { code, stderr } = await new Deno.Command(name, { args }).output();
    strictEqual(code, 1);
    match(new TextDecoder().decode(stderr), /tenants: this command reads one database/);
  });

  await t.step("the log names tenants, and SIGTERM ends the process with 0", async () => {
    ok(service.stdout.all.some((line) =>
      line.includes('"route":"/rpc/shop"') &&
      line.endsWith('"tenant":"acme"}')
    ));
    service.signal("SIGTERM");
    strictEqual((await service.status).code, 0);
  });
});
