/** Reads the texts of options that have a grammar: words and signs with white space between them.
 * @module */

/** The place and the kind of the first error of a text. */
export interface GrammarFailure {
  readonly kind: "problem";
  /** One-based. */
  readonly position: number;
  /** Completes "expected …". */
  readonly expected: string;
}

/** The text differs from the grammar at a position, from 0. */
export class GrammarProblem extends Error {
  readonly position: number;
  readonly expected: string;

  constructor(position: number, expected: string) {
    super(`expected ${expected}`);
    this.position = position;
    this.expected = expected;
  }
}

/** Returns what `read` returns, or the problem that it throws. */
export function problemOr<Reading>(read: () => Reading): Reading | GrammarFailure {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof GrammarProblem)) throw error;
    return { kind: "problem", position: error.position + 1, expected: error.expected };
  }
}

/** A text and the position in it. Productions throw a {@linkcode GrammarProblem}. */
export class GrammarReader {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  skipSpace(): void {
    this.at = this.startOf(this.at);
  }

  /** Returns the position of the first character from `position` that is not white space. */
  startOf(position: number): number {
    let at = position;
    while (at < this.text.length && /\s/.test(this.text[at]!)) at++;
    return at;
  }

  /** Reads what a sticky pattern matches. */
  match(pattern: RegExp, expected: string): string {
    this.skipSpace();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw this.problem(expected);
    this.at += found.length;
    return found;
  }

  takes(character: string): boolean {
    this.skipSpace();
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  take(character: string): void {
    if (!this.takes(character)) throw this.problem(`"${character}"`);
  }

  /** Reads a word that white space or the end of the text follows. */
  takesWord(word: string): boolean {
    this.skipSpace();
    const end = this.at + word.length;
    const isWord = this.text.slice(this.at, end) === word &&
      !/^[^\s]/.test(this.text.slice(end));
    if (isWord) this.at = end;
    return isWord;
  }

  problem(expected: string): GrammarProblem {
    this.skipSpace();
    return new GrammarProblem(this.at, expected);
  }
}
