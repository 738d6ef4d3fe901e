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
  skipScalar,
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
  return new RowsScan(bytes).run(Infinity)!;
}

/** Bytes that are read in one go: some milliseconds' work. */
const sliceLength = 2 * 1024 * 1024;

/**
 * Reads like {@linkcode readJsonRows}, but lets others work in between: `pause` is awaited after each
 * slice.
 */
export async function readJsonRowsInSlices(
  bytes: Uint8Array,
  pause: () => Promise<void>,
): Promise<JsonRows> {
  const scan = new RowsScan(bytes);
  for (let until = sliceLength;; until += sliceLength) {
    const rows = scan.run(until);
    if (rows !== null) return rows;
    await pause();
  }
}

/** A walk over the text, which can stand still between two values. */
class RowsScan {
  readonly #bytes: Uint8Array;
  readonly #keys: RowKeys;
  readonly #shape: "object" | "array";
  /** How many containers are open inside of a row. */
  readonly #rowDepth: number;
  readonly #open = new OpenContainers();
  /** Where the next value is expected, or what follows the whole one. */
  #at: number;
  #ended = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#keys = new RowKeys(bytes);
    this.#at = skipBlank(bytes, 0);
    this.#shape = bytes[this.#at] === openBrace ? "object" : "array";
    this.#rowDepth = this.#shape === "object" ? 1 : 2;
  }

  /** Walks on to about an index; null when the end was not reached. */
  run(until: number): JsonRows | null {
    let at = this.#at;
    while (at >= 0 && at < until && !this.#ended) at = this.#value(skipBlank(this.#bytes, at));
    this.#at = at;
    if (at >= 0 && !this.#ended) return null;
    if (at < 0 || skipBlank(this.#bytes, at) < this.#bytes.length) return { kind: "malformed" };
    return this.#keys.rows(this.#shape);
  }

  /** Goes to the next value: into this one when it is a container, else behind it. */
  #value(at: number): number {
    const code = this.#bytes[at];
    if (code === openBrace || code === openBracket) return this.#enter(at, code);
    if (this.#open.depth === this.#rowDepth - 1 && this.#rowDepth > 1) this.#keys.foreign();
    return this.#leave(skipScalar(this.#bytes, at));
  }

  #enter(start: number, code: number): number {
    this.#open.push(code);
    if (this.#open.depth === this.#rowDepth) {
      if (code === openBrace) this.#keys.begin();
      else this.#keys.foreign();
    }
    const at = skipBlank(this.#bytes, start + 1);
    if (this.#bytes[at] === closingOf(code)) return this.#leave(at);
    return code === openBrace ? this.#key(at) : at;
  }

  #key(start: number): number {
    const end = skipKeyText(this.#bytes, start);
    if (end >= 0 && this.#open.depth === this.#rowDepth) this.#keys.add(start, end);
    return skipColon(this.#bytes, end);
  }

  /** Goes on behind a value, out of the containers that end there, to the next value. */
  #leave(start: number): number {
    let at = start;
    while (at >= 0 && this.#open.depth > 0) {
      at = skipBlank(this.#bytes, at);
      const code = this.#bytes[at++];
      const container = this.#open.last();
      if (code === comma) {
        return container === openBrace ? this.#key(skipBlank(this.#bytes, at)) : at;
      }
      if (code !== closingOf(container)) return malformed;
      if (this.#open.depth === this.#rowDepth && code === closeBrace) this.#keys.finish();
      this.#open.pop();
    }
    this.#ended = true;
    return at;
  }
}

function closingOf(opening: number): number {
  return opening === openBrace ? closeBrace : closeBracket;
}

/** What opened each container around a value, innermost last: one byte each, since depth is free. */
class OpenContainers {
  #codes = new Uint8Array(64);
  depth = 0;

  push(code: number): void {
    if (this.depth === this.#codes.length) {
      const grown = new Uint8Array(this.depth * 2);
      grown.set(this.#codes);
      this.#codes = grown;
    }
    this.#codes[this.depth++] = code;
  }

  pop(): void {
    this.depth--;
  }

  last(): number {
    return this.#codes[this.depth - 1] ?? 0;
  }
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
  #count = 0;
  /** Whether something else than rows of the same keys was seen. */
  #mixed = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A row begins. */
  begin(): void {
    this.#count++;
    this.#next = 0;
    this.#distinct = 0;
  }

  /** The row ends. */
  finish(): void {
    if (this.#distinct !== this.#indexes.size) this.#mixed = true;
  }

  /** There is something in the place of a row. */
  foreign(): void {
    this.#mixed = true;
  }

  /** Counts a key, given from its opening quote to behind its closing one. */
  add(start: number, end: number): void {
    if (this.#mixed) return;
    const index = this.#indexOf(start, end);
    this.#next = index + 1;
    if (this.#seenIn[index] === this.#count) return;
    this.#seenIn[index] = this.#count;
    this.#distinct++;
  }

  /** Rows mostly have their keys in one order, spelled alike: then no text is made of them. */
  #indexOf(start: number, end: number): number {
    if (this.#isSpelledAs(this.#next, start, end)) return this.#next;
    const name = keyText(this.#bytes, start, end);
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    if (this.#count > 1) this.#mixed = true;
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

  /** What the text is, after its end. */
  rows(shape: "object" | "array"): JsonRows {
    if (this.#mixed) return { kind: "mixed" };
    if (this.#count === 0) return { kind: "none" };
    return { kind: "rows", shape, keys: [...this.#indexes.keys()].sort() };
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
