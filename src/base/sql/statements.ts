/** Splits SQL text into statements, without parsing them. Strings follow
 * `standard_conforming_strings = on`. Source: PostgreSQL documentation, "Lexical Structure". @module */

/** A statement in a text; positions in UTF-16 units. */
export interface StatementRange {
  readonly start: number;
  readonly end: number;
}

/** A place in a text; both count from 1, columns in characters. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** Returns the statements of a text that have at least one token. Takes linear time. */
export function splitStatements(text: string): readonly StatementRange[] {
  const statements: StatementRange[] = [];
  const tracker = new StatementTracker();
  let start: number | null = null;
  let at = 0;
  while (at < text.length) {
    const token = readToken(text, at);
    if (token.kind === "separator" && !tracker.isNested) {
      if (start !== null) statements.push({ start, end: at });
      start = null;
      tracker.reset();
    } else if (token.kind !== "blank") {
      start ??= at;
      tracker.take(token.kind, text.slice(at, Math.min(token.end, at + longestWord)));
    }
    at = token.end;
  }
  if (start !== null) statements.push({ start, end: text.length });
  return statements;
}

/** Returns the place of a position in UTF-16 units. */
export function placeAt(text: string, position: number): TextPlace {
  const before = text.slice(0, position);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: [...before.slice(lineStart)].length + 1 };
}

/** Returns the place of a character. PostgreSQL numbers characters from 1. */
export function placeOfCharacter(text: string, number: number): TextPlace {
  return placeAt(text, [...text].slice(0, number - 1).join("").length);
}

/**
 * Returns the place of an error in a text as `line:column`, or the line of the failed statement if
 * PostgreSQL gives no position. `position` counts characters from 1. `completed` is the number of
 * statements before it.
 */
export function failurePlace(
  text: string,
  { position, completed }: { readonly position: number | null; readonly completed: number },
): string {
  if (position !== null) {
    const { line, column } = placeOfCharacter(text, position);
    return `${line}:${column}`;
  }
  const statements = splitStatements(text);
  const failed = statements[completed] ?? statements.at(-1);
  return String(placeAt(text, failed?.start ?? 0).line);
}

type TokenKind = "blank" | "separator" | "word" | "open" | "close" | "other";

interface Token {
  readonly kind: TokenKind;
  readonly end: number;
}

const token = (kind: TokenKind, end: number): Token => ({ kind, end });

const patterns = {
  blank: /[ \t\r\n\f\v]+|--[^\r\n]*/y,
  word: /[\p{L}_\u{80}-\u{10ffff}][\p{L}\p{N}_$\u{80}-\u{10ffff}]*/uy,
  number: /[0-9][0-9A-Za-z_]*/y,
  dollarQuote: /\$(?:[\p{L}_\u{80}-\u{10ffff}][\p{L}\p{N}_\u{80}-\u{10ffff}]*)?\$/uy,
} as const;

/** Maximum length of a word in the tracker, which looks for shorter keywords only. */
const longestWord = 16;

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

function readToken(text: string, at: number): Token {
  const blank = match(patterns.blank, text, at);
  if (blank > 0) return token("blank", at + blank);
  if (text.startsWith("/*", at)) return comment(text, at);
  const character = text[at]!;
  switch (character) {
    case ";":
      return token("separator", at + 1);
    case "(":
    case "[":
      return token("open", at + 1);
    case ")":
    case "]":
      return token("close", at + 1);
    case "'":
      return quoted(text, at, "'");
    case '"':
      return quoted(text, at, '"');
    case "$":
      return dollarQuoted(text, at);
    default:
      return wordOrOther(text, at);
  }
}

function wordOrOther(text: string, at: number): Token {
  if (/[Ee]/.test(text[at]!) && text[at + 1] === "'") return escapedString(text, at + 1);
  const word = match(patterns.word, text, at);
  if (word > 0) return token("word", at + word);
  const number = match(patterns.number, text, at);
  return token("other", at + Math.max(number, text.codePointAt(at)! > 0xffff ? 2 : 1));
}

/** Matches a comment, which may contain other comments. */
function comment(text: string, start: number): Token {
  const pattern = /\/\*|\*\//g;
  pattern.lastIndex = start;
  let depth = 0;
  for (let mark = pattern.exec(text); mark !== null; mark = pattern.exec(text)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return token("blank", pattern.lastIndex);
  }
  return token("blank", text.length);
}

/** Matches a quoted string. A doubled quote is read as a second string that follows directly. */
function quoted(text: string, start: number, quote: string): Token {
  const end = text.indexOf(quote, start + 1);
  return end < 0 ? token("other", text.length) : token("other", end + 1);
}

function escapedString(text: string, start: number): Token {
  const pattern = /\\[^]|''|'/g;
  pattern.lastIndex = start + 1;
  for (let mark = pattern.exec(text); mark !== null; mark = pattern.exec(text)) {
    if (mark[0] === "'") return token("other", pattern.lastIndex);
  }
  return token("other", text.length);
}

function dollarQuoted(text: string, start: number): Token {
  const length = match(patterns.dollarQuote, text, start);
  if (length === 0) return token("other", start + 1);
  const quote = text.slice(start, start + length);
  const end = text.indexOf(quote, start + length);
  return end < 0 ? token("other", text.length) : token("other", end + length);
}

/** Tracks whether a semicolon ends the statement. */
class StatementTracker {
  #parentheses = 0;
  /** Number of open `begin atomic` blocks, and `case` expressions in them. */
  #blocks = 0;
  readonly #words: string[] = [];
  #previous = "";

  get isNested(): boolean {
    return this.#parentheses > 0 || this.#blocks > 0;
  }

  reset(): void {
    this.#parentheses = 0;
    this.#blocks = 0;
    this.#words.length = 0;
    this.#previous = "";
  }

  take(kind: TokenKind, text: string): void {
    if (kind === "open") this.#parentheses++;
    else if (kind === "close") this.#parentheses = Math.max(0, this.#parentheses - 1);
    const word = kind === "word" ? text.toLowerCase() : "";
    if (word !== "" && this.#words.length < 4) this.#words.push(word);
    if (word === "atomic" && this.#previous === "begin" && this.#createsRoutine) this.#blocks++;
    else if (word === "case" && this.#blocks > 0) this.#blocks++;
    else if (word === "end" && this.#blocks > 0) this.#blocks--;
    this.#previous = word;
  }

  get #createsRoutine(): boolean {
    return /^create (or replace )?(function|procedure)\b/.test(this.#words.join(" "));
  }
}
