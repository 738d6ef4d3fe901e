/** Buffers the chunks of a body between a connection and a reader that may be slower. @module */
import { deferred } from "../../base/lib/deferred.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import { ChunkQueue } from "./chunk_queue.ts";

/** Bytes per chunk. Chunks are small, because the runtime buffers 64 KiB and one more chunk of each
 * stream, even if no client reads. */
const chunkBytes = 32 * 1024;

/** Returns a stream that stores unread bytes in a spool. It fails with `error` if the spool has no
 * room, or needs the room for other streams. */
export function spooledStream(
  options: Pick<BodyStreamOptions, "evictionError" | "now"> & { readonly spool: BodySpool },
): BodyStream {
  const onFull = () => {
    if (!stream.isSpooled) stream.fail(options.evictionError());
  };
  const stream = new BodyStream({ ...options, ...quiet, onFull });
  stream.spool(Infinity);
  return stream;
}

const quiet = { onRoom() {}, onCancelled() {}, freesChunks: false };

/** Options of a {@linkcode BodyStream}. */
interface BodyStreamOptions {
  /** Limits the unread bytes of all streams; null for no limit. */
  readonly spool: BodySpool | null;
  /** Called when the unread bytes reach the limit, so that the sender pauses. */
  readonly onFull: () => void;
  /** Called when the reader has caught up, so that more bytes may wait. */
  readonly onRoom: () => void;
  readonly onCancelled: () => void;
  /** Returns the error of a stream that was evicted: its reader was idle while other streams needed
   * the memory. */
  readonly evictionError: () => unknown;
  /** Milliseconds. */
  readonly now: () => number;
  /** Whether chunks are freed before garbage collection. Readers must then keep no chunk. */
  readonly freesChunks: boolean;
}

export class BodyStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #failure = deferred<unknown>();
  /** Resolves with the error that ends the stream; never if it ends without an error. */
  readonly failure = this.#failure.promise;
  readonly #end = deferred<void>();
  /** Resolves when the stream has ended, failed or was cancelled. */
  readonly ended = this.#end.promise;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly #chunks: ChunkQueue;
  #ended = false;
  #isClosed = false;
  #lastChunk: Uint8Array | null = null;
  /** Resolves the pull that waits for the next chunk. */
  #pendingPull: (() => void) | null = null;

  constructor(private readonly options: BodyStreamOptions) {
    this.#chunks = new ChunkQueue({
      ...options,
      onEvicted: () => this.cancel(),
    });
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => this.#cancelled(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Adds bytes. The caller may overwrite them afterwards. */
  add(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    this.#chunks.push(bytes);
    this.#flush();
    if (this.#chunks.isFull) this.options.onFull();
  }

  /** Adds bytes of any length. */
  addAll(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      this.add(bytes.subarray(at, at + chunkBytes));
    }
  }

  get unreadBytes(): number {
    return this.#chunks.unreadBytes;
  }

  /** Returns for how many milliseconds the reader has taken none of the waiting bytes. */
  idleFor(): number {
    return this.#chunks.idleFor();
  }

  /** Whether a spool keeps unread chunks, and has room for more. */
  get isSpooled(): boolean {
    return this.#chunks.isSpooled;
  }

  /** Lets the spool store this many more bytes. */
  spool(bytes: number): void {
    this.#chunks.spool(bytes);
    if (!this.#chunks.isFull) this.options.onRoom();
  }

  /** Ends the stream after its last chunk. */
  end(): void {
    this.#ended = true;
    if (!this.#isClosed && this.#chunks.isEmpty) this.#close();
  }

  fail(error: unknown): void {
    this.#controller.error(error);
    this.#failure.resolve(error);
    this.#release();
  }

  /** Discards unread bytes, because the reader gets an error. */
  cancel(): void {
    this.fail(this.options.evictionError());
    this.options.onCancelled();
  }

  #pull(): Promise<void> | void {
    this.#freeLast();
    if (!this.#chunks.isEmpty) return this.#enqueue();
    return new Promise((resolve) => this.#pendingPull = resolve);
  }

  /** Enqueues a chunk if the reader waits for one. */
  #flush(): void {
    if (this.#pendingPull === null) return;
    this.#enqueue();
    this.#resolvePull();
  }

  #enqueue(): void {
    const chunk = this.#chunks.shift();
    this.#lastChunk = chunk;
    this.#controller.enqueue(chunk);
    if (this.#ended && this.#chunks.isEmpty) this.#close();
    else if (!this.#chunks.isFull) this.options.onRoom();
  }

  #close(): void {
    this.#controller.close();
    this.#release();
  }

  #cancelled(): void {
    this.#release();
    this.options.onCancelled();
  }

  /** Frees the waiting bytes, because nothing reads any more. */
  #release(): void {
    this.#isClosed = true;
    this.#chunks.close();
    this.#end.resolve();
    this.#resolvePull();
  }

  #resolvePull(): void {
    const resolve = this.#pendingPull;
    this.#pendingPull = null;
    resolve?.();
  }

  #freeLast(): void {
    const chunk = this.#lastChunk;
    this.#lastChunk = null;
    if (chunk === null || !this.options.freesChunks) return;
    const { buffer } = chunk;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength) buffer.transfer(0);
  }
}
