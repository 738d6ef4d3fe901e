/**
 * Finds values in JSON text by their positions, so that they can be passed on as they were sent: a number
 * keeps its digits, an object the order of its members.
 *
 * The text must be valid: these functions check nothing.
 *
 * @module
 */

/** A part of a text; positions in UTF-16 units. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Returns the values of an object's members by name. Of members with one name the last one counts. */
export function rawMembers(text: string, { start }: TextRange): ReadonlyMap<string, TextRange> {
  const members = new Map<string, TextRange>();
  let at = next(text, start + 1);
  while (text[at] === '"') {
    const nameEnd = endOfString(text, at);
    const name: string = JSON.parse(text.slice(at, nameEnd));
    const range = valueAt(text, next(text, next(text, nameEnd) + 1));
    members.set(name, range);
    at = next(text, range.end);
    if (text[at] === ",") at = next(text, at + 1);
  }
  return members;
}

/** Returns the values of an array. */
export function rawElements(text: string, { start }: TextRange): readonly TextRange[] {
  const elements: TextRange[] = [];
  let at = next(text, start + 1);
  while (text[at] !== "]") {
    const range = valueAt(text, at);
    elements.push(range);
    at = next(text, range.end);
    if (text[at] === ",") at = next(text, at + 1);
  }
  return elements;
}

/** Returns the value that a text consists of. */
export function rawValue(text: string): TextRange {
  return valueAt(text, next(text, 0));
}

/** Returns the position of the next character that is not white space. */
function next(text: string, at: number): number {
  while (blanks.has(text.charCodeAt(at))) at++;
  return at;
}

const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

function valueAt(text: string, start: number): TextRange {
  const first = text[start];
  if (first === '"') return { start, end: endOfString(text, start) };
  if (first === "{" || first === "[") return { start, end: endOfContainer(text, start) };
  endOfScalar.lastIndex = start;
  return { start, end: endOfScalar.exec(text)?.index ?? text.length };
}

const endOfScalar = /[,\]}\s]/g;

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function endOfContainer(text: string, start: number): number {
  let depth = 0;
  structural.lastIndex = start;
  for (;;) {
    const { 0: character, index } = structural.exec(text)!;
    if (character === '"') structural.lastIndex = endOfString(text, index);
    else if (character === "{" || character === "[") depth++;
    else if (--depth === 0) return index + 1;
  }
}

const structural = /["[\]{}]/g;
