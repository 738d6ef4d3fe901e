import { ok, strictEqual } from "node:assert/strict";
import { eventually } from "../support/timing/eventually.ts";
import { freePort } from "../support/server/free_port.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { startService } from "../support/server/process.ts";

Deno.test("the port is open again when file descriptors are free again", async () => {
  const port = freePort();
  await using service = await startService({
    "db-uri": "postgres://127.0.0.1:1/none",
    "db-schemas": "api",
    "server-host": "127.0.0.1",
    "server-port": port,
  });
  await service.listening();
  await limitDescriptors(service.pid);
  const connections: Deno.Conn[] = [];
  try {
    for (;;) connections.push(await Deno.connect({ port }));
  } catch (error) {
    ok(error instanceof Deno.errors.ConnectionRefused || connections.length > 0, String(error));
  }
  await service.stderr.waitFor(/Too many open files/);
  for (const connection of connections) connection.close();
  using found = await connected(port);
  strictEqual((await found.exchange(requestBytes("GET /items"), "GET")).status, 401);
  strictEqual((await service.fetchAdmin("GET /live")).status, 200);
  strictEqual((await service.stop()).code, 0);
});

Deno.test("with limits of connections, open connections are served without descriptors", async () => {
  const port = freePort();
  await using service = await startService({
    "db-uri": "postgres://127.0.0.1:1/none",
    "db-schemas": "api",
    "server-host": "127.0.0.1",
    "server-port": port,
    "server-header-timeout": "1s",
  });
  await service.listening();
  using early = await HttpConnection.connect(port);
  const status = async (connection: HttpConnection) =>
    (await connection.exchange(requestBytes("GET /items"), "GET")).status;
  strictEqual(await status(early), 401);
  await limitDescriptors(service.pid);
  using connections = new DisposableStack();
  for (let count = 0; count < 200; count++) {
    const connection = await Deno.connect({ port });
    connections.defer(() => connection.close());
  }
  strictEqual(await status(early), 401);
  // The timeout closes the silent connections, which frees their descriptors.
  using late = await HttpConnection.connect(port);
  strictEqual(await status(late), 401);
  strictEqual((await service.stop()).code, 0);
});

/** Leaves a process that runs few file descriptors beside those that it has. */
async function limitDescriptors(pid: number): Promise<void> {
  const args = ["--pid", String(pid), "--nofile=80:80"];
  const { success, stderr } = await new Deno.Command("prlimit", { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Connects as soon as the port is open. */
async function connected(port: number): Promise<HttpConnection> {
  let connection: HttpConnection | null = null;
  await eventually("the port is open", async () => {
    connection = await HttpConnection.connect(port).catch(() => null);
    return connection !== null;
  });
  return connection!;
}
