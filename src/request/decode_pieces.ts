/**
 * Decodes the pieces of a body without holding up the event loop.
 *
 * @module
 */
import { turn } from "../lib/timers.ts";
import type { BodyDecoder } from "./body_decoder.ts";

/** Bytes that are decoded in one go, which takes some milliseconds at most. */
const sliceLength = 64 * 1024;

/** Bytes, read and written, after which the event loop goes round: some milliseconds' work. */
const turnLength: Readonly<Record<BodyDecoder["work"], number>> = {
  none: Infinity,
  reads: 2 * 1024 * 1024,
  converts: 256 * 1024,
};

/**
 * Gives what a decoder makes of pieces of any length; each is valid until the next one is asked for.
 * Awaits `pause` now and then. Throws what the decoder throws.
 */
export async function* decodePieces(
  pieces: AsyncIterable<Uint8Array>,
  decoder: BodyDecoder,
  pause: () => Promise<void> = turn,
): AsyncGenerator<Uint8Array> {
  const isCostly = decoder.work !== "none";
  let done = 0;
  for await (const piece of pieces) {
    const length = isCostly ? sliceLength : piece.length;
    for (let at = 0; at < piece.length; at += length) {
      const slice = piece.subarray(at, at + length);
      const decoded = decoder.write(slice);
      yield decoded;
      done += decoder.work === "converts" ? slice.length + decoded.length : slice.length;
      if (done < turnLength[decoder.work]) continue;
      done = 0;
      await pause();
    }
  }
  yield decoder.end();
}
