/** Long bodies that are inserted while they arrive, since the server may keep no files. */
import { ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { requestBytes } from "../support/clients/http_connection.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";

const encoder = new TextEncoder();
/** 6 MB: several pieces of it reach PostgreSQL before the client leaves. */
const rows = Array.from({ length: 6000 }, (_, id) => ({ id, note: "x".repeat(1000) }));
const half = JSON.stringify(rows).slice(0, -100);

/** How the first part of a body is framed; its end never comes. */
const framings: Readonly<Record<string, readonly [header: Record<string, string>, start: string]>> =
  {
    length: [{ "Content-Length": `${half.length + 1000}` }, half],
    chunks: [
      { "Transfer-Encoding": "chunked" },
      half.match(/[^]{1,1000}/g)!.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join(
        "",
      ),
    ],
  };

/** Sends the part of a body, and leaves. */
async function leaveMidway(
  service: ServiceProcess,
  headers: Record<string, string>,
  start: string,
): Promise<void> {
  const { hostname, port } = new URL(service.origin);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const type = { "Content-Type": "application/json" };
  const head = requestBytes("POST /loads", { headers: { ...type, ...headers } });
  for (const bytes of [head, encoder.encode(start)]) {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  }
}

async function countOf(service: ServiceProcess): Promise<string | null> {
  const response = await service.fetch("HEAD /loads", { headers: { Prefer: "count=exact" } });
  return response.headers.get("Content-Range");
}

Deno.test("without files, a client that leaves midway writes nothing and keeps no connection", async (t) => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "divided_bodies", roles: ["anon", "writer"] });
  resources.defer(() => database.remove());
  await using service = await startService({
    "db-uri": database.uri,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "db-pool": 2,
    "server-spool-size": 0,
  });
  await service.listening();
  for (const [framing, [headers, start]] of Object.entries(framings)) {
    await t.step(`framed by ${framing}`, async () => {
      // One body at a time may hold a connection of the pool: the third waits for the others to end.
      for (let client = 0; client < 3; client++) await leaveMidway(service, headers, start);
      const whole = await service.fetch("POST /loads", { body: rows });
      strictEqual(whole.status, 201, await whole.text());
      strictEqual(await countOf(service), "0-5999/6000");
      strictEqual((await service.fetch("DELETE /loads")).status, 204);
      strictEqual(await countOf(service), "*/0");
    });
  }
  strictEqual((await service.stop()).code, 0);
  ok(!/unexpected/i.test(service.stderr.all.join("\n")), service.stderr.all.join("\n"));
});
