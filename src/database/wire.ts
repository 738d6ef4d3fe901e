/**
 * Frames of PostgreSQL's protocol, version 3, as far as running batches needs them: an encoder that
 * writes into one reused buffer and a decoder that hands rows on while they arrive.
 *
 * Source: PostgreSQL documentation, chapter "Frontend/Backend Protocol", "Message Formats".
 *
 * @module
 */
import type { ParamValue } from "../sql/fragment.ts";

const initialCapacity = 16 * 1024;
/** Values of at least this many bytes are written as they are, without being copied. */
const largeValue = 64 * 1024;
/** A message other than a row or an error is refused above this size: the stream is out of step. */
const largestMessage = 256 * 1024 * 1024;

/** Of an error at most this many bytes are kept: PostgreSQL quotes whole values in its messages. */
const maxErrorBytes = 1024 * 1024;

/** Texts of so many characters are written here if they are ASCII: that is faster. */
const shortText = 64;
/** The same for reading so many bytes. */
const shortRead = 16;

const utf8 = new TextEncoder();

/** Format codes of values. */
export const textFormat = 0;
export const binaryFormat = 1;

/** Collects frontend messages; {@linkcode take} hands them over for one write. */
export class FrameEncoder {
  #buffer = new Uint8Array(initialCapacity);
  #view = new DataView(this.#buffer.buffer);
  #end = 0;
  /** Where the bytes that are not yet in `#chunks` begin. */
  #start = 0;
  #chunks: Uint8Array[] = [];

  /** Parse: prepares a statement; parameter types are left to the server. */
  parse(name: string, text: string): void {
    const length = this.#open(0x50);
    this.#cstring(name);
    this.#cstring(text);
    this.#int16(0);
    this.#close(length, 0);
  }

  /** Bind: binds values to the unnamed portal; all result columns get one format. */
  bind(name: string, params: readonly ParamValue[], resultFormat: 0 | 1): void {
    const length = this.#open(0x42);
    this.#byte(0);
    this.#cstring(name);
    this.#formats(params);
    this.#int16(params.length);
    let aside = 0;
    for (const value of params) aside += this.#value(value);
    this.#int16(1);
    this.#int16(resultFormat);
    this.#close(length, aside);
  }

  /** Execute: runs the unnamed portal to its end. */
  execute(): void {
    this.#reserve(10);
    this.#buffer.set(executeFrame, this.#end);
    this.#end += executeFrame.length;
  }

  /** Close: forgets a prepared statement. */
  closeStatement(name: string): void {
    const length = this.#open(0x43);
    this.#byte(0x53);
    this.#cstring(name);
    this.#close(length, 0);
  }

  /** Sync: ends the batch; the server answers with ReadyForQuery. */
  sync(): void {
    this.#reserve(5);
    this.#buffer.set(syncFrame, this.#end);
    this.#end += syncFrame.length;
  }

  /** Flush: has the server send what it has said so far. */
  flush(): void {
    this.#reserve(5);
    this.#buffer.set(flushFrame, this.#end);
    this.#end += flushFrame.length;
  }

  /** Query: runs SQL text without parameters. */
  query(text: string): void {
    const length = this.#open(0x51);
    this.#cstring(text);
    this.#close(length, 0);
  }

  /**
   * Hands over what was collected. The chunks stay valid until the next message is encoded: the
   * server's answer to a Sync says that they were read.
   */
  take(): readonly Uint8Array[] {
    this.#flushChunk();
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#start = 0;
    this.#end = 0;
    return chunks;
  }

