/**
 * Decodes backend messages of PostgreSQL's protocol, version 3: cuts a stream of bytes into messages, and
 * hands rows on while they arrive.
 *
 * Source: PostgreSQL documentation, chapter "Frontend/Backend Protocol", "Message Formats".
 *
 * @module
 */
import { backend } from "./messages.ts";

/** A message other than a row or an error is refused above this size: the stream is out of step. */
const largestMessage = 256 * 1024 * 1024;

/** Of an error at most this many bytes are kept: PostgreSQL quotes whole values in its messages. */
const maxErrorBytes = 1024 * 1024;

/** The same for reading so many bytes. */
const shortRead = 16;

/** For each type byte, whether it is in the list. */
function marked(types: readonly number[]): Uint8Array {
  const marks = new Uint8Array(256);
  for (const type of types) marks[type] = 1;
  return marks;
}

const isKnown = marked(Object.values(backend));

/** Messages whose payload nobody looks at. */
const isEvent = marked([
  backend.parseComplete,
  backend.bindComplete,
  backend.closeComplete,
  backend.commandComplete,
  backend.emptyQuery,
  backend.notice,
  backend.notification,
  backend.parameterStatus,
  backend.noData,
  backend.rowDescription,
  backend.parameterDescription,
]);

/** What a {@linkcode FrameDecoder} tells, in the order of arrival. */
export interface FrameSink {
  /** A whole message of a kind that says nothing but its type. */
  event(type: number): void;
  /** A whole message of another kind, but for rows. The payload is valid during the call only. */
  message(type: number, payload: Uint8Array): void;
  /** Whether the row that begins is to be told; else it is passed over. */
  rowWanted(): boolean;
  /**
   * A row: its columns but the last as text, and the length of the last (null for SQL NULL or a row
   * without columns), whose bytes follow by {@linkcode rowBytes}.
   */
  rowStart(head: readonly (string | null)[], length: number | null): void;
  rowBytes(bytes: Uint8Array): void;
  rowEnd(): void;
}

/** The server said something that is not of the protocol: the connection cannot be used any more. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Cuts a stream of bytes into messages; the last column of a row is never collected. */
export class FrameDecoder {
  readonly #sink: FrameSink;
  /** Pieces of a message whose beginning has arrived. */
  #pieces: Uint8Array[] = [];
  #collected = 0;
  /** Looking again makes sense once this many bytes are collected. */
  #wanted = 0;
  /** Bytes of the last column, of a row that nobody wants or of a long error that are still to come. */
  #bodyLeft = 0;
  /** They are passed over. */
  #skipping = false;
  /** The beginning of a long error whose rest is passed over. */
  #error: Uint8Array | null = null;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /**
   * Takes the next bytes, which may change afterwards: what is told of them is valid during the call
   * only. Raises {@linkcode ProtocolError}.
   */
  push(chunk: Uint8Array): void {
    let bytes = chunk;
    if (this.#bodyLeft > 0) {
      bytes = this.#body(bytes);
      if (this.#bodyLeft > 0) return;
    }
    if (this.#collected > 0) {
      this.#collected += bytes.length;
      if (this.#collected < this.#wanted) return void this.#pieces.push(bytes.slice());
      this.#pieces.push(bytes);
      bytes = concat(this.#pieces, this.#collected);
      this.#pieces = [];
      this.#collected = 0;
    }
    if (bytes.length > 0) this.#messages(bytes);
  }

  #messages(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    while (bytes.length - at >= 5) {
      const type = bytes[at]!;
      const length = view.getInt32(at + 1);
      checkFrame(type, length);
      const end = at + 1 + length;
      if (isEvent[type] === 1) {
        if (end > bytes.length) return this.#collect(bytes.subarray(at), end - at);
        this.#sink.event(type);
      } else if (type === backend.dataRow && !this.#sink.rowWanted()) {
        if (end > bytes.length) {
          this.#bodyLeft = end - bytes.length;
          this.#skipping = true;
          return;
        }
      } else if (type === backend.dataRow) {
        const bodyAt = this.#row(bytes, view, at + 5, end);
        if (bodyAt === null) return this.#collect(bytes.subarray(at), end - at);
        if (bodyAt < end && bodyAt < bytes.length) this.#sink.rowBytes(bytes.subarray(bodyAt, end));
        if (end > bytes.length) {
          this.#bodyLeft = end - bytes.length;
          return;
        }
        this.#sink.rowEnd();
      } else if (end > bytes.length && type === backend.error && length > maxErrorBytes) {
        if (bytes.length - at < maxErrorBytes) {
          return this.#collect(bytes.subarray(at), maxErrorBytes);
        }
        this.#error = bytes.slice(at + 5, at + 5 + maxErrorBytes);
        this.#bodyLeft = end - bytes.length;
        this.#skipping = true;
        return;
      } else {
        if (end > bytes.length) return this.#collect(bytes.subarray(at), end - at);
        const keptEnd = type === backend.error ? Math.min(end, at + 5 + maxErrorBytes) : end;
        this.#sink.message(type, bytes.subarray(at + 5, keptEnd));
      }
      at = end;
    }
    if (at < bytes.length) this.#collect(bytes.subarray(at), 5);
  }

  /**
   * Keeps the beginning of a message. Doubling what is waited for, up to the whole message, keeps
   * the copying linear in the message's length.
   */
  #collect(piece: Uint8Array, wholeLength: number): void {
    this.#pieces = [piece.slice()];
    this.#collected = piece.length;
    this.#wanted = Math.max(piece.length + 1, Math.min(wholeLength, piece.length * 2));
  }

