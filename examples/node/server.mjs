/**
 * The API in Node 20.16 or later:
 *
 *     deno task build
 *     SVC_DB_URI=postgres://… SVC_DB_SCHEMAS=api SVC_DB_ANON_ROLE=anon node examples/node/server.mjs
 *
 * @module
 */
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { handler } from "../../dist/svc.js";

const server = createServer(async (incoming, outgoing) => {
  try {
    const response = await handler(toRequest(incoming, outgoing), {
      client: incoming.socket.remoteAddress ?? null,
    });
    await send(response, outgoing);
  } catch (error) {
    // A client that disconnects is not a failure; invalid options are.
    if (outgoing.destroyed) return;
    console.error(error);
    outgoing.writeHead(500).end();
  }
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`Listening on http://localhost:${server.address().port}/`);
});

function toRequest(incoming, outgoing) {
  const left = new AbortController();
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) left.abort();
  });
  const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
  const headers = Object.entries(incoming.headersDistinct)
    .flatMap(([name, values]) => values.map((value) => [name, value]));
  // Not `new URL(incoming.url, …)`, for which `//name/` is another host.
  return new Request(`http://localhost${incoming.url}`, {
    method: incoming.method,
    headers,
    signal: left.signal,
    ...(hasBody ? { body: Readable.toWeb(incoming), duplex: "half" } : {}),
  });
}

async function send(response, outgoing) {
  outgoing.statusMessage = response.statusText;
  outgoing.writeHead(response.status, Array.from(response.headers).flat());
  if (response.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(response.body), outgoing);
}
