/** Encodes messages to the server into one reused buffer. Source: PostgreSQL documentation, "Message
 * Formats". @module */
import type { ParamValue } from "../../base/sql/fragment.ts";
import { binaryFormat, textFormat } from "./messages.ts";

const initialCapacityBytes = 16 * 1024;
/** Values of at least this size are written without a copy. */
const minLargeValueBytes = 64 * 1024;

/** ASCII texts up to this length are encoded in JavaScript, which is faster than a `TextEncoder`. */
const maxShortTextLength = 64;

const utf8 = new TextEncoder();

/** Collects messages of the client; {@linkcode take} returns them for one write. */
export class FrameEncoder {
  #buffer = new Uint8Array(initialCapacityBytes);
  #view = new DataView(this.#buffer.buffer);
  #end = 0;
  /** Start of the bytes that are not yet in `#chunks`. */
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
    let uncopiedBytes = 0;
    for (const value of params) uncopiedBytes += this.#value(value);
    this.#int16(1);
    this.#int16(resultFormat);
    this.#close(length, uncopiedBytes);
  }

  /** Execute: runs the unnamed portal to its end. */
  execute(): void {
    this.#reserve(10);
    this.#buffer.set(executeFrame, this.#end);
    this.#end += executeFrame.length;
  }

  closeStatement(name: string): void {
    const length = this.#open(0x43);
    this.#byte(0x53);
    this.#cstring(name);
    this.#close(length, 0);
  }

  /** Sync: ends the transaction; the server answers with ReadyForQuery. */
  sync(): void {
    this.#reserve(5);
    this.#buffer.set(syncFrame, this.#end);
    this.#end += syncFrame.length;
  }

  query(text: string): void {
    const length = this.#open(0x51);
    this.#cstring(text);
    this.#close(length, 0);
  }

  copyFail(reason: string): void {
    const length = this.#open(0x66);
    this.#cstring(reason);
    this.#close(length, 0);
  }

  /** Returns the collected messages. They are valid until the next message is encoded, which
   * happens after the reply to the Sync. */
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

  #close(lengthAt: number, uncopiedBytes: number): void {
    // The length includes itself and the values that are not copied, but not the type byte.
    this.#view.setInt32(lengthAt, this.#end - lengthAt + uncopiedBytes);
  }

  #formats(params: readonly ParamValue[]): void {
    if (!params.some(isBinary)) return this.#int16(0);
    this.#int16(params.length);
    for (const value of params) this.#int16(isBinary(value) ? binaryFormat : textFormat);
  }

  /** Encodes one value; returns the number of its bytes that are sent without a copy. */
  #value(value: ParamValue): number {
    if (value === null) {
      this.#int32(-1);
      return 0;
    }
    if (typeof value === "string" && value.length * 3 < minLargeValueBytes) {
      this.#shortText(value);
      return 0;
    }
    const bytes = typeof value === "string"
      ? utf8.encode(value)
      : value instanceof Uint8Array
      ? value
      : value.binary;
    this.#int32(bytes.length);
    if (bytes.length < minLargeValueBytes) {
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

  /** Encodes UTF-8 into the buffer, which must have room for it. */
  #text(value: string): void {
    const buffer = this.#buffer;
    const start = this.#end;
    if (value.length <= maxShortTextLength) {
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

  /** Encodes a string without its NULs: a NUL would end it early and put the stream out of step. */
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

  /** Grows the buffer if necessary; collected bytes keep their positions. */
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
const syncFrame = new Uint8Array([0x53, 0, 0, 0, 4]);

function isBinary(value: ParamValue): boolean {
  return value !== null && typeof value === "object" && !(value instanceof Uint8Array);
}
