/** Receives a response body: the last column of the result row, and of the rows that continue it.
 * Collects it, or streams it while it arrives. @module */
import { BodyStream } from "./body_stream.ts";
import type { BodyFraming, ResultBody } from "../transaction.ts";
import type { RowRun } from "../protocol/decoder.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { Transport } from "../transport.ts";

/** If at most this much of an abandoned body is left, the connection reads the rest. Otherwise the
 * connection is closed. */
const maxDrainedBytes = 1024 * 1024;

/** Smaller bodies are collected, because a stream would cost more than waiting. */
export const maxHeldBytes = 128 * 1024;

const noBytes = new Uint8Array(0);

const utf8 = new TextEncoder();

/** Dependencies and settings of a {@linkcode BodyReceiver}. */
export interface BodyReceiverOptions {
  readonly transport: Transport;
  /** Whether a reader may get bytes before all have arrived. */
  readonly mayStream: boolean;
  /** Whether readers keep no reference to chunks, so that memory can be freed early. */
  readonly freesChunks: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Stores bytes that slow readers leave unread; null to pause the connection instead. */
  readonly spool: BodySpool | null;
}

/** Receives one body. Collects the bytes until {@linkcode take} is called, and streams later bytes. */
export class BodyReceiver implements RowRun {
  #framing: BodyFraming | null = null;
  /** Length of the first row's value; null for SQL NULL. */
  #valueLength: number | null = null;
  #receivedBytes = 0;
  /** Bytes of the stream that arrived after its reader left. */
  #drainedBytes = 0;
  #held: HeldBytes | null = null;
  #hasEnded = false;
  /** Whether further rows continue the body, so that its closing is still to come. */
  isContinued = false;
  /** The stream of the body; null before {@linkcode take}, and when all bytes have arrived. */
  #stream: BodyStream | null = null;
  /** Time at which the connection was paused for the reader; null while it is not paused. */
  #pausedAt: number | null = null;
  /** Whether the connection is paused only because the pool limits how fast the spool fills. */
  #isPaced = false;
  /** Total of the past pauses for the reader. */
  #pausedMs = 0;
  #abandoned = false;

  started = false;
  hasValues = false;
  separator = noBytes;
  trimmedBytes = 0;

  constructor(private readonly options: BodyReceiverOptions) {}

  /** Returns for how many milliseconds the reader has left bytes unread. */
  stalledFor(): number {
    return this.#pausedAt === null || this.#isPaced ? 0 : this.options.now() - this.#pausedAt;
  }

  /** Whether the connection is paused by the pool's pace, although the spool has room. */
  get isPaced(): boolean {
    return this.#pausedAt !== null && this.#isPaced;
  }

  /** Returns for how many milliseconds the connection has waited for the reader in total. */
  waitedFor(): number {
    return this.#pausedMs + this.stalledFor();
  }

  /** Lets the spool accept this many more unread bytes, and resumes the connection. */
  spool(bytes: number): void {
    this.#stream?.spool(bytes);
  }

  get streaming(): boolean {
    return this.#stream !== null;
  }

  /** Length of the whole body in bytes; null for SQL NULL, and before it is known. */
  get length(): number | null {
    return this.#framing === null || this.#hasEnded ? this.#wholeLength : null;
  }

