/**
 * The last column of the answering row: collected, or handed on while it arrives.
 *
 * @module
 */
import { BodyStream } from "./body_stream.ts";
import type { ResultBody } from "../database.ts";
import type { Transport } from "../transport.ts";

/** A body that was abandoned with less than this to come is read to its end. */
const drainedBytes = 1024 * 1024;

/**
 * Bodies of more bytes than this may be handed out while they arrive; for smaller ones a stream would
 * cost more than waiting for their end.
 */
export const maxHeldBytes = 128 * 1024;

const noBytes = new Uint8Array(0);

/** What a body is received with. */
export interface BodyReceiverOptions {
  readonly transport: Transport;
  /** Whether bytes may be handed out before all have come. */
  readonly mayStream: boolean;
  /** Whether its readers keep no piece of it, so that a piece's memory can be used again. */
  readonly releases: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** One body. Bytes that came before {@linkcode take} are collected, later ones are streamed. */
export class BodyReceiver {
  readonly #transport: Transport;
  readonly #mayStream: boolean;
  readonly #now: () => number;
  #length: number | null = null;
  #received = 0;
  #first: Uint8Array | null = null;
  /** All bytes, when they came in several pieces and are held. */
  #held: Uint8Array | null = null;
  readonly #releases: boolean;
  /** What was handed out, until all bytes have come. */
  #handedOut: BodyStream | null = null;
  /** Since when the connection is paused because nobody reads. */
  #pausedAt: number | null = null;
  /** Milliseconds of pauses that are over. */
  #paused = 0;
  #abandoned = false;

  /** The row's length is known. */
  started = false;

  constructor({ transport, mayStream, releases, now }: BodyReceiverOptions) {
    this.#releases = releases;
    this.#transport = transport;
    this.#mayStream = mayStream;
    this.#now = now;
  }

  /** Milliseconds for which nobody has read although bytes were there. */
  stalledFor(): number {
    return this.#pausedAt === null ? 0 : this.#now() - this.#pausedAt;
  }

  /** Milliseconds that the connection has waited for the reader in all. */
  waitedFor(): number {
    return this.#paused + this.stalledFor();
  }

  /** Whether a stream was handed out that is not at its end. */
  get streaming(): boolean {
    return this.#handedOut !== null;
  }

  /** Bytes of the whole body, once they are known; null for SQL NULL. */
  get length(): number | null {
    return this.#length;
  }

  start(length: number | null): void {
    this.started = true;
    this.#length = length;
  }

  /** Takes the next bytes, which may change afterwards. */
  push(bytes: Uint8Array): void {
    const at = this.#received;
    this.#received += bytes.length;
    if (this.#abandoned) return;
    if (this.#handedOut !== null) return this.#handedOut.add(bytes.slice());
    if (at === 0 && (bytes.length === this.#length || this.#isStreamed)) {
      this.#first = bytes.slice();
      return;
    }
    this.#held ??= this.#allocate();
    this.#held.set(bytes, at);
  }

  /** Most of the body will be handed on as it comes. */
  get #isStreamed(): boolean {
    return this.#mayStream && (this.#length ?? 0) > maxHeldBytes;
  }

  end(): void {
    const handedOut = this.#handedOut;
    this.#handedOut = null;
    handedOut?.end();
    this.#resume();
  }

  /** Breaks a stream that was handed out. */
  fail(error: unknown): void {
    const handedOut = this.#handedOut;
    this.#handedOut = null;
    handedOut?.fail(error);
  }

  /** The body as it stands: bytes when all have come, else a stream of them and the rest. */
  take(): ResultBody {
    const length = this.#length;
    if (length === null || length === 0) return { length, content: noBytes };
    if (this.#received === length) return { length, content: this.#held ?? this.#first! };
    return { length, content: this.#stream() };
  }

  /** A buffer for the whole body, with what had come before. */
  #allocate(): Uint8Array {
    const held = new Uint8Array(this.#length ?? 0);
    if (this.#first !== null) held.set(this.#first);
    this.#first = null;
    return held;
  }

  #stream(): ReadableStream<Uint8Array> {
    const first = this.#first ?? this.#held?.subarray(0, this.#received);
    this.#first = null;
    this.#held = null;
    const handedOut = new BodyStream({
      releases: this.#releases,
      onFull: () => this.#pause(),
      onRoom: () => this.#resume(),
      onCancelled: () => this.#abandon(),
    });
    this.#handedOut = handedOut;
    if (first !== undefined && first.length > 0) handedOut.add(first);
    return handedOut.stream;
  }

  #pause(): void {
    if (this.#pausedAt !== null || this.#handedOut === null) return;
    this.#pausedAt = this.#now();
    this.#transport.pause();
  }

  #resume(): void {
    if (this.#pausedAt === null) return;
    this.#paused += this.#now() - this.#pausedAt;
    this.#pausedAt = null;
    this.#transport.resume();
  }

  #abandon(): void {
    this.#handedOut = null;
    this.#abandoned = true;
    if ((this.#length ?? 0) - this.#received > drainedBytes) return this.#transport.destroy();
    this.#resume();
  }
}
