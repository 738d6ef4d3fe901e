import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { freePort } from "../support/server/free_port.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { startClients } from "../support/clients/keep_alive_clients.ts";
import { startService } from "../support/server/process.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { withClient } from "../support/database/postgres_client.ts";

const fixture = { name: "serving", roles: ["web_anon"] };

/** Whether Linux moves connections from the queue of a socket that closes to others of its port. */
function movesQueue(): boolean {
  try {
    return Deno.readTextFileSync("/proc/sys/net/ipv4/tcp_migrate_req").trim() === "1";
  } catch {
    return false;
  }
}

Deno.test("a successor takes the port over, and open connections lose no request", async (t) => {
  const database = await engines.pg(fixture);
  const port = freePort();
  const config = {
    "db-uri": database.uri,
    "db-schemas": "api",
    "db-anon-role": "web_anon",
    "db-pool": 4,
    "server-host": "127.0.0.1",
    "server-port": port,
    "server-reuseport": true,
  };
  try {
    await using old = await startService(config);
    await old.listening();

    await t.step("one that does not share the port fails", async () => {
      await using other = await startService({ ...config, "server-reuseport": false });
      strictEqual((await other.status).code, 1);
      await other.stderr.waitFor(/cannot listen on .*address already in use/);
    });

    const kept = startClients({ port, clients: 8, target: "/items?order=id" });
    const polling = startClients({ port, clients: 4, target: "/items?limit=1", reconnect: true });
    await polling.answers(50);
    await using young = await startService(config);
    await young.listening();
    strictEqual((await young.fetchAdmin("GET /ready")).status, 200);
    await polling.answers(50);
    strictEqual((await old.stop()).code, 0);
    await polling.answers(50);
    await kept.answers(50);
    for (const load of [kept, polling]) load.stop();
    await Promise.all([kept.ended, polling.ended]);
    for (const { counts } of [kept, polling]) {
      const { failed, broken, refused } = counts;
      deepStrictEqual({ failed, broken, refused }, { failed: 0, broken: 0, refused: 0 });
    }
    strictEqual(kept.counts.lost, 0);
    // The kernel resets what waits in the queue of a socket that closes: one connection of each client.
    ok(polling.counts.lost <= (movesQueue() ? 0 : 4), `${polling.counts.lost} requests are lost`);
    strictEqual((await young.stop()).code, 0);
  } finally {
    await database.remove();
  }
});

Deno.test("with server-reuseport the port is opened after a load that went well", async () => {
  await using server = await startPostgres({ cluster: "copied" });
  const port = freePort();
  await using service = await startService({
    // It awaits a schema that does not exist.
    dialect: "pgrst",
    "db-uri": server.uri(),
    "db-schemas": "api",
    "server-port": port,
    "server-reuseport": true,
  });
  await service.stderr.waitFor(/Failed to load the schema cache/);
  await service.stderr.waitFor(/Admin server listening/);
  await rejects(Deno.connect({ port }), Deno.errors.ConnectionRefused);
  strictEqual((await service.fetchAdmin("GET /live")).status, 500);
  await withClient(server.uri(), (client) => client.query("create schema api"));
  service.signal("SIGUSR1");
  match(await service.stderr.waitFor(/API server listening/), new RegExp(`:${port}$`));
  ok(service.stderr.all.some((line) => /Schema cache loaded/.test(line)));
  using connection = await HttpConnection.connect(port);
  strictEqual((await connection.exchange(requestBytes("GET /"), "GET")).status, 401);
});
