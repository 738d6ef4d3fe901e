/** Bounds the memory of answers that their clients do not read. @module */
import { type BodyStream, spooledStream } from "../../database/connection/body_stream.ts";
import type { Database } from "../../database/database.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { collectGarbage } from "../../base/lib/garbage.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { Reply } from "../response/reply.ts";
import type { Exchange } from "./exchange.ts";
import { hasHeader, withHeaders } from "./headers.ts";

/** The system's buffers of a connection take a shorter answer, if no other answer follows it. */
export const maxWholeBytes = 128 * 1024;
/** A connection of HTTP/2 has 200 answers at once. This much is no more than a request takes. */
const maxSharedBytes = 16 * 1024;

/**
 * Returns a reply whose body waits in the spool, unless it has at most `maxBytes`: the runtime takes a whole body,
 * and keeps it until the client has read it.
 */
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

/** Does the same for a connection with several answers at once. HTTP/2 has `:authority` instead of
 * `Host`. */
export function spooledIfShared(reply: Reply, exchange: Exchange): Reply {
  const isShared = exchange.pieces.headers["host"] === undefined;
  return isShared ? spooled(reply, exchange, maxSharedBytes) : reply;
}

/** Does the same for a response of the admin server. */
export async function spooledResponse(
  response: Response,
  { bodySpool }: Pick<Database, "bodySpool">,
): Promise<Response> {
  if (response.body === null || bodySpool === undefined) return response;
  const bytes = await response.bytes();
  if (bytes.length <= maxSharedBytes) return new Response(bytes, response);
  const { stream } = streamOf(bytes, bodySpool);
  return new Response(stream, response);
}

function streamOf(bytes: Uint8Array, spool: BodySpool): BodyStream {
  const body = unreadStream(spool);
  body.addAll(bytes);
  body.end();
  // The parts of which it was made, and what the spool has written to its file, are garbage.
  if (bytes.length > manyBytes) collectGarbage();
  return body;
}

/** The engine takes hundreds of megabytes before it looks for the garbage of longer answers. */
const manyBytes = 4 * 1024 * 1024;

/** Returns a stream whose bytes wait in the spool. */
export function unreadStream(spool: BodySpool): BodyStream {
  const evictionError = () => errors.connectionLost("the response was not read");
  return spooledStream({ spool, now: () => performance.now(), evictionError });
}
