/** The file of operations: a line for each, with indented lines for headers. @module */
import type { BodyMember, BodyPattern, MembersPattern } from "./body_pattern.ts";

/** A request that roles may send, with `*` in place of values. */
export interface OperationLine {
  readonly name: string;
  readonly roles: readonly string[];
  readonly method: string;
  /** Path as written in the file. */
  readonly path: string;
  /** Query string as written in the file, without the question mark. */
  readonly query: string;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null if there is no body, or if it has no members. */
  readonly body: BodyPattern | null;
  /** Line of the file, from 1. */
  readonly line: number;
}

/** Headers that an operation may have, in the order of printing. */
export const headerNames: ReadonlyMap<string, string> = new Map([
  ...["Accept", "Accept-Profile", "Content-Profile", "Content-Type", "Prefer"],
].map((name) => [name.toLowerCase(), name]));

/**
 * Parses a file. Throws an `Error`: `3:17: expected …`, with line and column from 1.
 *
 * ```text
 * File    = *( Line *Header / Comment )
 * Line    = Name Role *( "," Role ) Method Target [ Body ]
 * Header  = Indentation Name ":" Value
 * Body    = [ "[]" ] Members / "*" / PatchDocument
 * Members = "{" [ Member *( "," Member ) ] "}"
 * Member  = Name [ [ "[]" ] Members ] [ "?" ] [ "=" Literal ]
 * ```
 */
export function parseOperations(text: string): readonly OperationLine[] {
  const operations: OperationLine[] = [];
  const names = new Set<string>();
  for (const [index, line] of text.replace(/^\uFEFF/, "").split(/\r\n?|\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const reader = new LineReader(line, index + 1);
    if (/^\s/.test(line)) {
      const last = operations.pop();
      if (last === undefined) return reader.fail("an operation before a header");
      const [name, value] = readHeader(reader);
      if (Object.hasOwn(last.headers, name)) reader.fail("each header once");
      operations.push({ ...last, headers: { ...last.headers, [name]: value } });
      continue;
    }
    const operation = readLine(reader);
    if (names.has(operation.name)) reader.fail("another name", 1);
    names.add(operation.name);
    operations.push(operation);
  }
  return operations;
}

/** Reads a line from left to right. */
class LineReader {
  #at = 0;

  constructor(readonly text: string, readonly line: number) {}

  get column(): number {
    return this.#at + 1;
  }

  fail(expected: string, column = this.column): never {
    throw new Error(`${this.line}:${column}: expected ${expected}`);
  }

  /** Returns the match of a sticky pattern at the current position, or null. */
  find(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.text)?.[0] ?? null;
    if (match !== null) this.#at += match.length;
    return match;
  }

  take(pattern: RegExp, expected: string): string {
    return this.find(pattern) ?? this.fail(expected);
  }

  /** Returns the JSON value that matches a pattern. */
  json(pattern: RegExp, expected: string): unknown {
    const { column } = this;
    const text = this.take(pattern, expected);
    try {
      return JSON.parse(text);
    } catch {
      return this.fail(expected, column);
    }
  }
}

const blanks = /[ \t]+/y;
const anyBlanks = /[ \t]*/y;
const quotedText = /"(?:[^"\\]|\\.)*"/y;

