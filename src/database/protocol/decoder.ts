/** Decodes messages of the server, and hands rows on while they arrive. Source: PostgreSQL
 * documentation, "Message Formats". @module */
import { backend } from "./messages.ts";

/** Maximum length of messages other than rows and errors. A longer message means that the stream is out of step. */
const maxMessageBytes = 256 * 1024 * 1024;

/** The rest of a longer error is discarded. PostgreSQL quotes whole values in error messages. */
const maxErrorBytes = 1024 * 1024;

/** Texts up to this length are decoded in JavaScript, which is faster than a `TextDecoder`. */
const maxShortTextBytes = 16;

/** Returns a table indexed by type byte: 1 for the listed types, else 0. */
function typeTable(types: readonly number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const type of types) table[type] = 1;
  return table;
}

const backendTypes = typeTable(Object.values(backend));

/** Messages whose payload a {@linkcode FrameSink} ignores by default. */
const ignoredPayloads = typeTable([
  backend.parseComplete,
  backend.bindComplete,
  backend.closeComplete,
  backend.commandComplete,
  backend.emptyQuery,
  backend.notice,
  backend.noData,
  backend.rowDescription,
  backend.parameterDescription,
]);

/** Rows whose last columns are joined to one sequence of bytes. The decoder joins them in place,
 * without a copy of each. */
export interface RowRun {
  /** Separator between two values. At most 11 bytes, because it must fit into the part of a row's
   * message that precedes its last value. */
  readonly separator: Uint8Array;
  /** Number of bytes to leave out at each end of a value. A value has at least twice this number. */
  readonly trimmedBytes: number;
  /**
   * Whether a value or other content precedes the next value. The decoder sets it after each row.
   */
  hasValues: boolean;
}

/** Receives the messages of a {@linkcode FrameDecoder} in the order of arrival. */
export interface FrameSink {
  event(type: number): void;
  /** Receives a message that is not a row. The payload is valid during the call only. */
  message(type: number, payload: Uint8Array): void;
  /** Returns whether the sink wants the row that begins; otherwise the row is skipped. */
  wantsRow(): boolean;
  /** Returns the run that the next rows of the statement belong to; null if the row is not part of
   * a run. For rows of a run, only {@linkcode rowBytes} is called, once for several rows. */
  rowRun(): RowRun | null;
  /** Receives a row: its columns but the last as text, and the length of the last (null for SQL
   * NULL or a row without columns). The bytes of the last column follow by {@linkcode rowBytes}. */
  rowStart(head: readonly (string | null)[], length: number | null): void;
  rowBytes(bytes: Uint8Array): void;
  rowEnd(): void;
}

/** Reports that the server violated the protocol, so that the connection is unusable. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Splits a stream of bytes into messages. It passes on the last column of a row without collecting it. */
export class FrameDecoder {
  #chunks: Uint8Array[] = [];
  #collectedBytes = 0;
  /** Number of collected bytes at which decoding of the message continues. */
  #neededBytes = 0;
  /** Remaining bytes of a last column, a skipped row or a long error. */
  #bodyLeft = 0;
  #skipping = false;
  /** The run that the remaining bytes belong to; null if they are not part of a body. */
  #run: RowRun | null = null;
  /** The first part of a long error whose rest is skipped. */
  #error: Uint8Array | null = null;

  /** `eventTypes` has a 1 for each type whose payload the sink ignores. */
  constructor(private readonly sink: FrameSink, private readonly eventTypes = ignoredPayloads) {}