  /** Reads a row up to its last column; returns where that begins, or null when more is needed. */
  #row(bytes: Uint8Array, view: DataView, start: number, end: number): number | null {
    let at = start;
    if (bytes.length - at < 2) return null;
    const columns = view.getInt16(at);
    at += 2;
    const head: (string | null)[] = [];
    for (let column = 0; column < columns; column++) {
      if (bytes.length - at < 4) return null;
      const length = view.getInt32(at);
      at += 4;
      if (at + Math.max(length, 0) > end) throw new ProtocolError("a column exceeds its row");
      if (column === columns - 1) {
        if (at + Math.max(length, 0) !== end) throw new ProtocolError("a row has bytes left over");
        this.#sink.rowStart(head, length < 0 ? null : length);
        return at;
      }
      if (bytes.length - at < length) return null;
      head.push(length < 0 ? null : readText(bytes, at, at + length));
      if (length > 0) at += length;
    }
    this.#sink.rowStart(head, null);
    return at;
  }

  #body(bytes: Uint8Array): Uint8Array {
    const part = bytes.length <= this.#bodyLeft ? bytes : bytes.subarray(0, this.#bodyLeft);
    this.#bodyLeft -= part.length;
    if (this.#skipping) {
      this.#skipping = this.#bodyLeft > 0;
      if (this.#error !== null && !this.#skipping) {
        this.#sink.message(backend.error, this.#error);
        this.#error = null;
      }
    } else {
      this.#sink.rowBytes(part);
      if (this.#bodyLeft === 0) this.#sink.rowEnd();
    }
    return bytes.subarray(part.length);
  }
}

function checkFrame(type: number, length: number): void {
  if (isKnown[type] !== 1) throw new ProtocolError(`unknown message type ${type}`);
  if (length < 4) throw new ProtocolError(`impossible message length ${length}`);
  if (type !== backend.dataRow && type !== backend.error && length > largestMessage) {
    throw new ProtocolError(`message of ${length} bytes`);
  }
}

/** Joins pieces into one; `length` is that of all of them. */
export function concat(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

const text = new TextDecoder();

/** Reads UTF-8 between two positions. */
function readText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > shortRead) return text.decode(bytes.subarray(start, end));
  let read = "";
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte > 0x7f) return text.decode(bytes.subarray(start, end));
    read += String.fromCharCode(byte);
  }
  return read;
}
