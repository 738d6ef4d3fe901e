/** Parses files of policy tests: fixtures, callers and cases between lines of `===`. @module */
import type { Identity } from "../../../state/auth/jwt_cache.ts";
import { parseJsonObject } from "../../../base/lib/json_object.ts";
import {
  answerText,
  type CaseAnswer,
  type Expectation,
  jsonOf,
  parseExpectation,
} from "./expectation.ts";

/** A request in a case. */
export interface CaseRequest {
  readonly method: string;
  /** Path and query string. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Role and claims of a caller. The claims do not contain the role. */
export type CaseCaller = Pick<Identity, "role" | "claims">;

/** A case. Lines are numbered from 1. */
export interface PolicyCase extends CaseRequest {
  readonly line: number;
  /** Name of the caller. */
  readonly name: string;
  /** Null for `anonymous`. */
  readonly caller: CaseCaller | null;
  /** Null if the case has no `=>`. */
  readonly expectation: Expectation | null;
}

/** The result of a case. */
export interface CaseResult {
  /** Name of the file in reports. */
  readonly file: string;
  readonly case: PolicyCase;
  /** The role of the caller; null if there is no anonymous role. */
  readonly role: string | null;
  readonly answer: CaseAnswer;
  /** Null if the case passed. */
  readonly difference: string | null;
}

/** A file of policy tests; `fixtures` is the SQL above the first `===`. */
export interface CaseFile {
  readonly fixtures: string;
  /** Callers by name, including `anonymous`. */
  readonly callers: CaseCallers;
  readonly cases: readonly PolicyCase[];
  readonly leaks: readonly AcceptedLeak[];
}

/** An accepted way in which a caller, or each caller (`*`), can infer hidden rows by requests. */
export interface AcceptedLeak {
  readonly line: number;
  /** `anna PATCH /customers of api.customers by customers_email_key` */
  readonly key: string;
}

/**
 * Parses a file. Throws an `Error`: `line 4: expected …`.
 *
 * ```text
 * File    = Fixtures "===" *Caller "===" *( Case / Leak )
 * Caller  = Name Role [ Claims ]
 * Case    = Name Request [ "=>" Expectation ] *Header
 * Request = Method Target [ Body ]
 * Header  = Indentation Name ":" Value
 * Leak    = "leak:" ( Name / "*" ) Method Path "of" Table "by" Object ":" Reason
 * ```
 */
export function parseCaseFile(text: string): CaseFile {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  const [first, second] = lines.flatMap((line, index) => /^={3,}\s*$/.test(line) ? [index] : []);
  if (first === undefined || second === undefined) {
    throw problem(lines.length, "expected fixtures, callers and cases between lines of ===");
  }
  const callers = new Map<string, CaseCaller | null>([["anonymous", null]]);
  const cases: PolicyCase[] = [];
  const leaks: AcceptedLeak[] = [];
  for (const [index, line] of lines.entries()) {
    if (index <= first || index === second || /^\s*(?:#|$)/.test(line)) continue;
    if (index < second) addCaller(callers, line, index + 1);
    else if (line.startsWith("leak:")) leaks.push(readLeak(line, index + 1));
    else if (!/^\s/.test(line)) cases.push(readCase(line, index + 1, callers));
    else {
      const last = cases.pop();
      if (last === undefined) throw problem(index + 1, "expected a case before a header");
      cases.push({ ...last, headers: [...last.headers, readHeader(line, index + 1)] });
    }
  }
  const sql = lines.slice(0, first).join("\n");
  // Comments with a number sign are blanked, because SQL has no such comments. Line numbers stay correct.
  const fixtures = sql.replace(/^(?:#.*(?:\n|$))+/, (head) => head.replace(/.+/g, ""));
  return { fixtures, callers, cases, leaks };
}

/** Callers by name; null for callers without a token. */
export type CaseCallers = ReadonlyMap<string, CaseCaller | null>;

function problem(line: number, text: string): Error {
  return new Error(`line ${line}: ${text}`);
}

function addCaller(callers: Map<string, CaseCaller | null>, line: string, number: number): void {
  const [, name = "anonymous", plain, quoted = "", claims = "{}"] =
    /^(\S+)\s+(?:([^"\s]\S*)|("(?:[^"\\]|\\.)*"))(?:\s+(.*\S))?\s*$/.exec(line) ?? [];
  const role = plain ?? jsonOf(quoted);
  if (callers.has(name) || typeof role !== "string" || parseJsonObject(claims) === null) {
    throw problem(number, "expected another name, a role, and claims as a JSON object");
  }
  callers.set(name, { role, claims });
}

function readLeak(text: string, line: number): AcceptedLeak {
  const [, key] = /^leak:\s+(\S+ [A-Z]+ \/\S* of \S+ by \S+): \S/.exec(text) ?? [];
  if (key === undefined) {
    throw problem(line, "expected leak: NAME METHOD PATH of TABLE by OBJECT: REASON");
  }
  return { line, key };
}

function readCase(text: string, line: number, callers: CaseCallers): PolicyCase {
  const [, name = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(text) ?? [];
  const caller = callers.get(name);
  if (caller === undefined) throw problem(line, `unknown caller ${JSON.stringify(name || text)}`);
  // Tries each arrow, because bodies and expected JSON may contain `=>`, too.
  const splits = Array.from(rest.matchAll(/\s+=>(?=\s|$)/g), ({ index, 0: arrow }) => {
    const expected = rest.slice(index + arrow.length).trim();
    return { request: rest.slice(0, index), expected, expectation: parseExpectation(expected) };
  });
  const split = splits.find((each) => each.expectation !== "invalid") ?? splits[0];
  const { request, expected, expectation } = split ??
    { request: rest, expected: "", expectation: null };
  if (expectation === "invalid") {
    throw problem(line, `expected status, code, "N rows" or JSON behind =>, got ${expected}`);
  }
  return { ...readLine(request, line), line, name, caller, expectation };
}

/** Parses a request with its headers. Throws an `Error`. */
export function parseRequest(text: string): CaseRequest {
  const [first = "", ...headers] = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return { ...readLine(first, 1), headers: headers.map((line, at) => readHeader(line, at + 2)) };
}

function readLine(text: string, line: number): CaseRequest {
  const [, method = "", target, body = null] =
    /^(GET|HEAD|POST|PATCH|PUT|DELETE|OPTIONS|QUERY)\s+(\/\S*)(?:\s+(.*\S))?\s*$/.exec(text) ?? [];
  if (target === undefined || (body !== null && /^(?:GET|HEAD)$/.test(method))) {
    throw problem(
      line,
      "expected a method and a path, such as GET /items, then a body except for GET and HEAD",
    );
  }
  return { method, target, headers: [], body };
}

function readHeader(line: string, number: number): readonly [name: string, value: string] {
  const [, name, value = ""] =
    /^\s+([!#$%&'*+.^_`|~\w-]+):\s*([\t -~\x80-\xff]*?)\s*$/.exec(line) ?? [];
  if (name === undefined) {
    throw problem(number, "expected a header: Name: value, indented; a body follows the path");
  }
  return [name, value];
}

/** Returns the text of a file, and adds missing responses to its cases. Line endings are unchanged. */
export function withAnswers(text: string, results: readonly CaseResult[]): string {
  const lines = text.split(/(\r\n?|\n)/);
  for (const { case: { expectation, line }, answer } of results) {
    const at = 2 * (line - 1);
    if (expectation === null) lines[at] = `${lines[at]!.trimEnd()} => ${answerText(answer)}`;
  }
  return lines.join("");
}
