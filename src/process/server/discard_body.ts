/**
 * Discards the part of a request's body that the handler did not read.
 *
 * Some clients send a whole body before they read the response. They would wait forever for a server
 * that no longer reads, and lose the response of a server that closes the connection. RFC 9112,
 * section 9.6, therefore asks servers to continue to read for a while.
 *
 * @module
 */
import { chunkReader } from "../../base/lib/chunk_reader.ts";
import { type Schedule, schedule as defaultSchedule, turn } from "../../base/lib/timers.ts";
import { hasBody } from "../../base/errors/http_text.ts";

/** Maximum time without a byte. The client then loses its connection. */
const maxSilenceMs = 5_000;
/** Maximum number of periods of `maxSilenceMs`, even if bytes still arrive. */
const maxPeriods = 6;
/** Maximum bytes to discard. PostgreSQL cannot store a longer body. */
const maxDiscardedBytes = 1024 * 1024 * 1024;
/** Bytes of the buffer that a body is read through. */
const bufferBytes = 64 * 1024;

export interface DiscardOptions {
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
  /** Yields to other requests between two chunks. Default: one turn of the event loop. */
  readonly pause?: () => Promise<void>;
}

/** Reads and discards the rest of a body. Resolves at its end, after 5 seconds without a byte,
 * after 30 seconds, or after 1 GiB. Never rejects. */
export async function discardBody(
  { body, headers }: Pick<Request, "body" | "headers">,
  { schedule = defaultSchedule, pause = turn }: DiscardOptions = {},
): Promise<void> {
  // A locked body has another reader, which reads the body to its end.
  if (body === null || body.locked) return;
  const { next, cancel } = chunkReader(
    body,
    headers.has("transfer-encoding")
      ? { kind: "joined", pause }
      : { kind: "buffer", bytes: bufferBytes },
  );
  let bytes = 0;
  const stop = () => void cancel().catch(() => {});
  const cancelTimer = eachPeriod(schedule, () => bytes, stop);
  try {
    for (let chunk = await next(); !chunk.done; chunk = await next()) {
      bytes += chunk.value.length;
      if (bytes > maxDiscardedBytes) return stop();
      await pause();
    }
  } catch {
    // The client has closed its connection, so nothing is left to discard.
    stop();
  } finally {
    cancelTimer();
  }
}

/** Calls `stop` after a period in which `count` has not changed, at the latest after the last period. */
function eachPeriod(schedule: Schedule, count: () => number, stop: () => void): () => void {
  let seen = 0;
  let periods = 0;
  const check = () => {
    const now = count();
    if (now === seen || ++periods === maxPeriods) return stop();
    seen = now;
    cancelTimer = schedule(check, maxSilenceMs);
  };
  let cancelTimer = schedule(check, maxSilenceMs);
  return () => cancelTimer();
}

/** Returns whether the client may still send a body that the handler has not read. A handler reads
 * the whole body unless it responds with an error. */
export function mayHaveUnreadBody(
  { method, headers, bodyUsed }: Pick<Request, "method" | "headers" | "bodyUsed">,
  { status }: Pick<Response, "status">,
): boolean {
  return mayHaveBody({ method, headers }) && (!bodyUsed || status >= 400);
}

export function mayHaveBody({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  // In the Fetch standard, requests with these methods have no body.
  if (method === "GET" || method === "HEAD") return false;
  return headers.has("content-length") || headers.has("transfer-encoding");
}

/**
 * Returns a response that ends after the rest of the request's body is discarded. If svc accepts
 * the connections, Deno closes them at the end of the response.
 *
 * The client gets the head and the content at once. A client that still waits to send its body gets
 * the whole response at once.
 */
export async function endAfterBody(
  request: Request,
  response: Response,
  options: DiscardOptions = {},
): Promise<Response> {
  if (request.headers.has("expect") && !request.bodyUsed) return response;
  const { status, statusText, body } = response;
  const discarded = discardBody(request, options);
  const { pause = turn } = options;
  const isOver = await Promise.race([discarded.then(() => true), pause().then(() => false)]);
  if (isOver) return response;
  if (!hasBody(status)) {
    await discarded;
    return response;
  }
  const headers = new Headers(response.headers);
  // The length is removed, because the runtime would end the response after this many bytes.
  headers.delete("content-length");
  return new Response(followed(body, discarded), { status, statusText, headers });
}

/** Returns a stream that ends after its content and after a promise has resolved. */
function followed(
  content: ReadableStream<Uint8Array> | null,
  done: Promise<void>,
): ReadableStream<Uint8Array> {
  const end = { flush: () => done };
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(end);
  const copied = content === null ? writable.close() : content.pipeTo(writable);
  // The copy fails if the client closes the connection, which needs no handling.
  copied.catch(() => {});
  return readable;
}
