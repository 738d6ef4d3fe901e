/** Limits the memory of responses whose clients do not read them. @module */
import { type BodyStream, spooledStream } from "../../database/connection/body_stream.ts";
import type { Database } from "../../database/database.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { collectGarbage } from "../../base/lib/garbage.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { Reply } from "../response/reply.ts";
import type { Exchange } from "./exchange.ts";
import { hasHeader, withHeaders } from "./headers.ts";

/** Maximum size of a body that is sent whole. The system's socket buffer takes it, if no other
 * response follows on the connection. */
export const maxWholeBytes = 128 * 1024;
/** Maximum size of a body that is sent whole on HTTP/2, where a connection has up to 200 responses
 * at a time. The size is about the memory that a request takes. */
const maxSharedBytes = 16 * 1024;

/** Returns a reply whose body is stored in the spool if it exceeds `maxBytes`. Runtimes take a
 * whole body, and keep it until the client has read it. */
export function spooled(
  reply: Reply,
  { context: { bodySpool } }: Pick<Exchange, "context">,
  maxBytes = maxWholeBytes,
): Reply {
  const { content } = reply;
  if (!(content instanceof Uint8Array) || content.length <= maxBytes) return reply;
  const sized = hasHeader("Content-Length", reply.headers)
    ? reply
    : withHeaders(reply, [["Content-Length", `${content.length}`]]);
  const { stream, failure, ended } = streamOf(content, bodySpool);
  return { ...sized, content: stream, length: content.length, failure, ended };
}

/** Stores a body as {@linkcode spooled} does, if the connection may have several responses at a time.
 * HTTP/2 requests have `:authority` in place of `Host`. */
export function spooledIfShared(reply: Reply, exchange: Exchange): Reply {
  const isShared = exchange.raw.headers["host"] === undefined;
  return isShared ? spooled(reply, exchange, maxSharedBytes) : reply;
}

/** Stores the body of a response of the admin server as {@linkcode spooled} does. */
export async function spooledResponse(
  response: Response,
  { pool }: Pick<Database, "pool">,
): Promise<Response> {
  if (response.body === null || pool?.bodySpool === undefined) return response;
  const bytes = await response.bytes();
  if (bytes.length <= maxSharedBytes) return new Response(bytes, response);
  const { stream } = streamOf(bytes, pool.bodySpool);
  return new Response(stream, response);
}

function streamOf(bytes: Uint8Array, spool: BodySpool): BodyStream {
  const body = unreadStream(spool);
  body.addAll(bytes);
  body.end();
  // The parts of the body are now garbage, as are the bytes that the spool has written to its file.
  if (bytes.length > manyBytes) collectGarbage();
  return body;
}

/** Size from which a body requests a garbage collection. Otherwise the engine would let hundreds of
 * megabytes accumulate. */
const manyBytes = 4 * 1024 * 1024;

/** Returns a stream whose bytes are stored in the spool. */
export function unreadStream(spool: BodySpool): BodyStream {
  const evictionError = () => errors.connectionLost("the response was not read");
  return spooledStream({ spool, now: () => performance.now(), evictionError });
}
