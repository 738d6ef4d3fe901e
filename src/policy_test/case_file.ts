/** Parses files of policy tests: fixtures, callers and cases between lines of `===`. @module */
import type { Identity } from "../auth/jwt_cache.ts";
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

/** A case; its line counts from 1. */
export interface PolicyCase extends CaseRequest {
  readonly line: number;
  /** Name of a caller, or `anonymous`. */
  readonly caller: string;
  /** Null without `=>`. */
  readonly expectation: Expectation | null;
}

/** A file of policy tests. */
export interface CaseFile {
  /** SQL above the first `===`. */
  readonly fixtures: string;
  readonly callers: ReadonlyMap<string, Pick<Identity, "role" | "claims">>;
  readonly cases: readonly PolicyCase[];
}

/** Name of the caller without a token. */
export const anonymous = "anonymous";

/**
 * Parses a file. Throws an `Error`: `line 4: expected …`.
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
  const rules = lines.flatMap((line, index) => /^={3,}\s*$/.test(line) ? [index] : []);
  const [first, second] = rules;
  if (first === undefined || second === undefined) {
    throw problem(lines.length, "expected fixtures, callers and cases between lines of ===");
  }
  const callers = new Map<string, Pick<Identity, "role" | "claims">>();
  const cases: PolicyCase[] = [];
  for (const [index, line] of lines.entries()) {
    if (index <= first || index === second || /^\s*(?:#|$)/.test(line)) continue;
    if (index < second) addCaller(callers, line, index + 1);
    else if (!/^\s/.test(line)) cases.push(readCase(line, index + 1, callers));
    else {
      const last = cases.pop();
      if (last === undefined) throw problem(index + 1, "expected a case before a header");
      cases.push({ ...last, headers: [...last.headers, readHeader(line, index + 1)] });
    }
  }
  const sql = lines.slice(0, first).join("\n");
  // SQL has no comments that begin with a number sign.
  const fixtures = sql.replace(/^(?:#.*(?:\n|$))+/, (head) => head.replace(/.+/g, ""));
  return { fixtures, callers, cases };
}

function problem(line: number, text: string): Error {
  return new Error(`line ${line}: ${text}`);
}

function addCaller(callers: Map<string, unknown>, line: string, number: number): void {
  const [, name = anonymous, plain, quoted = '""', claims = "{}"] =
    /^(\S+)\s+(?:([^"\s]\S*)|("(?:[^"\\]|\\.)*"))(?:\s+(.*\S))?\s*$/.exec(line) ?? [];
  if (callers.has(name) || name === anonymous || parseJsonObject(claims) === null) {
    throw problem(number, "expected another name, a role, and claims as a JSON object");
  }
  callers.set(name, { role: plain ?? JSON.parse(quoted), claims });
}

function readCase(text: string, line: number, callers: CaseFile["callers"]): PolicyCase {
  const [, caller = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(text) ?? [];
  if (caller !== anonymous && !callers.has(caller)) {
    throw problem(line, `unknown caller ${JSON.stringify(caller || text)}`);
  }
  const [request, expected] = splitExpectation(rest);
  const expectation = expected === null ? null : parseExpectation(expected);
  if (expectation !== "invalid") return { ...readLine(request, line), line, caller, expectation };
  throw problem(line, `expected status, code, "N rows" or JSON behind =>, got ${expected}`);
}

/** Parses a request with its header lines. Throws an `Error`. */
export function parseRequest(text: string): CaseRequest {
  const [first = "", ...headers] = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const read = headers.map((line, index) => readHeader(line, index + 2));
  return { ...readLine(first, 1), headers: read };
}

function readLine(text: string, line: number): CaseRequest {
  const [, method = "", target, body = null] =
    /^(GET|HEAD|POST|PATCH|PUT|DELETE|OPTIONS|QUERY)\s+(\/\S*)(?:\s+(.*\S))?\s*$/.exec(text) ?? [];
  if (target === undefined || (body !== null && /^(?:GET|HEAD)$/.test(method))) {
    throw problem(line, "expected a method, a path, and a body except behind GET and HEAD");
  }
  return { method, target, headers: [], body };
}

function readHeader(line: string, number: number): readonly [name: string, value: string] {
  const [, name, value = ""] = /^\s+([!#$%&'*+.^_`|~\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
  if (name === undefined) throw problem(number, "expected a header: Name: value");
  return [name, value];
}

/** Splits a case at the first `=>` outside of a JSON body; the second part is null without one. */
function splitExpectation(text: string): readonly [request: string, expected: string | null] {
  for (const { index, 0: arrow } of text.matchAll(/\s+=>(?=\s|$)/g)) {
    const body = text.slice(0, index).replace(/^\S+\s+\S+\s*/, "");
    if (!/^[{["]/.test(body) || isJson(body)) {
      return [text.slice(0, index), text.slice(index + arrow.length).trim()];
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
