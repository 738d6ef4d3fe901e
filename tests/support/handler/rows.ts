/** Rows of suites as texts. @module */
import type { RequestParts } from "./request.ts";

/**
 * One request and its whole answer. The body is compared as JSON where the `Content-Type` says JSON,
 * else as text; `undefined` is a body without any byte. A header that must be absent is `null`.
 */
export type Row = readonly [
  line: string,
  parts: RequestParts,
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string | null>>,
];

/** The body of an error. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details: string | null;
  readonly hint: string | null;
}

/**
 * Reads rows of requests with the same parts. `request | answer` is a row of one line. Behind the request
 * stand its headers as `{Name: value}`, `as <role>`, and its body as `with <json>`. A longer row has, in
 * lines of their own, the request, more of its headers as `Name: value`, role or body, the answer, and
 * headers of the answer, of which `no <name>` must be absent. An answer is `status`, `status json`, or
 * `status code | message | details | hint`. A line that begins with `+` continues the one before.
 */
export function answers(
  parts: RequestParts = {},
): (table: TemplateStringsArray) => readonly Row[] {
  return (table) => blocksOf(table).map((text) => readRow(text, parts));
}

/** Reads the rows of a text, each of which begins with its request. */
export function blocksOf(table: TemplateStringsArray): readonly string[] {
  return linesOf(table).join("\n").split(/\n(?=[A-Z]+ \/)/);
}

/** Reads the lines of a text without its comments. A line that begins with `+` continues the one before. */
export function linesOf({ raw }: TemplateStringsArray): readonly string[] {
  const lines = raw[0]!.trim().split("\n").map((line) => line.trim());
  return lines.filter((line) => !line.startsWith("//")).join("\n").replaceAll("\n+", "").split(
    "\n",
  );
}

/** Reads a request of one line: `GET /path {Name: value} as <role> with <json>`. */
export function readRequest(text: string): readonly [line: string, parts: RequestParts] {
  const [line = "", ...own] = partsOf(text);
  return [line, readParts(own)];
}

function partsOf(text: string): readonly string[] {
  return text.split(/ (?=\{[A-Z][\w-]*: |as \w+(?: with |$)|with ["[{])/);
}

/** Reads `as <role>`, `with <json>` and headers, with and without braces. */
function readParts(
  texts: readonly string[],
  { headers, ...parts }: RequestParts = {},
): RequestParts {
  const body = texts.find((text) => text.startsWith("with "));
  const role = texts.find((text) => text.startsWith("as "));
  const own = headersOf(
    texts.filter((text) => text !== body && text !== role)
      .map((text) => text.replace(/^\{(.*)\}$/, "$1")),
  );
  const all = { ...headers, ...own as Readonly<Record<string, string>> };
  return {
    ...parts,
    ...(headers === undefined && Object.keys(own).length === 0 ? {} : { headers: all }),
    ...(role === undefined ? {} : { as: role.slice(3) }),
    ...(body === undefined ? {} : { body: JSON.parse(body.slice(5)) }),
  };
}

/** Reads a row: {@linkcode answers}. */
export function readRow(text: string, parts: RequestParts = {}): Row {
  const [first = "", ...rest] = text.includes("\n") ? text.split("\n") : text.split(/ \| (.*)/, 2);
  const [line = "", ...own] = partsOf(first);
  const at = rest.findIndex((one) => /^\d{3}\b/.test(one));
  const request = readParts([...own, ...rest.slice(0, at)], parts);
  return [line, request, ...answer(rest[at]!), headersOf(rest.slice(at + 1))];
}

/** Reads `status`, `status json` or `status code | message | details | hint`. */
export function answer(text: string): readonly [status: number, body: unknown] {
  const [, status, rest = ""] = /^(\d{3}) ?(.*)$/.exec(text)!;
  if (/^\w+ \| /.test(rest)) return [Number(status), errorBody(rest)];
  return [Number(status), rest === "" ? undefined : JSON.parse(rest)];
}

/** Reads the body of an error: `code | message | details | hint`. */
export function errorBody(text: string): ErrorBody {
  const [code = "", message = "", details, hint] = text.split(" | ");
  return { code, message, details: details || null, hint: hint || null };
}

function headersOf(lines: readonly string[]): Readonly<Record<string, string | null>> {
  return Object.fromEntries(lines.map((line) => {
    const [, absent, name, value] = /^(?:no (\S+)|([^:]+): (.*))$/.exec(line)!;
    return absent === undefined ? [name!, value!] : [absent, null];
  }));
}
