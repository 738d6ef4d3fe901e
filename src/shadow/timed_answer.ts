/** Copies and times answers while their bodies are read. @module */

/** Longer bodies are not compared. */
export const maxComparedBytes = 1024 * 1024;

/** An answer with its body. */
export interface ReadAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** An answer, and the time that it took. */
export interface TimedAnswer extends ReadAnswer {
  /** From the request to the end of the body, without time in which the reader took nothing. */
  readonly milliseconds: number;
}

/** Sends a request, and reports the answer when its body was read: null if that is long, or broken. */
export async function observedAnswer(
  send: () => Promise<Response>,
  now: () => number,
  onEnd: (answer: TimedAnswer | null) => void,
): Promise<Response> {
  const start = now();
  const answer = await send();
  let milliseconds = now() - start;
  const { status, statusText, headers, body } = answer;
  if (body === null) {
    onEnd({ status, headers, text: "", milliseconds });
    return answer;
  }
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const start = now();
      const { done, value } = await reader.read().catch((error) => {
        onEnd(null);
        throw error;
      });
      milliseconds += now() - start;
      if (done) {
        const whole = { status, headers, text: text + decoder.decode(), milliseconds };
        onEnd(bytes > maxComparedBytes ? null : whole);
        return controller.close();
      }
      bytes += value.length;
      text = bytes > maxComparedBytes ? "" : text + decoder.decode(value, { stream: true });
      controller.enqueue(value);
    },
    cancel(reason) {
      onEnd(null);
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(stream, { status, statusText, headers });
}
