/**
 * A position in one parameter of the query string, and the one place that remembers where a text
 * stopped fitting at the farthest and what would have fitted there.
 *
 * A production is a function that takes a scanner, moves it behind what it read and returns what it
 * read. It returns `undefined` when the text does not fit; the scanner then knows why.
 *
 * @module
 */

import { errors } from "../../errors/catalogue.ts";

/** A production of a grammar. */
export type Production<T> = (scanner: Scanner) => T | undefined;

/** Why a text did not fit. */
export interface ParseFailure {
  /** Where the text stopped fitting, in UTF-16 units. */
  readonly at: number;
  /** The character that did not fit; null at the end of the text. */
  readonly unexpected: string | null;
  /** Whether the text was complete there, so that its end was expected as well. */
  readonly endExpected: boolean;
  /** Labels of the expected tokens in the order of the attempts; with repetitions. */
  readonly expected: readonly string[];
  /** A rule that was broken although the text fitted. */
  readonly rule: string | null;
}

/**
 * How deep parentheses may nest. The stages that follow walk the result by recursion; the memory that
 * PostgreSQL plans embeds with grows with the square of their depth.
 */
export const maxNesting = { logic: 500, select: 50 } as const;

/** Most parts of a kind in a request: conditions, items of `select`, terms of `order` … */
export const maxParts = 10_000;

export class Scanner {
  readonly text: string;
  /** Index of the next character. */
  position: number;
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

  /** Counts a part of the list that the text is, in all of its levels. Throws `177` behind the last allowed one. */
  countPart(kind: string): void {
    if (++this.#parts > maxParts) throw errors.queryTooComplex(maxParts, kind);
  }

  /** Counts a step into a JSON value. Throws `177` behind the last allowed one. */
  countJsonStep(): void {
    if (++this.#jsonSteps > maxParts) throw errors.queryTooComplex(maxParts, "steps into JSON");
  }

  /** The next character as a UTF-16 unit; NaN at the end. */
  get code(): number {
    return this.text.charCodeAt(this.position);
  }

  get atEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** Whether the text continues with a literal. */
  sees(literal: string): boolean {
    return this.text.startsWith(literal, this.position);
  }

  /** Moves behind a literal if the text continues with it. */
  skip(literal: string): boolean {
    if (!this.sees(literal)) return false;
    this.position += literal.length;
    return true;
  }

  /** Moves behind spaces and tabs. */
  skipBlanks(): void {
    let code = this.code;
    while (code === 0x20 || code === 0x09) {
      this.position++;
      code = this.code;
    }
  }

  /** Moves behind a literal, or notes that one of `labels` was expected. */
  take(literal: string, labels: readonly string[]): boolean {
    if (this.skip(literal)) return true;
    this.expect(labels, this.#mismatch(literal));
    return false;
  }

  /** Moves behind the first of `words` that the text continues with, or notes that one was expected. */
  takeWord<Word extends string>(words: readonly Word[], labels: readonly string[]) {
    for (const word of words) if (this.skip(word)) return word;
    this.expect(labels, this.#mismatch(words[0] ?? ""));
    return undefined;
  }

  /** Position at which the text departs from an expected literal. */
  #mismatch(literal: string): number {
    let length = 0;
    while (this.text[this.position + length] === literal[length] && length < literal.length) {
      length++;
    }
    return this.position + length;
  }

  /** Notes what would have fitted here, and which character did not. */
  expect(labels: readonly string[], unexpectedAt = this.position): void {
    if (this.#silent || this.position < this.#farthest) return;
    if (this.position > this.#farthest) {
      this.forget();
      this.#farthest = this.position;
      this.#unexpectedAt = unexpectedAt;
    }
    this.#expected.push(labels);
  }

  /** Notes that the text could have ended here, or continued with one of `labels`. */
  expectEnd(labels: readonly string[]): void {
    this.expect(labels);
    this.expect(endOfInput);
    if (!this.#silent && this.position === this.#farthest) this.#endExpected = true;
  }

  /** Forgets what was noted, for when another reading of the text explains more. */
  forget(): void {
    this.#farthest = -1;
    this.#endExpected = false;
    this.#expected.length = 0;
  }

  /** Notes that the text matches but is rejected here. */
  refuse(rule: string): undefined {
    if (this.#silent) return;
    this.#rule = rule;
    this.#farthest = this.position;
  }

  /** Reads by a production. If it does not match, restores the position and drops its notes. */
  attempt<T>(production: Production<T>): T | undefined {
    const { position } = this;
    const silent = this.#silent;
    this.#silent = true;
    const read = production(this);
    this.#silent = silent;
    if (read === undefined) this.position = position;
    return read;
  }

  /** Reads by a production one level deeper; refused beyond {@linkcode maxNesting}. */
  nested<T>(kind: keyof typeof maxNesting, production: Production<T>): T | undefined {
    if (this.#nesting >= maxNesting[kind]) {
      return this.refuse(`parentheses nest deeper than ${maxNesting[kind]} levels`);
    }
    this.#nesting++;
    const read = production(this);
    this.#nesting--;
    return read;
  }

  /** Whether the scanner is inside of parentheses. */
  get isNested(): boolean {
    return this.#nesting > 0;
  }

  /** Why the text did not fit; for when a production returned undefined. */
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

const endOfInput = ["end of input"] as const;
