/**
 * Finds out which columns a JSON body writes, without making its rows.
 *
 * @module
 */
import {
  closeBrace,
  closeBracket,
  comma,
  malformed,
  openBrace,
  openBracket,
  skipBlank,
  skipColon,
  skipKeyText,
  skipValue,
} from "./json_text.ts";

/** What a JSON text is to a relation or a function. */
export type JsonRows =
  /** One object, or objects that all have the same keys; keys are sorted. */
  | { readonly kind: "rows"; readonly shape: "object" | "array"; readonly keys: readonly string[] }
  /** An empty array or a scalar: no rows. */
  | { readonly kind: "none" }
  /** An array with other elements than objects, or with objects of different keys. */
  | { readonly kind: "mixed" }
  | { readonly kind: "malformed" };

/** Reads JSON text as UTF-8 without a byte order mark. */
export function readJsonRows(bytes: Uint8Array): JsonRows {
  const start = skipBlank(bytes, 0);
  const rows = new RowKeys(bytes);
  const end = skipRows(bytes, start, rows);
  if (end < 0 || skipBlank(bytes, end) < bytes.length) return { kind: "malformed" };
  if (rows.mixed) return { kind: "mixed" };
  if (rows.count === 0) return { kind: "none" };
  const shape = bytes[start] === openBrace ? "object" : "array";
  return { kind: "rows", shape, keys: rows.names().sort() };
}

function skipRows(bytes: Uint8Array, start: number, rows: RowKeys): number {
  switch (bytes[start]) {
    case openBrace:
      return skipRow(bytes, start, rows);
    case openBracket:
      return skipElements(bytes, start, rows);
    default:
      return skipValue(bytes, start);
  }
}

/** Skips the array, whose elements should be rows. */
function skipElements(bytes: Uint8Array, start: number, rows: RowKeys): number {
  let at = skipBlank(bytes, start + 1);
  if (bytes[at] === closeBracket) return at + 1;
  while (at >= 0) {
    at = skipBlank(bytes, at);
    if (bytes[at] === openBrace) at = skipRow(bytes, at, rows);
    else {
      rows.mixed = true;
      at = skipValue(bytes, at);
    }
    if (at < 0) return malformed;
    at = skipBlank(bytes, at);
    if (bytes[at] === closeBracket) return at + 1;
    at = bytes[at] === comma ? at + 1 : malformed;
  }
  return malformed;
}

/** Skips an object and counts it as a row. */
function skipRow(bytes: Uint8Array, start: number, rows: RowKeys): number {
  rows.begin();
  let at = skipBlank(bytes, start + 1);
  if (bytes[at] === closeBrace) {
    rows.finish();
    return at + 1;
  }
  for (;;) {
    const end = skipKeyText(bytes, at);
    const behind = skipColon(bytes, end);
    if (behind < 0) return malformed;
    rows.add(at, end);
    at = skipValue(bytes, behind);
    if (at < 0) return malformed;
    at = skipBlank(bytes, at);
    if (bytes[at] === closeBrace) break;
    if (bytes[at] !== comma) return malformed;
    at = skipBlank(bytes, at + 1);
  }
  rows.finish();
  return at + 1;
}

/** The keys of the first row, and whether the others have the same. */
class RowKeys {
  readonly #bytes: Uint8Array;
  /** Keys of the first row, in order of appearance. */
  readonly #indexes = new Map<string, number>();
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** The last row in which a key was seen. */
  readonly #seenIn: number[] = [];
  #next = 0;
  #distinct = 0;
  /** How many rows began. */
  count = 0;
  /** Whether something else than rows of the same keys was seen. */
  mixed = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  begin(): void {
    this.count++;
    this.#next = 0;
    this.#distinct = 0;
  }

  finish(): void {
    if (this.#distinct !== this.#indexes.size) this.mixed = true;
  }

  /** Counts a key, given from its opening quote to behind its closing one. */
  add(start: number, end: number): void {
    if (this.mixed) return;
    const index = this.#indexOf(start, end);
    this.#next = index + 1;
    if (this.#seenIn[index] === this.count) return;
    this.#seenIn[index] = this.count;
    this.#distinct++;
  }

  /** Rows mostly have their keys in one order, spelled alike: then no text is made of them. */
  #indexOf(start: number, end: number): number {
    if (this.#isSpelledAs(this.#next, start, end)) return this.#next;
    const name = keyText(this.#bytes, start, end);
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    if (this.count > 1) this.mixed = true;
    this.#indexes.set(name, index);
    this.#starts.push(start);
    this.#ends.push(end);
    return index;
  }

  #isSpelledAs(index: number, start: number, end: number): boolean {
    const known = this.#starts[index];
    if (known === undefined || end - start !== (this.#ends[index] ?? 0) - known) return false;
    for (let offset = 0; offset < end - start; offset++) {
      if (this.#bytes[start + offset] !== this.#bytes[known + offset]) return false;
    }
    return true;
  }

  names(): string[] {
    return [...this.#indexes.keys()];
  }
}

function keyText(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start + 1; at < end - 1; at++) {
    const code = bytes[at] ?? 0;
    if (code > 0x7f || code === 0x5c) {
      return JSON.parse(new TextDecoder().decode(bytes.subarray(start, end)));
    }
    text += String.fromCharCode(code);
  }
  return text;
}

/** Whether the first character that is not blank opens an object. */
export function beginsAsObject(bytes: Uint8Array): boolean {
  return bytes[skipBlank(bytes, 0)] === openBrace;
}
