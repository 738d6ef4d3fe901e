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
 * Reads rows of requests with the same parts. `request | answer` is a row of one line. A longer row has,
 * in lines of their own, the request, its headers, its body as `with <json>`, the answer, and headers of
 * the answer, of which `no <name>` must be absent. An answer is `status`, `status json`, or
 * `status code | message | details | hint`. A line that begins with `+` continues the one before.
 */
export function answers(
  parts: RequestParts = {},
): (table: TemplateStringsArray) => readonly Row[] {
  return ({ raw }) => {
    const lines = raw[0]!.trim().split("\n").map((line) => line.trim())
      .filter((line) => !line.startsWith("//")).join("\n").replaceAll("\n+", "");
    return lines.split(/\n(?=[A-Z]+ \/)/).map((text) => readRow(text, parts));
  };
}

function readRow(text: string, parts: RequestParts): Row {
  const [line = "", ...rest] = text.includes("\n") ? text.split("\n") : text.split(/ \| (.*)/, 2);
  const at = rest.findIndex((one) => /^\d{3}\b/.test(one));
  const body = rest.slice(0, at).find((one) => one.startsWith("with "));
  const role = rest.slice(0, at).find((one) => one.startsWith("as "));
  const lines = rest.slice(0, at).filter((one) => one !== body && one !== role);
  const headers = headersOf(lines) as Readonly<Record<string, string>>;
  const request: RequestParts = {
    ...parts,
    ...(lines.length === 0 ? {} : { headers: { ...parts.headers, ...headers } }),
    ...(role === undefined ? {} : { as: role.slice(3) }),
    ...(body === undefined ? {} : { body: JSON.parse(body.slice(5)) }),
  };
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