  #open(type: number): number {
    this.#reserve(5);
    this.#buffer[this.#end] = type;
    const lengthAt = this.#end + 1;
    this.#end += 5;
    return lengthAt;
  }

  #close(lengthAt: number, bytesAside: number): void {
    // The length counts itself and what was put aside, and not the type byte.
    this.#view.setInt32(lengthAt, this.#end - lengthAt + bytesAside);
  }

  #formats(params: readonly ParamValue[]): void {
    if (!params.some(isBinary)) return this.#int16(0);
    this.#int16(params.length);
    for (const value of params) this.#int16(isBinary(value) ? binaryFormat : textFormat);
  }

  /** Writes one value; returns how many bytes were put aside instead of being copied. */
  #value(value: ParamValue): number {
    if (value === null) {
      this.#int32(-1);
      return 0;
    }
    if (typeof value === "string" && value.length * 3 < largeValue) {
      this.#shortText(value);
      return 0;
    }
    const bytes = typeof value === "string"
      ? utf8.encode(value)
      : value instanceof Uint8Array
      ? value
      : value.binary;
    this.#int32(bytes.length);
    if (bytes.length < largeValue) {
      this.#reserve(bytes.length);
      this.#buffer.set(bytes, this.#end);
      this.#end += bytes.length;
      return 0;
    }
    this.#flushChunk();
    this.#chunks.push(bytes);
    return bytes.length;
  }

  #shortText(value: string): void {
    this.#reserve(4 + value.length * 3);
    const lengthAt = this.#end;
    this.#end += 4;
    this.#text(value);
    this.#view.setInt32(lengthAt, this.#end - lengthAt - 4);
  }

  /** Writes UTF-8, for which there is room; what is short is written here if it is ASCII. */
  #text(value: string): void {
    const buffer = this.#buffer;
    const start = this.#end;
    if (value.length <= shortText) {
      let at = 0;
      for (let code; at < value.length && (code = value.charCodeAt(at)) < 0x80; at++) {
        buffer[start + at] = code;
      }
      if (at === value.length) {
        this.#end = start + at;
        return;
      }
    }
    this.#end = start + utf8.encodeInto(value, buffer.subarray(start)).written;
  }

  /** NUL would end the string early and put the stream out of step: it is left out. */
  #cstring(text: string): void {
    const safe = text.includes("\0") ? text.replaceAll("\0", "") : text;
    this.#reserve(safe.length * 3 + 1);
    this.#text(safe);
    this.#buffer[this.#end++] = 0;
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#end++] = value;
  }

  #int16(value: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.#end, value);
    this.#end += 2;
  }

  #int32(value: number): void {
    this.#reserve(4);
    this.#view.setInt32(this.#end, value);
    this.#end += 4;
  }

  /** Makes room; the bytes already collected keep their positions. */
  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, this.#end));
    this.#buffer = grown;
    this.#view = new DataView(grown.buffer);
  }

  #flushChunk(): void {
    if (this.#end > this.#start) this.#chunks.push(this.#buffer.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}

const executeFrame = new Uint8Array([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
const flushFrame = new Uint8Array([0x48, 0, 0, 0, 4]);
const syncFrame = new Uint8Array([0x53, 0, 0, 0, 4]);

function isBinary(value: ParamValue): boolean {
  return value !== null && typeof value === "object" && !(value instanceof Uint8Array);
}

/** Type bytes of the backend messages that matter. */
export const backend = {
  parseComplete: 0x31,
  bindComplete: 0x32,
  closeComplete: 0x33,
  commandComplete: 0x43,
  dataRow: 0x44,
  emptyQuery: 0x49,
  error: 0x45,
  notice: 0x4e,
  notification: 0x41,
  parameterStatus: 0x53,
  ready: 0x5a,
  noData: 0x6e,
  rowDescription: 0x54,
  parameterDescription: 0x74,
  copyIn: 0x47,
  copyOut: 0x48,
  copyBoth: 0x57,
} as const;

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

/** Joins pieces of UTF-8, which may be cut anywhere, and reads them. */
export function joinText(pieces: readonly Uint8Array[]): string {
  if (pieces.length === 1) return text.decode(pieces[0]);
  const streaming = new TextDecoder();
  return pieces.map((piece) => streaming.decode(piece, { stream: true })).join("") +
    streaming.decode();
}

/**
 * Reads the fields of an ErrorResponse or NoticeResponse by their one-letter type. Of a payload that
 * was cut off, the last field is cut off, too.
 */
export function readFields(payload: Uint8Array): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let at = 0;
  while (at < payload.length && payload[at] !== 0) {
    const zero = payload.indexOf(0, at + 1);
    const end = zero < 0 ? payload.length : zero;
    fields.set(String.fromCharCode(payload[at]!), text.decode(payload.subarray(at + 1, end)));
    at = end + 1;
  }
  return fields;
}

/** A CancelRequest message, which goes over a connection of its own. */
export function cancelFrame(processId: number, secretKey: number): Uint8Array {
  const frame = new Uint8Array(16);
  const view = new DataView(frame.buffer);
  view.setInt32(0, 16);
  view.setInt32(4, 80877102);
  view.setInt32(8, processId);
  view.setInt32(12, secretKey);
  return frame;
}