  /** Whether the body is streamed, because it is too large to wait for, or its framing is eager. */
  get isLarge(): boolean {
    if (Math.max(this.#valueLength ?? 0, this.#receivedBytes) > maxHeldBytes) return true;
    return this.isContinued && !this.#hasEnded && this.#framing?.isEager === true;
  }

  get #wholeLength(): number | null {
    return this.#framing === null ? this.#valueLength : this.#receivedBytes;
  }

  start(length: number | null, framing: BodyFraming | null): void {
    this.started = true;
    this.#valueLength = length;
    this.#framing = framing;
  }

  /**
   * Begins the further rows, unless they have begun. Their values precede the closing of the body.
   */
  openRun(): RowRun {
    if (this.isContinued) return this;
    const { separator, closing, trimmedBytes = 0 } = this.#framing!;
    this.isContinued = true;
    this.separator = utf8.encode(separator);
    this.trimmedBytes = trimmedBytes;
    this.hasValues = (this.#valueLength ?? 0) > 0;
    if (this.#held !== null && !this.#isValueStreamed) {
      this.#receivedBytes -= closing.length;
      this.#held.length -= closing.length;
    }
    return this;
  }

  /** Adds the next bytes. The caller may overwrite them afterwards. */
  push(received: Uint8Array): void {
    const bytes = this.#withoutClosing(received);
    this.#receivedBytes += bytes.length;
    if (this.#abandoned) return this.#drain(bytes.length);
    if (this.#stream !== null) return this.#stream.add(bytes);
    const isWhole = bytes.length === this.#valueLength || this.#isValueStreamed;
    if (this.#held === null) {
      this.#held = new HeldBytes(isWhole ? bytes.slice() : new Uint8Array(this.#valueLength ?? 0));
      if (isWhole) this.#held.length = bytes.length;
      else this.#held.append(bytes);
    } else this.#held.append(bytes);
  }

  end(): void {
    const isOpen = this.isContinued ? this.hasValues : this.#isValueStreamed;
    if (this.#framing !== null && isOpen) {
      this.isContinued = true;
      this.push(utf8.encode(this.#framing.closing));
    }
    this.#hasEnded = true;
    const stream = this.#stream;
    this.#stream = null;
    stream?.end();
    this.resume();
  }

  /** Ends the stream, if there is one, with an error. */
  fail(error: unknown): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.fail(error);
  }

  /** Returns the body: bytes if all have arrived, otherwise a stream that begins with the received bytes. */
  take(): ResultBody {
    const length = this.#wholeLength;
    if (this.#hasEnded) {
      if (length === null || length === 0) return { length, content: noBytes };
      return { length, content: this.#held!.bytes };
    }
    if (!this.started) return { length: null, content: noBytes };
    const { stream, failure, ended } = this.#startStream();
    return { length: this.length, content: stream, failure, ended };
  }

  /** Whether most of the first row's value will be streamed. */
  get #isValueStreamed(): boolean {
    return this.options.mayStream && (this.#valueLength ?? 0) > maxHeldBytes;
  }

  /** Holds back the last bytes of a value that further rows may continue, because the closing of the
   * body comes after these rows. */
  #withoutClosing(bytes: Uint8Array): Uint8Array {
    if (this.#framing === null || this.isContinued || !this.#isValueStreamed) return bytes;
    const left = this.#valueLength! - this.#framing.closing.length - this.#receivedBytes;
    return bytes.length > left ? bytes.subarray(0, left) : bytes;
  }

  #startStream(): BodyStream {
    const first = this.#held?.bytes;
    this.#held = null;
    const stream = new BodyStream({
      ...this.options,
      evictionError: () => errors.connectionLost("the response was not read"),
      onFull: () => this.#pause(),
      onRoom: () => this.resume(),
      onCancelled: () => this.#abandon(),
    });
    this.#stream = stream;
    if (first !== undefined && first.length > 0) stream.add(first);
    return stream;
  }

  #pause(): void {
    if (this.#pausedAt !== null || this.#stream === null) return;
    this.#pausedAt = this.options.now();
    this.#isPaced = this.#stream.isSpooled;
    this.options.transport.pause();
  }

  /** Resumes the connection if it is paused for the reader. */
  resume(): void {
    if (this.#pausedAt === null) return;
    this.#pausedMs += this.stalledFor();
    this.#pausedAt = null;
    this.options.transport.resume();
  }

  #abandon(): void {
    this.#stream = null;
    this.#abandoned = true;
    const left = this.#framing === null ? (this.#valueLength ?? 0) - this.#receivedBytes : 0;
    if (left > maxDrainedBytes) return this.options.transport.destroy();
    this.resume();
  }

  /** Counts bytes that arrive after the reader left. Closes the connection if a body has too many. */
  #drain(bytes: number): void {
    this.#drainedBytes += bytes;
    if (this.#drainedBytes > maxDrainedBytes) this.options.transport.destroy();
  }
}

class HeldBytes {
  length = 0;

  constructor(private buffer: Uint8Array<ArrayBuffer>) {}

  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  append(bytes: Uint8Array): void {
    const length = this.length + bytes.length;
    if (length > this.buffer.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.buffer.length));
      larger.set(this.bytes);
      this.buffer = larger;
    }
    this.buffer.set(bytes, this.length);
    this.length = length;
  }
}
