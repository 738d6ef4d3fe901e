/** Bodies in NDJSON: one JSON object per line (https://github.com/ndjson/ndjson-spec). @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ServiceError } from "../../../base/errors/service_error.ts";
import {
  type BodyDecoder,
  noBytes,
  type OnKeys,
  type Payload,
  type PayloadUse,
  type RowCuts,
} from "./body_decoder.ts";
import { JsonRowsScan } from "./json_rows.ts";
import { MarkSkipper } from "../utf8.ts";

const lineFeed = 0x0a;
/** White space of JSON that does not end a line: space, tab and carriage return. */
const blanks: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0d]);

const [beginArray, nextElement] = [Uint8Array.of(0x5b), Uint8Array.of(0x2c)];
const [endArray, noRows] = [Uint8Array.of(0x5d), Uint8Array.of(0x5b, 0x5d)];

export interface NdjsonOptions {
  readonly takes: PayloadUse;
  /** Whether the query string names the columns, so that lines may have different keys. */
  readonly columnsGiven: boolean;
  /** Whether lines may have different keys, which are all collected. Default: false. */
  readonly keysMayVary?: boolean;
  readonly onKeys: OnKeys;
}

/** Converts lines of JSON objects to a JSON array. Skips blank lines. Throws `102` with the line
 * number if a line is not one JSON object, or has other keys than the first. */
export class NdjsonDecoder implements BodyDecoder {
  readonly work = "converts";
  readonly #options: NdjsonOptions;
  readonly #mark = new MarkSkipper();
  readonly #scan: JsonRowsScan;
  /** Buffer for the JSON of a chunk, and the length of this JSON. Line feeds become commas, except
   * a line feed at the end of the previous chunk. */
  #out = noBytes;
  #outLength = 0;
  /** Number of the current line, from 1. */
  #line = 1;
  /** Whether the current line has content. */
  #hasBegun = false;
  #rows = 0;
  #length = 0;
  #areKeysKnown = false;
  #lastRowEnd = -1;

  constructor(options: NdjsonOptions) {
    this.#options = options;
    this.#scan = new JsonRowsScan(options);
  }

  write(chunk: Uint8Array): Uint8Array {
    const text = this.#mark.skip(chunk);
    this.#out = new Uint8Array(text.length + 1);
    this.#outLength = 0;
    this.#length += text.length;
    this.#lastRowEnd = -1;
    let at = 0;
    while (at < text.length) {
      const index = text.indexOf(lineFeed, at);
      const end = index < 0 ? text.length : index;
      this.#text(text, at, end);
      if (index >= 0) {
        this.#endLine();
        this.#line++;
      }
      at = end + 1;
    }
    this.#reportKeys();
    return this.#out.subarray(0, this.#outLength);
  }

  end(): Uint8Array {
    this.#endLine();
    // The body is not divided here: the last row ended in the previous output.
    this.#lastRowEnd = -1;
    return this.#rows === 0 ? noRows : endArray;
  }

  get cuts(): RowCuts {
    return {
      lastRowEnd: this.#lastRowEnd,
      areKeysKnown: this.#options.columnsGiven || this.#scan.areKeysKnown,
      isMixed: false,
      problem: null,
    };
  }

  payload(bytes: Uint8Array): Payload {
    if (this.#length === 0 && this.#options.takes === "arguments") {
      return this.#payload("object", [], new TextEncoder().encode("{}"));
    }
    const rows = this.#scan.rows();
    if (this.#options.columnsGiven) return this.#payload("array", null, bytes);
    return rows.kind === "rows"
      ? { ...this.#payload("array", rows.keys, bytes), ...rows, kind: "json", shape: "array" }
      : this.#payload("array", [], bytes);
  }

  #payload(shape: "object" | "array", keys: readonly string[] | null, text: Uint8Array) {
    return { kind: "json", source: "json", shape, keys, moreKeys: 0, text } as const;
  }

  #text(bytes: Uint8Array, start: number, end: number): void {
    let at = start;
    if (!this.#hasBegun) {
      while (at < end && blanks.has(bytes[at])) at++;
      if (at === end) return;
      this.#hasBegun = true;
      this.#put(this.#rows > 0 ? nextElement : beginArray);
    }
    this.#put(bytes.subarray(at, end));
  }

  #put(bytes: Uint8Array): void {
    if (!this.#scan.push(bytes)) throw this.#notAnObject();
    this.#out.set(bytes, this.#outLength);
    this.#outLength += bytes.length;
  }

  #endLine(): void {
    if (!this.#hasBegun) return;
    this.#hasBegun = false;
    this.#rows++;
    this.#lastRowEnd = this.#outLength;
    if (!this.#scan.isBehindRow || this.#scan.rowCount !== this.#rows) throw this.#notAnObject();
    if (!this.#options.columnsGiven && this.#scan.isMixed) {
      throw errors.invalidBody(
        "All object keys must match",
        `Line ${this.#line} has other keys than the first line`,
      );
    }
  }

  #notAnObject(): ServiceError {
    return errors.invalidBody("Empty or invalid json", `Line ${this.#line} is not one JSON object`);
  }

  #reportKeys(): void {
    if (this.#areKeysKnown || this.#options.columnsGiven || !this.#scan.areKeysKnown) return;
    this.#areKeysKnown = true;
    const rows = this.#scan.rows();
    if (rows.kind === "rows") this.#options.onKeys(this.payload(noBytes));
  }
}
