/** Buffers the chunks of a body between a connection and a reader that may be slower. @module */
import { deferred } from "../../lib/deferred.ts";
import type { BodySpool } from "../../lib/body_spool.ts";
import { ChunkQueue } from "./chunk_queue.ts";

/** Events of a stream's reader, and how memory is reused. */
interface BodyStreamOptions {
  /** More bytes are unread than may wait. */
  readonly onFull: () => void;
  /** The reader has caught up, so that more bytes may wait. */
  readonly onRoom: () => void;
  readonly onCancelled: () => void;
  /** Returns the error of a stream whose reader takes nothing for long while others need its memory. */
  readonly evictionError: () => unknown;
  /** Milliseconds. */
  readonly now: () => number;
  /** Frees memory before the garbage collector would. Only for readers that keep no chunk. */
  readonly freesChunks: boolean;
}

export class BodyStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #failure = deferred<unknown>();
  /** Resolves with the error that ends the stream; never where it ends without one. */
  readonly failure = this.#failure.promise;
  readonly #end = deferred<void>();
  /** Resolves when the stream has ended, failed or was cancelled. */
  readonly ended = this.#end.promise;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly #chunks: ChunkQueue;
  #ended = false;
  #lastChunk: Uint8Array | null = null;
  /** Resolves the pull that waits for the next chunk. */
  #pendingPull: (() => void) | null = null;

  constructor(private readonly options: BodyStreamOptions) {
    this.#chunks = new ChunkQueue({
      now: options.now,
      onEvicted: () => this.fail(options.evictionError()),
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

  /** Adds bytes, which may change afterwards. */
  add(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#flush();
    if (this.#chunks.isFull) this.options.onFull();
  }

  /** Whether a spool keeps unread chunks, and has room for more. */
  get isSpooled(): boolean {
    return this.#chunks.isSpooled;
  }

  /** Keeps unread chunks in a spool, so that this many more bytes may wait. */
  spool(spool: BodySpool, bytes: number): void {
    this.#chunks.spool(spool, bytes);
    if (!this.#chunks.isFull) this.options.onRoom();
  }

  /** Ends the stream after its last chunk. */
  end(): void {
    this.#ended = true;
    if (this.#chunks.isEmpty) this.#close();
  }

  fail(error: unknown): void {
    this.#chunks.close();
    this.#controller.error(error);
    this.#failure.resolve(error);
    this.#end.resolve();
    this.#resolvePull();
  }

  #pull(): Promise<void> | void {
    this.#release();
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
    this.#chunks.close();
    this.#controller.close();
    this.#end.resolve();
    this.#resolvePull();
  }

  #cancelled(): void {
    this.#chunks.close();
    this.options.onCancelled();
    this.#end.resolve();
    this.#resolvePull();
  }

  #resolvePull(): void {
    const resolve = this.#pendingPull;
    this.#pendingPull = null;
    resolve?.();
  }

  #release(): void {
    const chunk = this.#lastChunk;
    this.#lastChunk = null;
    if (chunk === null || !this.options.freesChunks) return;
    const { buffer } = chunk;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength) buffer.transfer(0);
  }
}
