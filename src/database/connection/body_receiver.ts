/** Receives the last column of the result row, and of the rows that continue it: collects it, or
 * streams it while it arrives. @module */
import { BodyStream } from "./body_stream.ts";
import type { BodyFraming, ResultBody } from "../transaction.ts";
import type { RowRun } from "../protocol/decoder.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { Transport } from "../transport.ts";

/** An abandoned body with at most this much to come is read to its end; other failures cost the
 * connection. */
const maxDrainedBytes = 1024 * 1024;

/** For smaller bodies a stream costs more than waiting for their end. */
export const maxHeldBytes = 128 * 1024;

const noBytes = new Uint8Array(0);

const utf8 = new TextEncoder();

/** Dependencies and settings of a {@linkcode BodyReceiver}. */
export interface BodyReceiverOptions {
  readonly transport: Transport;
  /** Whether bytes may be handed out before all have arrived. */
  readonly mayStream: boolean;
  /** Whether its readers keep no chunk of it, so that a chunk's memory can be freed early. */
  readonly freesChunks: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Keeps what slow readers leave unread; null to pause the connection instead. */
  readonly spool: BodySpool | null;
}

/** One body. It collects the bytes before {@linkcode take} and streams later ones. */
export class BodyReceiver implements RowRun {
  #framing: BodyFraming | null = null;
  /** Length of the first row's value; null for SQL NULL. */
  #valueLength: number | null = null;
  #receivedBytes = 0;
  /** Bytes of the stream that arrived after its reader left. */
  #drainedBytes = 0;
  #held: HeldBytes | null = null;
  #hasEnded = false;
  /** Whether further rows have continued the body: its closing has not arrived yet. */
  isContinued = false;
  /** The stream that was handed out; null before, and when all bytes have arrived. */
  #stream: BodyStream | null = null;
  /** Since when the connection is paused for its reader; null while it is not. */
  #pausedAt: number | null = null;
  /** Whether it is paused although its spool has room: the pool decides how fast that fills. */
  #isPaced = false;
  /** Sum of the pauses for the reader that are over. */
  #pausedMs = 0;
  #abandoned = false;

  started = false;
  hasValues = false;
  separator = noBytes;
  trimmedBytes = 0;

  constructor(private readonly options: BodyReceiverOptions) {}

  /** Milliseconds for which the reader has left bytes unread. */
  stalledFor(): number {
    return this.#pausedAt === null || this.#isPaced ? 0 : this.options.now() - this.#pausedAt;
  }

  /** Whether the connection waits for {@linkcode spool}, although the spool has room. */
  get isPaced(): boolean {
    return this.#pausedAt !== null && this.#isPaced;
  }

  /** Milliseconds that the connection has waited for the reader in all. */
  waitedFor(): number {
    return this.#pausedMs + this.stalledFor();
  }

  /** Lets the connection continue: the spool keeps this many more unread bytes. */
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

  /** Whether the body is too large to wait for its end, or must not wait for it. */
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

  /** Begins the further rows, unless they have begun. They put their values before the closing. */
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

  /** Takes the next bytes, which may change afterwards. */
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

  /** Ends a stream that was handed out with an error. */
  fail(error: unknown): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.fail(error);
  }

  /** Returns the body: bytes if all have arrived, otherwise a stream of these and the rest. */
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

  /** Holds back the closing of a value that may have been sent when further rows arrive. */
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

  /** Lets the connection continue if it is paused for the reader. */
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

  /** Number of bytes that no reader has taken: a body of unknown length may have too many to
   * come. */
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