function readLine(reader: LineReader): OperationLine {
  const name = reader.take(/[A-Za-z_][\w.-]{0,127}(?=[ \t])/y, "a name of letters, digits and _");
  reader.take(blanks, "roles");
  const roles: string[] = [];
  do {
    reader.find(anyBlanks);
    roles.push(readName(reader, /[^\s,"]+/y, "a role"));
    reader.find(anyBlanks);
  } while (reader.find(/,/y) !== null);
  const method = reader.take(
    /(?:GET|POST|PATCH|PUT|DELETE|QUERY)(?=[ \t])/y,
    "GET, POST, PATCH, PUT, DELETE or QUERY",
  );
  reader.take(blanks, "a path");
  const { column } = reader;
  const path = reader.take(/\/[^\s?#]*/y, "a path");
  const query = reader.find(/\?[^\s#]*/y)?.slice(1) ?? "";
  const literal = /%2a/i.exec(query);
  if (literal !== null) {
    reader.fail("no %2A: * is any value", column + path.length + 1 + literal.index);
  }
  reader.find(anyBlanks);
  const body = reader.find(/(?=\S)/y) === null ? null : readBody(reader);
  reader.find(anyBlanks);
  reader.take(/$/y, "the end of the line");
  return { name, roles, method, path, query, headers: {}, body, line: reader.line };
}

/** Reads a plain name, or a JSON string. */
function readName(reader: LineReader, plain: RegExp, expected: string): string {
  return reader.find(plain) ?? String(reader.json(quotedText, expected));
}

function readHeader(reader: LineReader): readonly [name: string, value: string] {
  reader.take(blanks, "a header");
  const column = reader.column;
  const name = reader.take(/[\w-]+/y, "a header").toLowerCase();
  if (!headerNames.has(name)) {
    const names = Array.from(headerNames.values()).join(", ");
    reader.fail(`one of ${names}`, column);
  }
  reader.take(/:[ \t]*/y, "a colon");
  return [name, reader.take(/[\x20-\x7e]+/y, "a value of ASCII characters").trimEnd()];
}

function readBody(reader: LineReader): BodyPattern {
  if (reader.find(/\*/y) !== null) return { kind: "value" };
  if (reader.find(/(?=\[(?!\]\{))/y) === null) return readMembers(reader);
  const steps = reader.json(/\[.*/y, "the operations of a patch document");
  return { kind: "patch", steps: JSON.stringify(steps) };
}

function readMembers(reader: LineReader): MembersPattern {
  const isList = reader.find(/\[\]/y) !== null;
  reader.take(/\{[ \t]*/y, "a body in braces");
  const members: BodyMember[] = [];
  if (reader.find(/\}/y) !== null) return { kind: "members", isList, members };
  do {
    const { column } = reader;
    const member = readMember(reader);
    const isRepeated = members.some(({ name }) => name === member.name);
    if (isRepeated) reader.fail("each member once", column);
    members.push(member);
  } while (reader.find(/[ \t]*,[ \t]*/y) !== null);
  reader.take(/[ \t]*\}/y, "a comma or a closing brace");
  return { kind: "members", isList, members };
}

function readMember(reader: LineReader): BodyMember {
  const name = readName(reader, /[^\s,{}[\]?=:"#]+/y, "a member");
  const inner = reader.find(/(?=\[|\{)/y) === null ? null : readMembers(reader);
  const isOptional = reader.find(/\?/y) !== null;
  const literal = inner !== null || reader.find(/=/y) === null ? null : JSON.stringify(
    reader.json(
      /"(?:[^"\\]|\\.)*"|true|false|null|-?(?:0|[1-9][0-9]{0,14})(?![\d.eE])/y,
      "a JSON string, true, false, null or an integer",
    ),
  );
  return { name, isOptional, literal, inner };
}

/** Returns the lines of an operation. */
export function operationText(
  { name, roles, method, path, query, headers, body }: OperationLine,
): string {
  const first = [
    name,
    roles.map((role) => nameText(role, /^[^\s,"]+$/)).join(","),
    method,
    path + (query === "" ? "" : `?${query}`),
    ...body === null ? [] : [bodyText(body)],
  ];
  const lines = Object.entries(headers).map(([key, value]) =>
    `    ${headerNames.get(key) ?? key}: ${value}`
  );
  return [first.join("  "), ...lines].map((line) => `${line}\n`).join("");
}

function nameText(name: string, plain: RegExp): string {
  return plain.test(name) ? name : JSON.stringify(name);
}

function bodyText(pattern: BodyPattern): string {
  if (pattern.kind !== "members") return pattern.kind === "value" ? "*" : pattern.steps;
  const members = pattern.members.map(({ name, isOptional, literal, inner }) =>
    nameText(name, /^[^\s,{}[\]?=:"#]+$/) + (inner === null ? "" : bodyText(inner)) +
    (isOptional ? "?" : "") + (literal === null ? "" : `=${literal}`)
  );
  return `${pattern.isList ? "[]" : ""}{${members.join(", ")}}`;
}
