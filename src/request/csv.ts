/**
 * CSV bodies (RFC 4180): a line of names, then lines of values.
 *
 * @module
 */

/** Lines of fields, without blank lines; the text that cannot be read makes a problem. */
export type CsvLines =
  | { readonly kind: "lines"; readonly lines: readonly (readonly string[])[] }
  | { readonly kind: "problem"; readonly message: string };

const quote = 0x22;
const comma = 0x2c;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** A field, where it ended, and what went wrong instead. */
type FieldRead =
  | { readonly text: string; readonly end: number }
  | { readonly problem: string };

/**
 * Divides a text into lines and fields. A field in quotes may hold commas, line breaks and, doubled,
 * quotes; no other field may hold a quote. The first line must end in a line break.
 */
export function readCsv(text: string): CsvLines {
  const lines: string[][] = [];
  let line: string[] = [];
  let at = 0;
  while (at < text.length) {
    const blankEnd = line.length === 0 ? skipLineBreak(text, at) : at;
    if (blankEnd > at) {
      at = blankEnd;
      continue;
    }
    const field = readField(text, at);
    if ("problem" in field) return problem(field.problem, lines.length);
    line.push(field.text);
    at = field.end;
    if (text.charCodeAt(at) === comma) {
      at++;
      if (at < text.length) continue;
      line.push("");
    }
    if (at === text.length && lines.length === 0) return problem("no line break", 0);
    lines.push(line);
    line = [];
    at = skipLineBreak(text, at);
  }
  return lines.length === 0 ? problem("no names", 0) : { kind: "lines", lines };
}

function problem(what: string, lines: number): CsvLines {
  return { kind: "problem", message: `parse error (${what}) at line ${lines + 1} of the CSV body` };
}

/** LF, CRLF or CR. */
function skipLineBreak(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === lineFeed) return at + 1;
  if (code !== carriageReturn) return at;
  return text.charCodeAt(at + 1) === lineFeed ? at + 2 : at + 1;
}

function readField(text: string, start: number): FieldRead {
  if (text.charCodeAt(start) === quote) return readQuoted(text, start);
  let end = start;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === comma || code === lineFeed || code === carriageReturn) break;
    if (code === quote) return { problem: "quote in a field without quotes" };
  }
  return { text: text.slice(start, end), end };
}

function readQuoted(text: string, start: number): FieldRead {
  const pieces: string[] = [];
  let from = start + 1;
  for (;;) {
    const end = text.indexOf('"', from);
    if (end < 0) return { problem: "quote not closed" };
    pieces.push(text.slice(from, end));
    if (text.charCodeAt(end + 1) !== quote) return endQuoted(text, pieces.join('"'), end + 1);
    from = end + 2;
  }
}

function endQuoted(text: string, field: string, end: number): FieldRead {
  const code = text.charCodeAt(end);
  const ends = end === text.length || code === comma || code === lineFeed ||
    code === carriageReturn;
  return ends ? { text: field, end } : { problem: "text after a closing quote" };
}

/** Rows for PostgreSQL's JSON functions. */
export interface CsvRows {
  /** A JSON array of objects, whose values are strings or null. */
  readonly json: string;
  /** Names that the rows have, sorted. */
  readonly keys: readonly string[];
}

/**
 * Writes lines below a line of names as JSON; the field `NULL` is null. Fields beyond the names are
 * dropped, and names without a field left out; of a name that stands twice the last counts. Null
 * when lines come out with different names.
 */
export function csvRows([header = [], ...lines]: readonly (readonly string[])[]): CsvRows | null {
  const widths = lines.map((line) => Math.min(line.length, header.length));
  const distinct = distinctNames(header);
  const first = widths[0] ?? 0;
  if (widths.some((width) => distinct[width] !== distinct[first])) return null;
  const names = header.map((name) => `${JSON.stringify(name)}:`);
  const repeated = distinct[header.length] !== header.length;
  const rows = lines.map((line, row) => {
    const members = line.slice(0, widths[row]).map((field, index) => names[index] + member(field));
    return `{${(repeated ? lastOfName(members, header) : members).join(",")}}`;
  });
  return { json: `[${rows.join(",")}]`, keys: [...new Set(header.slice(0, first))].sort() };
}

/** How many different names the first 0, 1, 2, … names are. */
function distinctNames(header: readonly string[]): readonly number[] {
  const seen = new Set<string>();
  return [0, ...header.map((name) => seen.add(name).size)];
}

function lastOfName(members: readonly string[], header: readonly string[]): readonly string[] {
  return [...new Map(members.map((text, index) => [header[index], text])).values()];
}

function member(field: string): string {
  return field === "NULL" ? "null" : JSON.stringify(field);
}
