/** Names, JSON paths and fields in the query string. @module */
import type { Scanner } from "./scanner.ts";
import { readText } from "./read_text.ts";
import type { Field, PathStep } from "./value_types.ts";

const space = 0x20;
const quote = 0x22;
const dash = 0x2d;
const dot = 0x2e;
const greater = 0x3e;
const backslash = 0x5c;

const fieldName = ["field name (* or [a..z0..9_$])"] as const;
const letterOrDigit = ["letter", "digit"] as const;
const moreOfName = ["letter", "digit", '"-"'] as const;
const afterDash = ['">"', "letter", "digit"] as const;
const quotedPart = ['"\\\\"', '"\\""'] as const;
const arrows = ['"->>"', '"->"'] as const;
const keyLabel = "any non reserved character different from: .,>()";
const operandStart = ['"-"', "digit", keyLabel] as const;
const moreOfKey = ['"-"'] as const;
const keyAfterDash = ['">"', keyLabel] as const;
const digit = ["digit"] as const;
const afterIndex = ["digit", '"->"', '"::"', '"."', '","'] as const;

/** Tokens between the segments of a path, and before an operator. */
export const delimiter = ["delimiter (.)"] as const;

/** `name = quoted / dashed`, after any blanks. */
export function name(scanner: Scanner): string {
  scanner.skipBlanks();
  return scanner.code === quote ? quoted(scanner) : dashed(scanner);
}

export function seesName(scanner: Scanner): boolean {
  return scanner.code === quote || nameUnits(scanner.text, scanner.position) > 0;
}

/** `quoted = DQUOTE *( any character but DQUOTE and "\" / "\" any character ) DQUOTE` */
export function quoted(scanner: Scanner): string {
  const { text } = scanner;
  let read = "";
  let from = scanner.position + 1;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      scanner.position = at + 1;
      return read + text.slice(from, at);
    }
    if (code === backslash) {
      read += text.slice(from, at);
      from = ++at;
    }
  }
  scanner.position = text.length;
  return scanner.fail(from > text.length - 1 && text.endsWith("\\") ? [] : quotedPart);
}

/** `dashed = ident *( "-" ident )`, where no `>` follows the dash. */
function dashed(scanner: Scanner): string {
  let read = ident(scanner) ?? scanner.fail(fieldName);
  while (seesDash(scanner)) {
    scanner.position++;
    read += `-${ident(scanner) ?? scanner.fail(afterDash)}`;
  }
  scanner.expect(moreOfName);
  return read;
}

/** `ident = 1*( Unicode letter / DIGIT / "_" / "$" / " " )`, trimmed; undefined if it is blank. */
export function ident(scanner: Scanner): string | undefined {
  const { text } = scanner;
  let start = scanner.position;
  let at = start;
  for (let units = nameUnits(text, at); units > 0; units = nameUnits(text, at)) at += units;
  scanner.position = at;
  while (start < at && text.charCodeAt(start) === space) start++;
  let end = at;
  while (end > start && text.charCodeAt(end - 1) === space) end--;
  return end === start ? undefined : text.slice(start, end);
}

/** `cast = ident`: the name of a type, which becomes part of the SQL. */
export function cast(scanner: Scanner): string {
  const read = ident(scanner);
  scanner.expect(letterOrDigit);
  return read ?? scanner.fail();
}

/** Returns the number of UTF-16 units of the next name character; 0 if the next character cannot be
 * part of a name. */
function nameUnits(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0x80) {
    return code > 0x60 && code < 0x7b || code > 0x40 && code < 0x5b || code > 0x2f && code < 0x3a ||
        code === 0x5f || code === space || code === 0x24
      ? 1
      : 0;
  }
  const point = text.codePointAt(at);
  if (point === undefined || !/\p{L}/u.test(String.fromCodePoint(point))) return 0;
  return point > 0xffff ? 2 : 1;
}

function seesDash({ code, text, position }: Scanner): boolean {
  return code === dash && text.charCodeAt(position + 1) !== greater;
}

