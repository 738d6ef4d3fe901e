/** Stores the chunks of a body until the reader takes them, in memory or in a spool. @module */
import type { BodySpool, BodySpoolUser } from "../../base/lib/body_spool.ts";
import type { TemporaryFile } from "../../base/lib/spool_file.ts";

/** The queue is full from this many unread bytes on, unless the spool accepts more. */
const maxUnreadBytes = 256 * 1024;
const maxMemoryBytes = 8 * 1024 * 1024;
const maxFileBytes = 1024 * 1024 * 1024;
const fileChunkBytes = 64 * 1024;

interface ChunkQueueOptions {
  /** Limits the bytes of all queues; null for no limit. */
  readonly spool: BodySpool | null;
  readonly now: () => number;
  readonly onEvicted: () => void;
}

/** A queue of chunks: the oldest chunks are in memory, the next in the file, the last in the overflow. */
export class ChunkQueue implements BodySpoolUser {
  readonly #memory: Uint8Array[] = [];
  #memoryBytes = 0;
  /** Whether the spool stores bytes beyond {@linkcode maxUnreadBytes}. */
  #isSpooled = false;
  #file: TemporaryFile | null = null;
  #writtenTo = 0;
  #readTo = 0;
  /** Chunks that arrived when the spool had no room for them. */
  readonly #overflow: Uint8Array[] = [];
  /** The queue is full from this many unread bytes on. */
  #maxUnreadBytes = maxUnreadBytes;
  #readAt: number;

  constructor(private readonly options: ChunkQueueOptions) {
    this.#readAt = options.now();
    options.spool?.add(this);
  }

  get isEmpty(): boolean {
    return this.#memory.length === 0 && !this.#hasFileBytes && this.#overflow.length === 0;
  }

  /** Whether the sender should pause. */
  get isFull(): boolean {
    return this.#overflow.length > 0 || this.unreadBytes >= this.#maxUnreadBytes;
  }

  /** Whether the spool stores bytes of this queue, and has had room for all of them. */
  get isSpooled(): boolean {
    return this.#isSpooled && this.#overflow.length === 0;
  }

  /** Lets the spool store this many further bytes. */
  spool(bytes: number): void {
    if (this.options.spool === null) return;
    this.#isSpooled = true;
    this.#maxUnreadBytes = Math.max(maxUnreadBytes, this.unreadBytes + bytes);
  }

  /** Adds bytes. The caller may overwrite them afterwards. If the queue has a file, they are
   * written without a copy in memory. */
  push(bytes: Uint8Array): void {
    if (this.isEmpty) this.#readAt = this.options.now();
    if (this.#overflow.length > 0) this.#overflow.push(bytes.slice());
    else if (!this.#hasFileBytes && this.#fitsMemory(bytes.length)) {
      this.#memory.push(bytes.slice());
      this.#memoryBytes += bytes.length;
    } else if (!this.#append(bytes)) this.#overflow.push(bytes.slice());
  }

  /** Returns the first chunk; the queue must not be empty. */
  shift(): Uint8Array {
    this.#readAt = this.options.now();
    const chunk = this.#memory.shift();
    if (chunk !== undefined) {
      this.#memoryBytes -= chunk.length;
      this.options.spool?.returnMemory(chunk.length);
      return chunk;
    }
    return this.#hasFileBytes ? this.#readFile() : this.#overflow.shift()!;
  }

  close(): void {
    const { spool } = this.options;
    spool?.returnMemory(this.#memoryBytes);
    spool?.returnFile(this.#writtenTo);
    spool?.remove(this);
    this.#file?.close();
    this.#file = null;
    this.#writtenTo = 0;
    this.#readTo = 0;
    this.#memory.length = 0;
    this.#memoryBytes = 0;
    this.#overflow.length = 0;
  }

  idleFor(): number {
    return this.isEmpty ? 0 : this.options.now() - this.#readAt;
  }

  evict(): void {
    this.options.onEvicted();
  }

  /** Bytes in memory and in the file. */
  get unreadBytes(): number {
    return this.#memoryBytes + this.#writtenTo - this.#readTo;
  }

  get #hasFileBytes(): boolean {
    return this.#readTo < this.#writtenTo;
  }

  #fitsMemory(bytes: number): boolean {
    const { spool } = this.options;
    if (spool === null) return true;
    return this.#memoryBytes + bytes <= maxMemoryBytes && spool.takeMemory(bytes);
  }

  /** Appends bytes to the file. Returns false if it has no room. */
  #append(bytes: Uint8Array): boolean {
    const spool = this.options.spool!;
    if (this.#writtenTo + bytes.length > maxFileBytes || !spool.takeFile(bytes.length)) {
      return false;
    }
    try {
      this.#file ??= spool.open();
      if (this.#file !== null) {
        this.#file.write(bytes, this.#writtenTo);
        this.#writtenTo += bytes.length;
        return true;
      }
    } catch {
      // The disk is full, so the caller keeps the bytes in memory.
    }
    spool.returnFile(bytes.length);
    return false;
  }

  #readFile(): Uint8Array {
    const bytes = Math.min(fileChunkBytes, this.#writtenTo - this.#readTo);
    const chunk = new Uint8Array(bytes);
    this.#file!.read(chunk, this.#readTo);
    this.#readTo += bytes;
    if (!this.#hasFileBytes) {
      this.options.spool!.returnFile(this.#writtenTo);
      this.#readTo = this.#writtenTo = 0;
    }
    return chunk;
  }
}
