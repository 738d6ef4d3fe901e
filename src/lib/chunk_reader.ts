/**
 * Reads bodies that arrive in chunks (RFC 9112, section 7.1), and joins the chunks to longer pieces.
 *
 * Deno 2.9 reads from the socket before it returns a piece: up to the length of the buffer, whatever it
 * has stored already. A piece ends with its chunk. If chunks are shorter than the buffer, Deno therefore
 * stores more and more of the body, and moves all of it for each piece. That takes seconds per megabyte.
 *
 * Tokio, Deno's event loop, permits 128 reads from sockets per turn
 * (https://docs.rs/tokio/latest/tokio/task/coop/index.html). So this reader takes more bytes per turn
 * than 128 of its short buffers hold. Then Deno stores that many bytes at most.
 *
 * @module
 */
import type { PieceReader } from "./piece_reader.ts";
import { turn } from "./timers.ts";

/** Reads from sockets that the event loop permits per turn. */
const maxSocketReads = 128;
/** Bytes of the buffer while most chunks are shorter. */
const shortBufferBytes = 512;
/** Bytes of the buffer otherwise. A chunk of 4 KiB and its framing fit. */
const longBufferBytes = 4096 + 16;
/** The buffer is lengthened if pieces fill this part of it on average. */
const fullShare = 0.9;
/** Bytes of the first piece, since most bodies are shorter. */
const minPieceBytes = 16 * 1024;
/** Bytes of a piece, more than 128 buffers. */
const maxPieceBytes = 640 * 1024;
/** Reads per piece. They take some milliseconds. */
const maxReads = 1200;
/** A client must not fill the runtime's memory. */
const defaultMaxStoredBytes = 64 * 1024 * 1024;

/** Thrown if chunks are so short that the runtime stores more and more of them. */
export class ShortChunksError extends Error {
  override readonly name = "ShortChunksError";
}

interface ChunkReaderOptions {
  /** Lets other work run. Default: one turn of the event loop. */
  readonly pause?: () => Promise<void>;
  /** The most bytes that the runtime may have stored. Default: 64 MiB. */
  readonly maxStoredBytes?: number;
}

/**
 * Opens a byte stream whose chunks are joined. A piece has the bytes that are there, up to 640 KiB. A
 * read rejects with {@linkcode ShortChunksError} if the runtime may have stored too many bytes.
 */
export function chunkReader(
  byob: ReadableStreamBYOBReader,
  { pause = turn, maxStoredBytes = defaultMaxStoredBytes }: ChunkReaderOptions = {},
): PieceReader {
  const joiner = new ChunkJoiner(byob, { pause, maxStoredBytes });
  return {
    next: () => joiner.next(),
    release: () => byob.releaseLock(),
    cancel: () => byob.cancel(),
  };
}

type ReadResult = ReadableStreamReadResult<Uint8Array>;

class ChunkJoiner {
  readonly #byob: ReadableStreamBYOBReader;
  readonly #options: Required<ChunkReaderOptions>;
  #buffer: ArrayBuffer | null = null;
  #bufferBytes = shortBufferBytes;
  #piece = new Uint8Array(minPieceBytes);
  /** A read that waits for the client. */
  #pending: Promise<ReadResult> | null = null;
  #hasEnded = false;
  /** The most bytes that the runtime may have stored beyond those that were returned. */
  #storedBytes = 0;

  constructor(byob: ReadableStreamBYOBReader, options: Required<ChunkReaderOptions>) {
    this.#byob = byob;
    this.#options = options;
  }

  async next(): Promise<ReadResult> {
    let length = 0;
    let reads = 0;
    let idle = this.#idle();
    while (!this.#hasEnded && reads < maxReads && this.#hasRoom(length)) {
      const read = this.#pending ??= this.#read();
      let result = await Promise.race([read, idle]);
      if (result === null) {
        // The runtime has returned all that it had stored.
        this.#storedBytes = 0;
        if (length > 0) return this.#join(length, reads);
        result = await read;
        idle = this.#idle();
      }
      this.#pending = null;
      reads++;
      if (result.done) this.#hasEnded = true;
      else {
        this.#piece.set(result.value, length);
        length += result.value.length;
        this.#buffer = result.value.buffer as ArrayBuffer;
      }
    }
    if (length === 0) return { done: true, value: undefined };
    return this.#join(length, reads);
  }

  /** Resolves when other work has had its turn: then a read that has not ended waits for the client. */
  #idle(): Promise<null> {
    return this.#options.pause().then(() => null);
  }

  #read(): Promise<ReadResult> {
    const bytes = this.#bufferBytes;
    const buffer = this.#buffer?.byteLength === bytes ? this.#buffer : new ArrayBuffer(bytes);
    const read = this.#byob.read(new Uint8Array(buffer));
    // If the stream is released meanwhile, nothing awaits the read.
    read.catch(() => {});
    return read;
  }

  /** Enlarges the piece once. */
  #hasRoom(length: number): boolean {
    if (length + this.#bufferBytes <= this.#piece.length) return true;
    if (this.#piece.length === maxPieceBytes) return false;
    const larger = new Uint8Array(maxPieceBytes);
    larger.set(this.#piece.subarray(0, length));
    this.#piece = larger;
    return true;
  }

  #join(length: number, reads: number): ReadResult {
    const received = Math.min(reads, maxSocketReads) * this.#bufferBytes;
    this.#storedBytes = Math.max(0, this.#storedBytes + received - length);
    if (this.#storedBytes > this.#options.maxStoredBytes) {
      throw new ShortChunksError("chunks are too short");
    }
    if (length >= reads * this.#bufferBytes * fullShare) this.#bufferBytes = longBufferBytes;
    return { done: false, value: this.#piece.subarray(0, length) };
  }
}
