/** Reads the structure of a JSON text in one pass. Only names and strings are decoded. So numbers
 * keep their digits, and large values need no memory. @module */

/** JSON's types of values. */
export type JsonKind = "null" | "boolean" | "number" | "string" | "array" | "object";

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const kinds: ReadonlyMap<number, JsonKind> = new Map([
  [quote, "string"],
  [openBrace, "object"],
  [openBracket, "array"],
  [0x6e, "null"],
  [0x74, "boolean"],
  [0x66, "boolean"],
]);

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** Bytes that may follow a number, `true`, `false` or `null`. */
const endsScalar: ReadonlySet<number> = new Set(
  [0x20, 0x09, 0x0a, 0x0d, comma, closeBracket, closeBrace],
);

/** A position in a valid JSON text. It is at the start of a value. */
export class JsonOutline {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#at = this.#skipBlank(0);
  }

  get kind(): JsonKind {
    return kinds.get(this.#bytes[this.#at]!) ?? "number";
  }

  /** Yields the names of an object, and stops at each value. Ends after the object. */
  *members(): Generator<string> {
    for (const start of this.#items(closeBrace)) {
      this.#at = this.#endOfString(start);
      const name = this.#text(start, this.#at);
      this.#at = this.#skipBlank(this.#skipBlank(this.#at) + 1);
      const value = this.#at;
      yield name;
      if (this.#at === value) this.skip();
    }
  }

  /** Yields the indexes of an array, and stops at each element. Ends after the array. */
  *elements(): Generator<number> {
    let index = 0;
    for (const start of this.#items(closeBracket)) {
      yield index++;
      if (this.#at === start) this.skip();
    }
  }

  /** Returns a string and moves past it. For other values, returns null and does not move. */
  string(): string | null {
    if (this.kind !== "string") return null;
    const start = this.#at;
    this.#at = this.#endOfString(start);
    return this.#text(start, this.#at);
  }

  /** Moves past the value. Returns its text. */
  skip(): Uint8Array {
    const start = this.#at;
    const { kind } = this;
    if (kind === "string") this.#at = this.#endOfString(start);
    else if (kind === "object" || kind === "array") this.#at = this.#endOfContainer(start);
    else this.#at = this.#endOfScalar(start);
    return this.#bytes.subarray(start, this.#at);
  }

  #endOfScalar(start: number): number {
    let at = start;
    while (at < this.#bytes.length && !endsScalar.has(this.#bytes[at]!)) at++;
    return at;
  }

  *#items(close: number): Generator<number> {
    this.#at = this.#skipBlank(this.#at + 1);
    while (this.#bytes[this.#at] !== close) {
      yield this.#at;
      this.#at = this.#skipBlank(this.#at);
      if (this.#bytes[this.#at] === comma) this.#at = this.#skipBlank(this.#at + 1);
    }
    this.#at++;
  }

  #text(start: number, end: number): string {
    return JSON.parse(utf8.decode(this.#bytes.subarray(start, end)));
  }

  #skipBlank(start: number): number {
    let at = start;
    while (at < this.#bytes.length && this.#bytes[at]! <= 0x20) at++;
    return at;
  }

  #endOfString(start: number): number {
    const bytes = this.#bytes;
    let at = start + 1;
    for (let code; (code = bytes[at]!) !== quote;) at += code === backslash ? 2 : 1;
    return at + 1;
  }

  #endOfContainer(start: number): number {
    const bytes = this.#bytes;
    let depth = 0;
    let at = start;
    do {
      const code = bytes[at]!;
      if (code === quote) {
        at = this.#endOfString(at);
        continue;
      }
      if (code === openBrace || code === openBracket) depth++;
      else if (code === closeBrace || code === closeBracket) depth--;
      at++;
    } while (depth > 0);
    return at;
  }
}
