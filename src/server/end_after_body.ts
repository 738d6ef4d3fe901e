/** Responds to requests whose body the handler has not read to its end. @module */
import { hasBody } from "../errors/http_text.ts";
import { turn } from "../lib/timers.ts";
import { discardBody, type DiscardOptions } from "./discard_body.ts";

/**
 * Returns a response that ends after the rest of the request's body was discarded. Where the server
 * accepts connections itself, Deno closes the connection at the end of the response.
 *
 * The client gets the head and the content at once. A client that still waits to send its body gets the
 * whole response at once.
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
  // The runtime ends a response when it has sent this many bytes.
  headers.delete("content-length");
  return new Response(followed(body, discarded), { status, statusText, headers });
}

/** Returns a stream of a content that ends when a promise has resolved as well. */
function followed(
  content: ReadableStream<Uint8Array> | null,
  done: Promise<void>,
): ReadableStream<Uint8Array> {
  const end = { flush: () => done };
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(end);
  const copied = content === null ? writable.close() : content.pipeTo(writable);
  // The client has closed the connection.
  copied.catch(() => {});
  return readable;
}
