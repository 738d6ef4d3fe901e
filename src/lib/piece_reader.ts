/** Reads byte streams piece by piece. @module */
import { chunkReader } from "./chunk_reader.ts";

/** Reads a stream, which it locks until it is released. */
export interface PieceReader {
  /** Reads the next piece, which is valid until the next call. */
  readonly next: () => Promise<ReadableStreamReadResult<Uint8Array>>;
  /** Unlocks the stream, so that something else can read its rest. */
  readonly release: () => void;
  /** Ends the stream. A pending `next()` resolves with its end. */
  readonly cancel: () => Promise<void>;
}

/** How a byte stream is read. Other streams bring their own pieces. */
type PieceLength =
  | { readonly kind: "buffer"; readonly bytes: number }
  /** The stream returns one chunk per read. They are joined. */
  | { readonly kind: "joined"; readonly pause: () => Promise<void> };

export function pieceReader(
  stream: ReadableStream<Uint8Array>,
  length: PieceLength,
): PieceReader {
  const byob = byobReader(stream);
  if (byob === null) {
    const reader = stream.getReader();
    return {
      next: () => reader.read(),
      release: () => reader.releaseLock(),
      cancel: () => reader.cancel(),
    };
  }
  if (length.kind === "joined") return chunkReader(byob, length);
  let buffer = new ArrayBuffer(length.bytes);
  return {
    next: async () => {
      const result = await byob.read(new Uint8Array(buffer));
      if (result.value === undefined) return { done: true, value: undefined };
      buffer = result.value.buffer;
      return result;
    },
    release: () => byob.releaseLock(),
    cancel: () => byob.cancel(),
  };
}

/** Returns a reader that fills a given buffer, or null if the stream has other pieces than bytes. */
function byobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | null {
  try {
    return stream.getReader({ mode: "byob" });
  } catch {
    return null;
  }
}
