/**
 * Finds out which columns a JSON body writes, without making its rows.
 *
 * @module
 */
import type { MalformedPlace } from "../errors/catalogue.ts";
import { maxNameBytes, maxNames, nameText } from "./body_names.ts";
import { JsonScanner, type RowEvents } from "./json_scanner.ts";

/** What a JSON text is to a relation or a function. */
export type JsonRows =
  /** One object, or objects that all have the same keys. */
  | {
    readonly kind: "rows";
    readonly shape: "object" | "array";
    /** Sorted; at most {@linkcode maxNames}. */
    readonly keys: readonly string[];
    /** How many keys of the first row are not among them. */
    readonly moreKeys: number;
  }
  /** An empty array or a scalar: no rows. */
  | { readonly kind: "none" }
  /** An array with other elements than objects, or with objects of different keys. */
  | { readonly kind: "mixed" }
  | { readonly kind: "malformed" };

/** Reads JSON text as UTF-8 without a byte order mark, piece by piece. */
export class JsonRowsScan {
  readonly #keys = new RowKeys();
  readonly #scanner = new JsonScanner(this.#keys);

  /** Takes the next piece. False when the text is malformed. */
  push(bytes: Uint8Array): boolean {
    return this.#scanner.push(bytes);
  }

  /** Whether the first row has ended, or has more keys than are told apart. */
  get areKeysKnown(): boolean {
    return this.#keys.areKnown;
  }

  /** How many rows have begun. */
  get rowCount(): number {
    return this.#keys.rowCount;
  }

  /** Whether the last token ended a row of the top-level array. */
  get isBehindRow(): boolean {
    return this.#scanner.isBehindElement && this.rowCount > 0;
  }

  /** Whether the rows have different keys, or an element is not an object. */
  get isMixed(): boolean {
    return this.#keys.isMixed;
  }

  /** Where a malformed text is malformed. */
  get malformedPlace(): MalformedPlace {
    return this.#scanner.malformedPlace;
  }

  /** What the text is so far. */
  rows(): JsonRows {
    return this.#keys.rows(this.#scanner.shape);
  }

  /** Takes the end, and says what the text is. */
  end(): JsonRows {
    return this.#scanner.end() ? this.rows() : { kind: "malformed" };
  }
}

/** The keys of the first row, and whether the others have the same. */
class RowKeys implements RowEvents {
  /** Keys of the first row, in order of appearance. */
  readonly #indexes = new Map<string, number>();
  /** How they are spelled there, one after the other, and where each ends. */
  #spelled = new Uint8Array(64);
  readonly #ends: number[] = [];
  /** The last row in which a key was seen. */
  readonly #seenIn: number[] = [];
  /** Keys of the first row beyond those that are told apart. */
  #uncounted = 0;
  #next = 0;
  #distinct = 0;
  /** How many rows began. */
  #count = 0;
  /** Whether something else than rows of the same keys was seen. */
  #mixed = false;
  #hasFirstRowEnded = false;

  get areKnown(): boolean {
    return this.#hasFirstRowEnded || this.#uncounted > 0;
  }

  get rowCount(): number {
    return this.#count;
  }

  get isMixed(): boolean {
    return this.#mixed;
  }

  rowBegins(): void {
    this.#count++;
    this.#next = 0;
    this.#distinct = 0;
  }

  rowEnds(): void {
    this.#hasFirstRowEnded = true;
    if (this.#distinct !== this.#indexes.size && this.#uncounted === 0) this.#mixed = true;
  }

  otherElement(): void {
    this.#mixed = true;
  }

  rowKey(bytes: Uint8Array, start: number, end: number): void {
    if (this.#mixed || (this.#uncounted > 0 && this.#count > 1)) return;
    const index = this.#indexOf(bytes, start, end);
    if (index === null) return;
    this.#next = index + 1;
    if (this.#seenIn[index] === this.#count) return;
    this.#seenIn[index] = this.#count;
    this.#distinct++;
  }

  /** Rows mostly have their keys in one order, spelled alike: then no text is made of them. */
  #indexOf(bytes: Uint8Array, start: number, end: number): number | null {
    if (this.#isSpelledAs(this.#next, bytes, start, end)) return this.#next;
    const name = keyText(bytes, start, end);
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    if (this.#count > 1) this.#mixed = true;
    if (this.#indexes.size === maxNames) {
      this.#uncounted++;
      return null;
    }
    const index = this.#indexes.size;
    this.#indexes.set(name, index);
    this.#keepSpelling(bytes, start, end);
    return index;
  }

  /** Whether a key is spelled as one of the first row. Empty and long ones are not compared. */
  #isSpelledAs(index: number, bytes: Uint8Array, start: number, end: number): boolean {
    const spelledEnd = this.#ends[index];
    if (spelledEnd === undefined) return false;
    const spelled = this.#spelled;
    let other = index === 0 ? 0 : this.#ends[index - 1]!;
    if (end === start || end - start !== spelledEnd - other) return false;
    for (let at = start; at < end; at++) if (bytes[at] !== spelled[other++]) return false;
    return true;
  }

  #keepSpelling(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start > maxNameBytes ? 0 : end - start;
    const kept = this.#ends.at(-1) ?? 0;
    if (kept + length > this.#spelled.length) {
      const grown = new Uint8Array((kept + length) * 2);
      grown.set(this.#spelled);
      this.#spelled = grown;
    }
    for (let at = 0; at < length; at++) this.#spelled[kept + at] = bytes[start + at]!;
    this.#ends.push(kept + length);
  }

  /** What the text is, so far or at its end. */
  rows(shape: "object" | "array"): JsonRows {
    if (this.#mixed) return { kind: "mixed" };
    if (this.#count === 0) return { kind: "none" };
    const keys = [...this.#indexes.keys()].sort();
    return { kind: "rows", shape, keys, moreKeys: this.#uncounted };
  }
}

const backslash = 0x5c;

/** The name that a key spells. What is too long is not read, as it is no name of a column. */
function keyText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > maxNameBytes) return nameText(bytes, start, end);
  let text = "";
  for (let at = start; at < end; at++) {
    const code = bytes[at]!;
    if (code > 0x7f || code === backslash) {
      return JSON.parse(`"${nameText(bytes, start, end)}"`);
    }
    text += String.fromCharCode(code);
  }
  return text;
}
