/** Hands bytes over in chunks of any length, as they come over a network. @module */

/** A decoder that takes chunks and returns bytes. */
export interface ChunkDecoder {
  write(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/** Lengths of chunks that cut at every position, and the whole in one. */
export const chunkLengths = [1, 2, 3, 7, Infinity] as const;

/** Cuts bytes into chunks of one length. */
export function* chunksOf(bytes: Uint8Array, length: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) {
    // A copy: nothing may be looked at before its time.
    yield bytes.slice(at, at + length);
  }
}

/** Decodes bytes in chunks of one length. */
export function decodeInChunks(
  decoder: ChunkDecoder,
  bytes: Uint8Array,
  length: number = Infinity,
): Uint8Array {
  const decoded: number[] = [];
  const add = (chunk: Uint8Array) => {
    for (const code of chunk) decoded.push(code);
  };
  for (const chunk of chunksOf(bytes, length)) add(decoder.write(chunk));
  add(decoder.end());
  return Uint8Array.from(decoded);
}
