/** Parses files of policy tests: fixtures, callers and cases between lines of `===`. @module */
import { parseJsonObject } from "../lib/json_object.ts";
import { type Expectation, parseExpectation } from "./expectation.ts";

/** A request as a case states it. */
export interface CaseRequest {
  readonly method: string;
  /** Path and query string. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** One line of a file. */
export interface PolicyCase extends CaseRequest {
  /** Counts from 1. */
  readonly line: number;
  /** Name of a caller, or `anonymous`. */
  readonly caller: string;
  /** Null without `=>`. */
  readonly expectation: Expectation | null;
}

/** Role and claims of a name. */
export interface CaseCaller {
  readonly role: string;
  /** A JSON object. */
  readonly claims: string;
}

/** A file of policy tests. */
export interface CaseFile {
  /** SQL above the first `===`. */
  readonly fixtures: string;
  readonly callers: ReadonlyMap<string, CaseCaller>;
  readonly cases: readonly PolicyCase[];
}

/** Reports a line that the grammar does not allow: `line 4: expected …`. */
export class CaseFileError extends Error {
  override readonly name = "CaseFileError";

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
  }
}

/** Name of the caller without a token. */
export const anonymous = "anonymous";

/**
 * Parses a file. Throws `CaseFileError`.
 *
 * ```text
 * File    = Fixtures "===" *Caller "===" *Case
 * Caller  = Name Role [ Claims ]
 * Case    = Name Request [ "=>" Expectation ] *Header
 * Request = Method Target [ Body ]
 * Header  = Indentation Name ":" Value
 * ```
 */
export function parseCaseFile(text: string): CaseFile {
  const lines = text.split(/\r?\n/);
  const isRule = (line: string) => /^={3,}\s*$/.test(line);
  const first = lines.findIndex(isRule);
  const second = lines.findIndex((line, index) => index > first && isRule(line));
  if (first === -1 || second === -1) {
    throw new CaseFileError(
      lines.length,
      "expected fixtures, callers and cases between lines of ===",
    );
  }
  const numbered = lines.map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== "" && !/^\s*#/.test(line));
  const between = (from: number, to: number) =>
    numbered.filter(({ number }) => number > from && number <= to);
  const callers = new Map<string, CaseCaller>();
  for (const each of between(first + 1, second)) addCaller(callers, each);
  return {
    fixtures: lines.slice(0, first).join("\n").replace(/^(?:#.*(?:\n|$))+/, blankLines),
    callers,
    cases: readCases(between(second + 1, lines.length), callers),
  };
}

/** SQL has no comments of this form. */
function blankLines(comments: string): string {
  return comments.replace(/.+/g, "");
}

interface NumberedLine {
  readonly line: string;
  readonly number: number;
}

function addCaller(callers: Map<string, CaseCaller>, { line, number }: NumberedLine): void {
  const [, name, plain, quoted, claims = "{}"] =
    /^(\S+)\s+(?:([^"\s]\S*)|("(?:[^"\\]|\\.)*"))(?:\s+(.*\S))?\s*$/.exec(line) ?? [];
  if (name === undefined) throw new CaseFileError(number, "expected a name, a role and claims");
  if (callers.has(name) || name === anonymous) {
    throw new CaseFileError(number, `the caller ${name} is there already`);
  }
  if (parseJsonObject(claims) === null) {
    throw new CaseFileError(number, "expected claims as a JSON object");
  }
  callers.set(name, { role: plain ?? JSON.parse(quoted!), claims });
}

function readCases(
  lines: readonly NumberedLine[],
  callers: ReadonlyMap<string, CaseCaller>,
): readonly PolicyCase[] {
  const cases: PolicyCase[] = [];
  for (const { line, number } of lines) {
    const last = cases.at(-1);
    if (/^\s/.test(line)) {
      if (last === undefined) throw new CaseFileError(number, "expected a case before a header");
      const header = readHeader(line, number);
      cases[cases.length - 1] = { ...last, headers: [...last.headers, header] };
      continue;
    }
    const [, caller = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    if (caller !== anonymous && !callers.has(caller)) {
      throw new CaseFileError(number, `unknown caller ${JSON.stringify(caller || line)}`);
    }
    const [request, expected] = splitExpectation(rest);
    const expectation = expected === null ? null : parseExpectation(expected);
    if (expectation === "invalid") {
      throw new CaseFileError(
        number,
        `expected status, code, "N rows" or JSON behind =>, got ${expected}`,
      );
    }
    cases.push({ ...parseRequestLine(request, number), line: number, caller, expectation });
  }
  return cases;
}

/** Parses a request with its header lines. Throws `CaseFileError`. */
export function parseRequest(text: string): CaseRequest {
  const [first = "", ...headers] = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return {
    ...parseRequestLine(first, 1),
    headers: headers.map((line, index) => readHeader(line, index + 2)),
  };
}

function parseRequestLine(text: string, line: number): CaseRequest {
  const [, method, target, body = ""] = /^([A-Z]+)\s+(\/\S*)(?:\s+(.*\S))?\s*$/.exec(text) ?? [];
  if (method === undefined || target === undefined) {
    throw new CaseFileError(line, "expected a method and a path, such as GET /items");
  }
  if (!methods.has(method)) throw new CaseFileError(line, `unknown method ${method}`);
  if (body !== "" && (method === "GET" || method === "HEAD")) {
    throw new CaseFileError(line, `${method} has no body`);
  }
  return { method, target, headers: [], body: body === "" ? null : body };
}

const methods: ReadonlySet<string> = new Set(
  ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "QUERY"],
);

function readHeader(line: string, number: number): readonly [name: string, value: string] {
  const [, name, value = ""] = /^\s+([!#$%&'*+.^_`|~\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
  if (name === undefined) throw new CaseFileError(number, "expected a header: Name: value");
  return [name, value];
}

/** Splits a case at the first `=>` outside of a JSON body; the second part is null without one. */
function splitExpectation(text: string): readonly [request: string, expected: string | null] {
  for (const { index, 0: arrow } of text.matchAll(/\s+=>(?=\s|$)/g)) {
    const request = text.slice(0, index);
    const body = request.replace(/^\S+\s+\S+\s*/, "");
    if (!/^[{["]/.test(body) || isJson(body)) {
      return [request, text.slice(index + arrow.length).trim()];
    }
  }
  return [text, null];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
