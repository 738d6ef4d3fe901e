/**
 * Finds the lines of statements in an SQL text, for errors without a position.
 *
 * @module
 */

/**
 * Tokens that may contain a semicolon: strings, quoted names, dollar quotes and comments. Block comments
 * are matched without nesting.
 */
const tokens =
  /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[A-Za-z_\x80-\uffff][\w\x80-\uffff]*)?\$)[\s\S]*?\1|--[^\r\n]*|\/\*[\s\S]*?\*\/|;/g;

/** Returns the line, from 1, on which each statement begins. */
export function statementLines(text: string): readonly number[] {
  const ends = Array.from(text.matchAll(tokens)).filter(([token]) => token === ";")
    .map(({ index }) => index + 1);
  const starts = [0, ...ends];
  return starts.flatMap((start, at) => {
    const body = text.slice(start, ends[at] ?? text.length);
    const offset = firstToken(body);
    return offset === null ? [] : [lineAt(text, start + offset)];
  });
}

/** Returns the line and the column, from 1, of a position in characters from 1. */
export function placeAt(text: string, position: number): readonly [line: number, column: number] {
  const before = Array.from(text).slice(0, position - 1).join("");
  return [lineAt(text, before.length), before.length - before.lastIndexOf("\n")];
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** Returns the offset behind white space and comments; null if nothing follows. */
function firstToken(body: string): number | null {
  const skipped = /^(?:\s|--[^\r\n]*|\/\*[\s\S]*?\*\/)*/.exec(body)![0].length;
  return skipped === body.length ? null : skipped;
}
