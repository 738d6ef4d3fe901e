/** Decodes the chunks of a body without blocking the event loop. @module */
import type { BodyDecoder } from "./body_decoder.ts";

/** Number of bytes that a decoder receives at a time. To decode them takes at most some milliseconds. */
const sliceBytes = 64 * 1024;

/** Number of bytes, of input and output, between two pauses. To decode them takes some milliseconds. */
const maxBytesPerTurn = 256 * 1024;

/** Yields the decoded chunks, each valid until the next. Calls `pause` after some milliseconds of work. */
export async function* decodeChunks(
  chunks: AsyncIterable<Uint8Array>,
  decoder: BodyDecoder,
  pause: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const isCostly = decoder.work !== "none";
  let done = 0;
  for await (const chunk of chunks) {
    const length = isCostly ? sliceBytes : chunk.length;
    for (let at = 0; at < chunk.length; at += length) {
      const slice = chunk.subarray(at, at + length);
      const decoded = decoder.write(slice);
      yield decoded;
      done += decoder.work === "converts" ? slice.length + decoded.length : slice.length;
      if (!isCostly || done < maxBytesPerTurn) continue;
      done = 0;
      await pause();
    }
  }
  yield decoder.end();
}