  /** Decodes the next bytes. The decoder may overwrite them, and so may the caller afterwards: the
   * sink's arguments are valid during the call only. Throws {@linkcode ProtocolError}. */
  push(chunk: Uint8Array): void {
    let bytes = chunk;
    if (this.#run !== null) {
      bytes = this.#continueRun(this.#run, bytes);
    } else if (this.#bodyLeft > 0) {
      bytes = this.#body(bytes);
      if (this.#bodyLeft > 0) return;
    }
    if (this.#collectedBytes > 0) {
      this.#collectedBytes += bytes.length;
      if (this.#collectedBytes < this.#neededBytes) return void this.#chunks.push(bytes.slice());
      this.#chunks.push(bytes);
      bytes = concat(this.#chunks, this.#collectedBytes);
      this.#chunks = [];
      this.#collectedBytes = 0;
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
      if (this.eventTypes[type] === 1) {
        if (end > bytes.length) return this.#collect(bytes.subarray(at), end - at);
        this.sink.event(type);
      } else if (type === backend.dataRow && !this.sink.wantsRow()) {
        if (end > bytes.length) return this.#skip(end - bytes.length);
      } else if (type === backend.dataRow) {
        const run = this.sink.rowRun();
        if (run !== null) {
          const next = this.#joinRows(run, bytes, { start: at, writtenTo: at, at });
          if (next === at) return this.#collect(bytes.subarray(at), end - at);
          at = next;
          continue;
        }
        const bodyAt = this.#row(bytes, view, at + 5, end);
        if (bodyAt === null) return this.#collect(bytes.subarray(at), end - at);
        if (bodyAt < end && bodyAt < bytes.length) this.sink.rowBytes(bytes.subarray(bodyAt, end));
        if (end > bytes.length) return void (this.#bodyLeft = end - bytes.length);
        this.sink.rowEnd();
      } else if (end > bytes.length && type === backend.error && length > maxErrorBytes) {
        const rest = bytes.subarray(at);
        if (rest.length < maxErrorBytes) return this.#collect(rest, maxErrorBytes);
        this.#error = bytes.slice(at + 5, at + 5 + maxErrorBytes);
        return this.#skip(end - bytes.length);
      } else {
        if (end > bytes.length) return this.#collect(bytes.subarray(at), end - at);
        const keptEnd = type === backend.error ? Math.min(end, at + 5 + maxErrorBytes) : end;
        this.sink.message(type, bytes.subarray(at + 5, keptEnd));
      }
      at = end;
    }
    if (at < bytes.length) this.#collect(bytes.subarray(at), 5);
  }

  /** Skips the bytes that follow. */
  #skip(bytes: number): void {
    this.#bodyLeft = bytes;
    this.#skipping = true;
  }

  /** Reads the rest of a value of a run, and the rows after it. Returns the bytes that follow. */
  #continueRun(run: RowRun, bytes: Uint8Array): Uint8Array {
    const rest = Math.min(bytes.length, this.#bodyLeft);
    this.#bodyLeft -= rest;
    if (this.#bodyLeft === 0) this.#run = null;
    const writtenTo = Math.min(rest, rest + this.#bodyLeft - run.trimmedBytes);
    return bytes.subarray(this.#joinRows(run, bytes, { start: 0, writtenTo, at: rest }));
  }

  /**
   * Joins the values of rows in place. This is possible because a value with its separator is
   * shorter than its row. The rows begin at `at`; the bytes from `start` to `writtenTo` are already
   * part of the run. Returns the position of the first other message, or of a row whose value is
   * not complete.
   */
  #joinRows(
    run: RowRun,
    bytes: Uint8Array,
    { start, writtenTo: resumedAt, at: rowsAt }: {
      readonly start: number;
      readonly writtenTo: number;
      readonly at: number;
    },
  ): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { separator, trimmedBytes } = run;
    let at = rowsAt;
    let writtenTo = resumedAt;
    while (bytes.length - at >= 5 && bytes[at] === backend.dataRow) {
      const length = view.getInt32(at + 1);
      checkFrame(backend.dataRow, length);
      const end = at + 1 + length;
      const columnAt = lastColumnAt(bytes, view, { start: at + 5, end });
      const valueAt = columnAt + trimmedBytes;
      if (columnAt < 0 || valueAt > bytes.length) break;
      if (run.hasValues) { for (const byte of separator) bytes[writtenTo++] = byte; }
      run.hasValues = true;
      const valueEnd = Math.min(end - trimmedBytes, bytes.length);
      bytes.copyWithin(writtenTo, valueAt, valueEnd);
      writtenTo += valueEnd - valueAt;
      at = Math.min(end, bytes.length);
      if (at === end) continue;
      this.#bodyLeft = end - at;
      this.#run = run;
      break;
    }
    if (writtenTo > start) this.sink.rowBytes(bytes.subarray(start, writtenTo));
    return at;
  }

  /** Collects bytes of an incomplete message. The needed length doubles, so that copies take linear time. */
  #collect(chunk: Uint8Array, wholeLength: number): void {
    this.#chunks = [chunk.slice()];
    this.#collectedBytes = chunk.length;
    this.#neededBytes = Math.max(chunk.length + 1, Math.min(wholeLength, chunk.length * 2));
  }

  /** Reads a row up to its last column. Returns the start of the last column, or null if bytes are missing. */
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
        this.sink.rowStart(head, length < 0 ? null : length);
        return at;
      }
      if (bytes.length - at < length) return null;
      head.push(length < 0 ? null : readText(bytes, at, at + length));
      if (length > 0) at += length;
    }
    if (at !== end) throw new ProtocolError("a row has bytes left over");
    this.sink.rowStart(head, null);
    return at;
  }

  #body(bytes: Uint8Array): Uint8Array {
    const part = bytes.length <= this.#bodyLeft ? bytes : bytes.subarray(0, this.#bodyLeft);
    this.#bodyLeft -= part.length;
    if (this.#skipping) {
      this.#skipping = this.#bodyLeft > 0;
      if (this.#error !== null && !this.#skipping) {
        this.sink.message(backend.error, this.#error);
        this.#error = null;
      }
    } else {
      this.sink.rowBytes(part);
      if (this.#bodyLeft === 0) this.sink.rowEnd();
    }
    return bytes.subarray(part.length);
  }
}

/** Returns the start of a row's last column; -1 if bytes before it are missing. */
function lastColumnAt(
  bytes: Uint8Array,
  view: DataView,
  { start, end }: { readonly start: number; readonly end: number },
): number {
  let at = start + 2;
  if (at > bytes.length) return -1;
  const columns = view.getInt16(start);
  if (columns <= 0 && at !== end) throw new ProtocolError("a row has bytes left over");
  for (let left = columns; left > 0; left--) {
    if (at + 4 > bytes.length) return -1;
    const length = Math.max(view.getInt32(at), 0);
    at += 4;
    if (at + length > end) throw new ProtocolError("a column exceeds its row");
    if (left > 1) at += length;
    else if (at + length !== end) throw new ProtocolError("a row has bytes left over");
  }
  return at > bytes.length ? -1 : at;
}

function checkFrame(type: number, length: number): void {
  if (backendTypes[type] !== 1) throw new ProtocolError(`unknown message type ${type}`);
  if (length < 4) throw new ProtocolError(`impossible message length ${length}`);
  if (type !== backend.dataRow && type !== backend.error && length > maxMessageBytes) {
    throw new ProtocolError(`message of ${length} bytes`);
  }
}

export function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

const text = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes UTF-8 between two positions. */
function readText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > maxShortTextBytes) return text.decode(bytes.subarray(start, end));
  let read = "";
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte > 0x7f) return text.decode(bytes.subarray(start, end));
    read += String.fromCharCode(byte);
  }
  return read;
}