/** `field = name path`, with blanks around it. */
export function field(scanner: Scanner): Field {
  return fieldFrom(scanner, name(scanner));
}

/** Parses the rest of a field, after its name. */
export function fieldFrom(scanner: Scanner, name: string): Field {
  const steps = path(scanner);
  scanner.skipBlanks();
  return { name, path: steps };
}

const noPath: readonly PathStep[] = [];

/** `path = *( ( "->>" / "->" ) operand )` */
function path(scanner: Scanner): readonly PathStep[] {
  let steps: PathStep[] | null = null;
  while (scanner.code === dash && scanner.sees("->")) {
    scanner.position += 2;
    const arrow = scanner.skip(">") ? "->>" : "->";
    const read = operand(scanner);
    scanner.countJsonStep();
    (steps ??= []).push({ arrow, operand: read });
  }
  scanner.expect(arrows);
  return steps ?? noPath;
}

/** `operand = index / key`; after a minus sign, only an index is possible. */
function operand(scanner: Scanner): PathStep["operand"] {
  const start = scanner.position;
  const negative = scanner.skip("-");
  const digits = countDigits(scanner.text, scanner.position);
  scanner.position += digits;
  if (digits > 0 && endsIndex(scanner)) {
    return { kind: "index", index: scanner.text.slice(start, scanner.position) };
  }
  if (negative) return digits > 0 ? scanner.failAtEnd(afterIndex) : scanner.fail(digit);
  scanner.position = start;
  return { kind: "key", key: key(scanner) };
}

function countDigits(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at++;
  return at - start;
}

/** Returns whether the next text ends an index: `->`, `::`, `.`, `,`, `)` or the end. */
function endsIndex(scanner: Scanner): boolean {
  return scanner.atEnd || scanner.code === dot || scanner.sees(",") || scanner.sees(")") ||
    scanner.sees("->") || scanner.sees("::");
}

/** `key = quoted / piece *( "-" piece )`, where no `>` follows the dash. */
function key(scanner: Scanner): string {
  if (scanner.code === quote) return quoted(scanner);
  let read = keyPiece(scanner) ?? scanner.fail(operandStart);
  while (seesDash(scanner)) {
    scanner.position++;
    read += `-${keyPiece(scanner) ?? scanner.fail(keyAfterDash)}`;
  }
  scanner.expect(moreOfKey);
  return read;
}

/** `piece = 1*( any character but "(" "-" ":" "." "," ">" ")" )`, trimmed. */
function keyPiece(scanner: Scanner): string | undefined {
  const { text, position } = scanner;
  let at = position;
  while (at < text.length && !"(-:.,>)".includes(text.charAt(at))) at++;
  scanner.position = at;
  return at === position ? undefined : text.slice(position, at).trim();
}

/** A field at a level. The names before it lead to the level. */
export interface TreePath {
  readonly path: readonly string[];
  readonly field: Field;
}

export const root: readonly string[] = [];

/** `name-path = names path`; the caller checks the text after it. */
export function treePath(scanner: Scanner): TreePath {
  const segments = names(scanner);
  const last = segments.length - 1;
  const field = fieldFrom(scanner, segments[last] ?? "");
  return { path: last === 0 ? root : segments.slice(0, last), field };
}

/** `names = name *( "." name )` */
function names(scanner: Scanner): readonly string[] {
  const segments: string[] = [];
  do segments.push(name(scanner)); while (scanner.code === dot && scanner.skip("."));
  return segments;
}

/** `names` and nothing else. */
export function wholeNames(scanner: Scanner): readonly string[] {
  const segments = names(scanner);
  scanner.takeEnd(delimiter);
  return segments;
}

/** Returns the level of a parameter, from all segments but the last. Throws `100`. */
export function levelOf(name: string): readonly string[] {
  if (!name.includes(".")) return root;
  return readText({ what: "tree path", raw: name }, wholeNames).slice(0, -1);
}

/** Returns a text that identifies a level; empty for the root. Names contain no NUL. */
export function levelKey(path: readonly string[]): string {
  return path.map((name) => `${name}\0`).join("");
}
