/** Copies responses while their bodies are read, and measures the time. @module */
import { deferred } from "../../base/lib/deferred.ts";

/** Maximum bytes of a compared body, because a comparison delays requests of clients. */
const maxComparedBytes = 256 * 1024;

/** A copy of a response, and the time that it took. */
export interface TimedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** From the request to the end of the body, without the time in which the reader was idle. */
  readonly milliseconds: number;
}

/** Sends a request. Rejects if that fails. `copy` resolves after the response was read; null if the
 * response is long, compressed or interrupted. */
export async function observedAnswer(send: () => Promise<Response>, now: () => number): Promise<{
  readonly response: Response;
  readonly copy: Promise<TimedAnswer | null>;
}> {
  const start = now();
  const response = await send();
  let milliseconds = now() - start;
  const { status, statusText, headers, body } = response;
  const copy = deferred<TimedAnswer | null>();
  if (body === null) {
    copy.resolve({ status, headers, text: "", milliseconds });
    return { response, copy: copy.promise };
  }
  const reader = body.getReader();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  let left = headers.has("Content-Encoding") ? -1 : maxComparedBytes;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const start = now();
      const { done, value } = await reader.read().catch((error) => {
        copy.resolve(null);
        throw error;
      });
      milliseconds += now() - start;
      if (done) {
        copy.resolve(left < 0 ? null : { status, headers, text, milliseconds });
        return controller.close();
      }
      left -= value.length;
      text = left < 0 ? "" : text + decoder.decode(value, { stream: true });
      controller.enqueue(value);
    },
    cancel(reason) {
      copy.resolve(null);
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return { response: new Response(stream, { status, statusText, headers }), copy: copy.promise };
}
