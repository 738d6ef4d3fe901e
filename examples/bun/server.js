/**
 * The API in Bun:
 *
 *     deno task build
 *     SVC_DB_URI=postgres://… SVC_DB_SCHEMAS=api SVC_DB_ANON_ROLE=anon bun examples/bun/server.js
 *
 * @module
 */
import { handler } from "../../dist/svc.js";

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT ?? 3000),
  // Seconds without a byte; the database decides how long a request may take.
  idleTimeout: 0,
  fetch: (request, server) =>
    handler(request, { client: server.requestIP(request)?.address ?? null }),
});

console.log(`Listening on ${server.url}`);
