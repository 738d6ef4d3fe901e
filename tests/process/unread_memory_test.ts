/** How much memory answers take whose clients read nothing, over HTTP/1.1 and HTTP/2. */
import http2 from "node:http2";
import { ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { engines } from "../support/database/engines.ts";
import { requestBytes } from "../support/clients/http_connection.ts";
import { startService } from "../support/server/process.ts";
import { memoryOf } from "../support/server/process_memory.ts";

interface UnreadRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isAdmin?: true;
}

const call = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "query", arguments: { relation: "small" } },
};
const operations = [1, 2].map((id) => ({ id: `${id}`, method: "GET", url: "/big?id=lte.50" }));

/** Kinds of answers, most of them of 8 MB. */
const kinds: Readonly<Record<string, UnreadRequest>> = {
  GET: { path: "/big" },
  "GET of 96 kB": { path: "/small?id=eq.1" },
  "GET of 192 kB": { path: "/small?id=eq.2" },
  CSV: { path: "/big", headers: { accept: "text/csv" } },
  rows: { path: "/big", headers: { accept: "application/x-ndjson" } },
  compressed: { path: "/big", headers: { "accept-encoding": "gzip" } },
  batch: {
    method: "POST",
    path: "/",
    body: JSON.stringify({ requests: operations }),
  },
  "live rows": { path: "/live/big?offset=-1" },
  "live stream": { path: "/live/big", headers: { accept: "text/event-stream" } },
  OpenAPI: { path: "/", headers: { accept: "application/openapi+json" } },
  MCP: {
    method: "POST",
    path: "/mcp",
    headers: {
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify(call),
  },
  console: { path: "/schema_cache", isAdmin: true },
};

const count = 100;
/**
 * Bytes that a process may grow by: 64 MiB of answers, and garbage. Without a bound, it keeps those of 8 MB, which
 * are 800 MB together. Shorter kinds are here for the table of the page.
 */
const allowed = 400_000_000;

/** Opens the requests over one connection with a window of 0; resolves when all have a head. */
async function openShared(origin: string, request: UnreadRequest): Promise<() => void> {
  const session = http2.connect(origin, { settings: { initialWindowSize: 0 } });
  session.on("error", () => {});
  const { method = "GET", path, headers = {}, body } = request;
  const type = { "content-type": "application/json" };
  const head = { ":method": method, ":path": path, ...headers, ...body !== undefined && type };
  const statuses = await Promise.all(
    Array.from({ length: count }, () =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request(head, { endStream: body === undefined });
        stream.on("response", (fields) => resolve(Number(fields[":status"])));
        stream.on("error", reject);
        if (body !== undefined) stream.end(Buffer.from(body));
      })),
  );
  ok(statuses.every((status) => status === 200), String(statuses));
  return () => session.destroy();
}

/** Opens the requests over a connection each; resolves when all have a head. */
async function openEach(origin: string, request: UnreadRequest): Promise<() => void> {
  const { method = "GET", path, headers = {}, body } = request;
  const { port } = new URL(origin);
  const connections = await Promise.all(Array.from({ length: count }, async () => {
    const connection = await Deno.connect({ port: Number(port) });
    await connection.write(
      requestBytes(`${method} ${path}`, {
        headers,
        ...body !== undefined && { body: JSON.parse(body) },
      }),
    );
    const start = new Uint8Array(12);
    await connection.read(start);
    ok(new TextDecoder().decode(start).endsWith(" 200"), new TextDecoder().decode(start));
    return connection;
  }));
  return () => connections.forEach((connection) => connection.close());
}

Deno.test({
  name: "answers that their clients do not read take bounded memory",
  ignore: Deno.build.os !== "linux",
  async fn(t) {
    await using resources = new AsyncDisposableStack();
    const database = await engines.pg({ name: "unread", roles: ["anon"] });
    resources.defer(() => database.remove());
    for (const [version, open] of [["HTTP/1.1", openEach], ["HTTP/2", openShared]] as const) {
      for (const [kind, request] of Object.entries(kinds)) {
        await t.step(`${kind} over ${version}`, async () => {
          await using service = await startService({
            "db-uri": database.uri,
            "db-schemas": "api",
            "db-anon-role": "anon",
            "live-path": "/live",
            "live-max-streams": 10_000,
            "mcp-path": "/mcp",
            "batch-max-operations": 10,
            "batch-max-bytes": "16m",
            "server-compression": "gzip",
            "db-pool-acquisition-timeout": 600,
          });
          await service.listening();
          const before = await memoryOf(service.pid, "VmRSS");
          const close = await open(request.isAdmin ? service.adminOrigin : service.origin, request);
          const grown = await memoryOf(service.pid, "VmRSS") - before;
          close();
          ok(grown < allowed, `${grown} bytes more`);
        });
      }
    }
  },
});
