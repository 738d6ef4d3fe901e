/** A position in a parameter of the query string. Records the farthest position that parsing
 * reached, and the tokens expected there. @module */
import { errors } from "../../../base/errors/catalogue.ts";

/** Parses at a scanner's position, and moves it past the text. Fails by a method of the scanner. */
export type Production<T> = (scanner: Scanner) => T;

/** Thrown if a text does not match. It is not an error: {@linkcode Scanner.read} catches it. */
const mismatch = Symbol("mismatch");

/** The index of an operand's first character, and the index after its last. */
export type OperandSpan = readonly [start: number, end: number];

export interface ParseFailure {
  /** Position of the first character that does not match, in UTF-16 units. */
  readonly at: number;
  /** The character that does not match; null at the end of the text. */
  readonly unexpected: string | null;
  /** Whether the text was complete at that position, so that its end was also expected. */
  readonly endExpected: boolean;
  /** Labels of the expected tokens in the order of the attempts, with repetitions. */
  readonly expected: readonly string[];
  /** The rule that the text violates, although it matches the grammar; null for other failures. */
  readonly rule: string | null;
}

/** Maximum nesting. Later stages are recursive, and PostgreSQL's memory grows with the square of
 * the depth of embeds. */
export const maxNesting = { logic: 500, select: 50 } as const;

/** Maximum number of parts of one kind in a request: conditions, items of `select`, terms of `order` … */
export const maxParts = 10_000;

export class Scanner {
  readonly text: string;
  /** Index of the next character. */
  position: number;
  /** Positions of the operands of conditions, if they are recorded. Default: they are not. */
  operandSpans: OperandSpan[] | null = null;
  #nesting = 0;
  #parts = 0;
  #jsonSteps = 0;
  #silent = false;
  #farthest = -1;
  #unexpectedAt = -1;
  #endExpected = false;
  #rule: string | null = null;
  readonly #expected: (readonly string[])[] = [];

  constructor(text: string, position = 0) {
    this.text = text;
    this.position = position;
  }

  /** Counts a part of the list, at all levels together. Throws `177` if there are too many. */
  countPart(kind: string): void {
    if (++this.#parts > maxParts) throw errors.queryTooComplex(maxParts, kind);
  }

  /** `part *( "," part )`, with blanks before the commas. Throws `177` for too many parts. */
  list<T>(kind: string, production: Production<T>): readonly T[] {
    const read: T[] = [];
    do {
      read.push(production(this));
      this.countPart(kind);
      this.skipBlanks();
    } while (this.skip(","));
    return read;
  }

  /** Counts a step into a JSON value. Throws `177` if there are too many. */
  countJsonStep(): void {
    if (++this.#jsonSteps > maxParts) throw errors.queryTooComplex(maxParts, "steps into JSON");
  }

  /** Returns the next character as a UTF-16 unit; NaN at the end. */
  get code(): number {
    return this.text.charCodeAt(this.position);
  }

  get atEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** Returns whether the text continues with a literal. */
  sees(literal: string): boolean {
    return this.text.startsWith(literal, this.position);
  }

  /** Moves past a literal if it follows. */
  skip(literal: string): boolean {
    if (!this.sees(literal)) return false;
    this.position += literal.length;
    return true;
  }

  skipBlanks(): void {
    let code = this.code;
    while (code === 0x20 || code === 0x09) {
      this.position++;
      code = this.code;
    }
  }

  /** Moves past a literal. If it does not follow, fails with `labels` as the expected tokens. */
  take(literal: string, labels: readonly string[]): void {
    if (!this.skip(literal)) this.fail(labels, this.#mismatch(literal));
  }

  /** Moves past the first of `words` that follows. Fails if none of them does. */
  takeWord<Word extends string>(words: readonly Word[], labels: readonly string[]): Word {
    return words.find((word) => this.skip(word)) ??
      this.fail(labels, this.#mismatch(words[0] ?? ""));
  }

  /** Returns the position of the first difference to an expected literal. */
  #mismatch(literal: string): number {
    return this.position + commonStart(literal, this.text.slice(this.position));
  }

  /** Records the tokens expected here, and the character that does not match. */
  expect(labels: readonly string[], unexpectedAt = this.position): void {
    if (this.#silent || this.position < this.#farthest) return;
    if (this.position > this.#farthest) {
      this.forget();
      this.#farthest = this.position;
      this.#unexpectedAt = unexpectedAt;
    }
    this.#expected.push(labels);
  }

  /** Fails. The expected tokens are `labels`. Default: the recorded tokens. */
  fail(labels?: readonly string[], unexpectedAt = this.position): never {
    if (labels !== undefined) this.expect(labels, unexpectedAt);
    throw mismatch;
  }

  /** Fails. The end of the text was expected here, or one of `labels`. */
  failAtEnd(labels: readonly string[]): never {
    this.expect(labels);
    this.expect(endOfInput);
    if (!this.#silent && this.position === this.#farthest) this.#endExpected = true;
    throw mismatch;
  }

  /** Fails unless the text ends here. `labels` are the tokens that could also follow. */
  takeEnd(labels: readonly string[]): void {
    if (!this.atEnd) this.failAtEnd(labels);
  }

  /** Drops the recorded tokens, because another attempt explains the failure better. */
  forget(): void {
    this.#farthest = -1;
    this.#endExpected = false;
    this.#expected.length = 0;
  }

  /** Parses by a production. Returns undefined if it fails; `failure` then has the reason. */
  read<T>(production: Production<T>): T | undefined {
    try {
      return production(this);
    } catch (thrown) {
      if (thrown === mismatch) return undefined;
      throw thrown;
    }
  }

  /** Parses by a production. If it fails, restores the position, and drops the tokens that it recorded. */
  attempt<T>(production: Production<T>): T | undefined {
    const { position } = this;
    const silent = this.#silent;
    this.#silent = true;
    const read = this.read(production);
    this.#silent = silent;
    if (read === undefined) this.position = position;
    return read;
  }

  /** Parses by a production one level deeper. Fails beyond {@linkcode maxNesting}. */
  nested<T>(kind: keyof typeof maxNesting, production: Production<T>): T {
    if (this.#nesting >= maxNesting[kind]) {
      if (this.#silent) throw mismatch;
      this.#rule = `parentheses nest deeper than ${maxNesting[kind]} levels`;
      this.#farthest = this.position;
      throw mismatch;
    }
    this.#nesting++;
    try {
      return production(this);
    } finally {
      this.#nesting--;
    }
  }

  get isNested(): boolean {
    return this.#nesting > 0;
  }

  /** Returns why the text does not match. */
  failure(): ParseFailure {
    const at = Math.max(this.#farthest, 0);
    const shownAt = this.#endExpected || this.#rule !== null ? at : this.#unexpectedAt;
    const unexpected = this.text.codePointAt(shownAt);
    return {
      at,
      unexpected: unexpected === undefined ? null : String.fromCodePoint(unexpected),
      endExpected: this.#endExpected,
      expected: this.#expected.flat(),
      rule: this.#rule,
    };
  }
}

/** Returns the length of the common start of two texts. */
export function commonStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

const endOfInput = ["end of input"] as const;
