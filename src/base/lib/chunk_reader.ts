/** Reads byte streams chunk by chunk. @module */

/** A reader of a stream. It locks the stream until `release` is called. */
export interface ChunkReader {
  /** Reads the next chunk, which is valid until the next call. */
  readonly next: () => Promise<ReadableStreamReadResult<Uint8Array>>;
  /** Unlocks the stream, so that something else can read its rest. */
  readonly release: () => void;
  /** Ends the stream. A pending `next()` resolves with its end. */
  readonly cancel: () => Promise<void>;
}

/** How a byte stream is read. Streams of other types return their chunks unchanged. */
type ChunkLength =
  | { readonly kind: "buffer"; readonly bytes: number }
  /** The stream returns one chunk per read, and the reader joins several chunks. */
  | { readonly kind: "joined"; readonly pause: () => Promise<void> };

export function chunkReader(
  stream: ReadableStream<Uint8Array>,
  length: ChunkLength,
): ChunkReader {
  const byob = byobReader(stream);
  if (byob === null) {
    const reader = stream.getReader();
    return {
      next: () => reader.read(),
      release: () => reader.releaseLock(),
      cancel: () => reader.cancel(),
    };
  }
  if (length.kind === "joined") return joinedReader(byob, length.pause);
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

/** Returns a reader that fills a given buffer, or null if the stream is not a byte stream. */
function byobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | null {
  try {
    return stream.getReader({ mode: "byob" });
  } catch {
    return null;
  }
}

/** Bytes of the buffer for a read, while most chunks are shorter. */
const shortBufferBytes = 512;
/** Bytes of the buffer while chunks fill the short one. It has room for a framed chunk of 4 KiB. */
const longBufferBytes = 4096 + 16;
/** Maximum bytes of a joined chunk: 128 short buffers. */
const chunkBytes = 128 * shortBufferBytes;
/** Share of its buffer that chunks must fill on average before the reader uses the long buffer. */
const fullShare = 0.9;

/**
 * Joins the available chunks (RFC 9112, section 7.1) to longer ones.
 *
 * Before each read, Deno 2.9 fills the buffer from the socket, and adds its bytes to the stored
 * ones. A read returns at most one chunk. If chunks are shorter than the buffer, Deno stores more
 * and more of the body, and moves all of it for each read. Tokio, Deno's event loop, permits 128
 * reads from sockets per turn (https://docs.rs/tokio/latest/tokio/task/coop/index.html). A joined
 * chunk takes at least as much memory as its parts.
 */
function joinedReader(byob: ReadableStreamBYOBReader, pause: () => Promise<void>): ChunkReader {
  const chunk = new Uint8Array(chunkBytes);
  let bufferBytes = shortBufferBytes;
  let wasLong = false;
  let buffer = new ArrayBuffer(bufferBytes);
  /** A read that waits for the client. */
  let pending: ReturnType<typeof byob.read<Uint8Array<ArrayBuffer>>> | null = null;
  let hasEnded = false;
  const lengthen = (isFull: boolean) => {
    bufferBytes = isFull && (!wasLong || bufferBytes === longBufferBytes)
      ? longBufferBytes
      : shortBufferBytes;
    wasLong ||= isFull;
    if (bufferBytes !== buffer.byteLength) buffer = new ArrayBuffer(bufferBytes);
  };
  const next = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    let length = 0;
    let reads = 0;
    const idle = pause().then(() => null);
    while (!hasEnded && length + bufferBytes <= chunkBytes) {
      const read = pending ??= byob.read(new Uint8Array(buffer));
      // A rejection is handled here, because nothing awaits the read after a release.
      read.catch(() => {});
      const result = length === 0 ? await read : await Promise.race([read, idle]);
      if (result === null) return { done: false, value: chunk.subarray(0, length) };
      pending = null;
      hasEnded = result.done;
      if (result.done) break;
      chunk.set(result.value, length);
      length += result.value.length;
      buffer = result.value.buffer;
      reads++;
    }
    if (length === 0) return { done: true, value: undefined };
    if (!hasEnded) lengthen(length >= reads * bufferBytes * fullShare);
    return { done: false, value: chunk.subarray(0, length) };
  };
  return { next, release: () => byob.releaseLock(), cancel: () => byob.cancel() };
}
