/**
 * Reads the serialised parse trees of view rules (`pg_rewrite.ev_action`, of type `pg_node_tree`).
 * It finds the relation and column that each view column shows.
 *
 * PostgreSQL's `outfuncs.c` writes the text: nodes `{TYPE :field value …}`, lists `( … )`, null
 * `<>`. A backslash escapes special characters in names. Sub-selects and common table expressions
 * have target lists of their own. The reader therefore follows the brackets, reads the fields of
 * the outermost query only, and skips the rest without recursion.
 *
 * @module
 */

/** A view column that shows a column of a relation unchanged. */
export interface TargetColumn {
  /** Attribute number of the view column. Junk entries have numbers beyond the view's columns. */
  readonly position: number;
  /** Oid of the relation that the query names, which may be a view. */
  readonly relation: number;
  readonly column: number;
}

/**
 * Returns the plain columns of each view, by the view's oid. A rule that the reader cannot parse
 * has no columns.
 *
 * `Rules = *( oid SP "(" Query ")" SP )`
 */
export function readViewRules(text: string): ReadonlyMap<number, readonly TargetColumn[]> {
  const views = new Map<number, readonly TargetColumn[]>();
  let position = skipSpaces(text, 0);
  while (position < text.length) {
    const oidEnd = atomEnd(text, position);
    const columns: TargetColumn[] = [];
    const end = eachItem(
      text,
      skipSpaces(text, oidEnd),
      (start) => readQuery(text, start, columns),
    );
    views.set(Number(text.slice(position, oidEnd)), columns);
    if (end <= position) break;
    position = skipSpaces(text, end);
  }
  return views;
}

/** `Query = "{QUERY" *( SP Field ) "}"`; returns the position after it. */
function readQuery(text: string, start: number, columns: TargetColumn[]): number {
  return eachField(
    text,
    start,
    (label, value) =>
      text.startsWith(":targetList ", label)
        ? eachItem(text, value, (item) => readTargetEntry(text, item, columns))
        : valueEnd(text, value),
  );
}

/** `TargetEntry = "{TARGETENTRY" *( SP Field ) "}"`; returns the position after it. */
function readTargetEntry(text: string, start: number, columns: TargetColumn[]): number {
  let position = 0;
  let relation = 0;
  let column = 0;
  const end = eachField(text, start, (label, value) => {
    const end = valueEnd(text, value);
    if (text.startsWith(":resno ", label)) position = Number(text.slice(value, end));
    else if (text.startsWith(":resorigtbl ", label)) relation = Number(text.slice(value, end));
    else if (text.startsWith(":resorigcol ", label)) column = Number(text.slice(value, end));
    return end;
  });
  if (relation > 0 && column > 0) columns.push({ position, relation, column });
  return end;
}

/** Returns the position after a list. `read` returns that after its item. */
function eachItem(text: string, start: number, read: (item: number) => number): number {
  if (text.charCodeAt(start) !== openParenthesis) return valueEnd(text, start);
  let position = skipSpaces(text, start + 1);
  while (position < text.length && !isClosing(text.charCodeAt(position))) {
    position = skipSpaces(text, read(position));
  }
  return position + 1;
}

/**
 * Reads the fields of a node and returns the position after the node. `read` receives the positions
 * of a field's label (at its colon) and of its value, and returns the position after the value.
 * Further atoms before the next label are skipped. Labels and values alternate, so a column name
 * that looks like a label is read as a value.
 */
function eachField(
  text: string,
  start: number,
  read: (label: number, value: number) => number,
): number {
  if (text.charCodeAt(start) !== openBrace) return valueEnd(text, start);
  let position = skipSpaces(text, atomEnd(text, start + 1));
  while (position < text.length && !isClosing(text.charCodeAt(position))) {
    const value = skipSpaces(text, valueEnd(text, position));
    position = text.charCodeAt(position) === colon
      ? skipSpaces(text, read(position, value))
      : value;
  }
  return position + 1;
}

/** `Value = Node / List / atom`; returns the position after it. */
function valueEnd(text: string, start: number): number {
  return isOpening(text.charCodeAt(start)) ? groupEnd(text, start) : atomEnd(text, start);
}

/** Returns the position after the node or list that starts here. */
function groupEnd(text: string, start: number): number {
  let depth = 0;
  for (let position = start; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (code === backslash) position++;
    else if (isOpening(code)) depth++;
    else if (isClosing(code) && --depth === 0) return position + 1;
  }
  return text.length;
}

/** Returns the position after the characters up to white space or a bracket. */
function atomEnd(text: string, start: number): number {
  let position = start;
  for (; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (code === backslash) position++;
    else if (isSpace(code) || isOpening(code) || isClosing(code)) return position;
  }
  return text.length;
}

function skipSpaces(text: string, start: number): number {
  let position = start;
  while (isSpace(text.charCodeAt(position))) position++;
  return position;
}

const backslash = 0x5c;
const colon = 0x3a;
const openParenthesis = 0x28;
const closeParenthesis = 0x29;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function isOpening(code: number): boolean {
  return code === openBrace || code === openParenthesis;
}

function isClosing(code: number): boolean {
  return code === closeBrace || code === closeParenthesis;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x09;
}
