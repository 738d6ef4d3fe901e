import { strictEqual } from "node:assert/strict";
import { freePort } from "../support/server/free_port.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { startService } from "../support/server/process.ts";

Deno.test("open connections are served without descriptors", async () => {
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
