/** Finds the columns that a JSON body writes, without building its rows. @module */
import { maxNameBytes, maxNames, nameText } from "./body_names.ts";
import { JsonScanner } from "./json_scanner.ts";

/** The content of a JSON text, for a relation or a function. */
export type JsonRows =
  /** One object, or objects that all have the same keys. */
  | {
    readonly kind: "rows";
    readonly shape: "object" | "array";
    /** Sorted; at most {@linkcode maxNames}. */
    readonly keys: readonly string[];
    /** Number of further keys in the first row. */
    readonly moreKeys: number;
    /** Whether rows lack some of the keys. Default: false. */
    readonly keysVary?: true;
  }
  /** An empty array or a scalar, which has no rows. */
  | { readonly kind: "none"; readonly isScalar: boolean }
  /** An array with elements other than objects, or with objects of different keys. */
  | { readonly kind: "mixed" }
  | { readonly kind: "malformed" };

/** Compares the keys of each row with the keys of the first. If keys may vary, collects the keys of
 * all rows. A byte order mark is an error. */
export class JsonRowsScan {
  readonly #mayVary: boolean;
  readonly #scanner = new JsonScanner({
    rowBegins: () => {
      this.#count++;
      this.#next = 0;
      this.#distinct = 0;
    },
    rowKey: (bytes, start, end) => this.#addKey(bytes, start, end),
    rowEnds: () => {
      this.#hasFirstRowEnded = true;
      if (this.#distinct !== this.#indexes.size && this.#uncounted === 0) this.#differ();
    },
    otherElement: () => this.isMixed = true,
  });
  /** Keys of the first row with their indexes, in the order of the text. */
  readonly #indexes = new Map<string, number>();
  /** The keys of the first row, concatenated, as the JSON text spells them. */
  #spelled = new Uint8Array(64);
  /** Ends of the keys in `#spelled`. */
  readonly #ends: number[] = [];
  /** For each key, by its index: number of the last row that has the key. */
  readonly #seenIn: number[] = [];
  /** Number of keys of the first row beyond {@linkcode maxNames}. */
  #uncounted = 0;
  /** Index of the key that is expected next, if the row has the order of the first row. */
  #next = 0;
  /** Number of different keys that the current row has so far. */
  #distinct = 0;
  #count = 0;
  /** Whether an element is not an object, or has other keys than the first row. */
  isMixed = false;
  #hasFirstRowEnded = false;
  #doVary = false;

  constructor({ keysMayVary = false }: { readonly keysMayVary?: boolean } = {}) {
    this.#mayVary = keysMayVary;
  }

  /** Scans the next chunk. Returns false if the text is malformed. */
  push(bytes: Uint8Array): boolean {
    return this.#scanner.push(bytes);
  }

  /** Why the text is malformed. */
  get problem(): string {
    return this.#scanner.problem;
  }

  /** Whether the first row has ended, or has more keys than {@linkcode maxNames}. */
  get areKeysKnown(): boolean {
    return this.#hasFirstRowEnded || this.#uncounted > 0;
  }

  /** Position after the last row that ended in the last chunk, or -1. */
  get lastRowEnd(): number {
    return this.#scanner.lastRowEnd;
  }

  get rowCount(): number {
    return this.#count;
  }

  /** Whether the last token ended a row of the top-level array. */
  get isBehindRow(): boolean {
    return this.#scanner.isBehindElement && this.#count > 0;
  }

  /** Ends the text. Returns its content. */
  end(): JsonRows {
    return this.#scanner.end() ? this.rows() : { kind: "malformed" };
  }

  /** Records that a row has other keys than the previous rows. */
  #differ(): void {
    if (this.#mayVary) this.#doVary = true;
    else this.isMixed = true;
  }

  #addKey(bytes: Uint8Array, start: number, end: number): void {
    if (this.isMixed || (this.#uncounted > 0 && this.#count > 1)) return;
    const index = this.#indexOf(bytes, start, end);
    if (index === null) return;
    this.#next = index + 1;
    if (this.#seenIn[index] === this.#count) return;
    this.#seenIn[index] = this.#count;
    this.#distinct++;
  }

  /** Returns the index of a key; null beyond {@linkcode maxNames}. Keys with the spelling of the
   * first row are not decoded. */
  #indexOf(bytes: Uint8Array, start: number, end: number): number | null {
    if (this.#isSpelledAs(this.#next, bytes, start, end)) return this.#next;
    const name = keyText(bytes, start, end);
    const position = this.#indexes.get(name);
    if (position !== undefined) return position;
    if (this.#count > 1) this.#differ();
    if (this.#indexes.size === maxNames) {
      this.#uncounted++;
      return null;
    }
    const index = this.#indexes.size;
    this.#indexes.set(name, index);
    this.#keepSpelling(bytes, start, end);
    return index;
  }

  /** Returns whether a key has the spelling of a key in the first row; false for empty and long keys. */
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
    const previousEnd = this.#ends.at(-1) ?? 0;
    if (previousEnd + length > this.#spelled.length) {
      const grown = new Uint8Array((previousEnd + length) * 2);
      grown.set(this.#spelled);
      this.#spelled = grown;
    }
    for (let at = 0; at < length; at++) this.#spelled[previousEnd + at] = bytes[start + at]!;
    this.#ends.push(previousEnd + length);
  }

  rows(): JsonRows {
    if (this.isMixed) return { kind: "mixed" };
    if (this.#count === 0) return { kind: "none", isScalar: this.#scanner.isScalar };
    const keys = [...this.#indexes.keys()].sort();
    const rows = {
      kind: "rows",
      shape: this.#scanner.shape,
      keys,
      moreKeys: this.#uncounted,
    } as const;
    return this.#doVary ? { ...rows, keysVary: true } : rows;
  }
}

/** Decodes a key. A key longer than any column name is cut. */
function keyText(bytes: Uint8Array, start: number, end: number): string {
  const text = nameText(bytes, start, end);
  const isEscaped = end - start <= maxNameBytes && text.includes("\\");
  return isEscaped ? JSON.parse(`"${text}"`) : text;
}
