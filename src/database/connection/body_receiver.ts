/**
 * Receives the last column of the result row: collects it, or streams it while it arrives.
 *
 * @module
 */
import { BodyStream } from "./body_stream.ts";
import type { ResultBody } from "../database.ts";
import type { Transport } from "../transport.ts";

/** An abandoned body with at most this much to come is read to its end; others cost the connection. */
const maxDrainedBytes = 1024 * 1024;

/**
 * Larger bodies may be streamed while they arrive. For smaller ones a stream costs more than waiting for
 * their end.
 */
export const maxHeldBytes = 128 * 1024;

const noBytes = new Uint8Array(0);

/** Dependencies and settings of a {@linkcode BodyReceiver}. */
export interface BodyReceiverOptions {
  readonly transport: Transport;
  /** Whether bytes may be handed out before all have arrived. */
  readonly mayStream: boolean;
  /** Whether its readers keep no chunk of it, so that a chunk's memory can be freed early. */
  readonly releases: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** One body. It collects the bytes before {@linkcode take} and streams later ones. */
export class BodyReceiver {
  readonly #transport: Transport;
  readonly #mayStream: boolean;
  readonly #now: () => number;
  #length: number | null = null;
  #received = 0;
  #first: Uint8Array | null = null;
  /** All bytes, if they arrived in several chunks and are held. */
  #held: Uint8Array | null = null;
  readonly #releases: boolean;
  /** The stream that was handed out; null before, and when all bytes have arrived. */
  #stream: BodyStream | null = null;
  /** Since when the connection is paused for its reader; null while it is not. */
  #pausedAt: number | null = null;
  /** Sum of the pauses that are over. */
  #pausedMs = 0;
  #abandoned = false;

  /** Whether the length of the body is known. */
  started = false;

  constructor({ transport, mayStream, releases, now }: BodyReceiverOptions) {
    this.#releases = releases;
    this.#transport = transport;
    this.#mayStream = mayStream;
    this.#now = now;
  }

  /** Milliseconds for which the reader has left bytes unread. */
  stalledFor(): number {
    return this.#pausedAt === null ? 0 : this.#now() - this.#pausedAt;
  }

  /** Milliseconds that the connection has waited for the reader in all. */
  waitedFor(): number {
    return this.#pausedMs + this.stalledFor();
  }

  /** Whether a stream was handed out and has not ended. */
  get streaming(): boolean {
    return this.#stream !== null;
  }

  /** Length of the whole body in bytes; null for SQL NULL, and before it is known. */
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
    if (this.#stream !== null) return this.#stream.add(bytes.slice());
    if (at === 0 && (bytes.length === this.#length || this.#isStreamed)) {
      this.#first = bytes.slice();
      return;
    }
    this.#held ??= this.#allocate();
    this.#held.set(bytes, at);
  }

  /** Whether most of the body will be streamed. */
  get #isStreamed(): boolean {
    return this.#mayStream && (this.#length ?? 0) > maxHeldBytes;
  }

  end(): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.end();
    this.#resume();
  }

  /** Ends a stream that was handed out with an error. */
  fail(error: unknown): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.fail(error);
  }

  /** Returns the body: bytes if all have arrived, otherwise a stream of these and the rest. */
  take(): ResultBody {
    const length = this.#length;
    if (length === null || length === 0) return { length, content: noBytes };
    if (this.#received === length) return { length, content: this.#held ?? this.#first! };
    return { length, content: this.#startStream() };
  }

  /** Allocates a buffer for the whole body, with the bytes that have arrived. */
  #allocate(): Uint8Array {
    const held = new Uint8Array(this.#length ?? 0);
    if (this.#first !== null) held.set(this.#first);
    this.#first = null;
    return held;
  }

  #startStream(): ReadableStream<Uint8Array> {
    const first = this.#first ?? this.#held?.subarray(0, this.#received);
    this.#first = null;
    this.#held = null;
    const stream = new BodyStream({
      releases: this.#releases,
      onFull: () => this.#pause(),
      onRoom: () => this.#resume(),
      onCancelled: () => this.#abandon(),
    });
    this.#stream = stream;
    if (first !== undefined && first.length > 0) stream.add(first);
    return stream.stream;
  }

  #pause(): void {
    if (this.#pausedAt !== null || this.#stream === null) return;
    this.#pausedAt = this.#now();
    this.#transport.pause();
  }

  #resume(): void {
    if (this.#pausedAt === null) return;
    this.#pausedMs += this.#now() - this.#pausedAt;
    this.#pausedAt = null;
    this.#transport.resume();
  }

  #abandon(): void {
    this.#stream = null;
    this.#abandoned = true;
    if ((this.#length ?? 0) - this.#received > maxDrainedBytes) return this.#transport.destroy();
    this.#resume();
  }
}
