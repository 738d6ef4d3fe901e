/** The expected answer of a case, and the first difference of an answer. @module */
import { isJsonObject } from "../lib/json_object.ts";

/** Parts that are null are not compared. */
export interface Expectation {
  readonly status: number | null;
  /** `code` of an error: `42501`. */
  readonly code: string | null;
  readonly rows: number | null;
  /** A JSON document; undefined for none. */
  readonly json: unknown;
}

/** The answer to a case. */
export interface CaseAnswer {
  readonly status: number;
  /** Null unless the body is an error. */
  readonly code: string | null;
  /** Null unless the body is an error. */
  readonly message: string | null;
  /** Rows of the body, else those that the request affected; null if they are unknown. */
  readonly rows: number | null;
  /** Undefined unless the body is JSON. */
  readonly json: unknown;
}

/** `[ Status ] [ Code ] [ ( "no" / Count ) ( "row" / "rows" ) ] [ JSON ]` */
const expectationPattern =
  /^(?:([1-5]\d\d)(?:\s+|$))?(?:([0-9A-Z]{5}|[A-Z]{3,5}\d{3})(?:\s+|$))?(?:(\d+|no) rows?(?:\s+|$))?(.*)$/;

/** Parses the text behind `=>`. */
export function parseExpectation(text: string): Expectation | "invalid" {
  const [, status, code, rows, rest = ""] = expectationPattern.exec(text) ?? [];
  const common = {
    status: status === undefined ? null : Number(status),
    code: code ?? null,
    rows: rows === undefined ? null : rows === "no" ? 0 : Number(rows),
  };
  if (rest === "") return text === "" ? "invalid" : { ...common, json: undefined };
  try {
    return { ...common, json: JSON.parse(rest) };
  } catch {
    return "invalid";
  }
}

/** Returns the first difference: `expected no rows, got 1 row`; null for none. */
export function differenceOf(expected: Expectation, answer: CaseAnswer): string | null {
  const { status, code, rows, json } = expected;
  if (status !== null && status !== answer.status) {
    return `expected ${status}, got ${statusText(answer)}`;
  }
  if (code !== null && code !== answer.code) return `expected ${code}, got ${statusText(answer)}`;
  if (rows !== null && rows !== answer.rows) {
    const got = answer.rows === null ? statusText(answer) : rowsText(answer.rows);
    return `expected ${rowsText(rows)}, got ${got}`;
  }
  return json === undefined ? null : jsonDifference(json, answer.json, "");
}

/** Returns `no rows`, `1 row`, `2 rows`. */
export function rowsText(rows: number): string {
  return rows === 0 ? "no rows" : `${rows} ${rows === 1 ? "row" : "rows"}`;
}

function statusText({ status, code, message }: CaseAnswer): string {
  return code === null ? String(status) : `${status} ${code}: ${message}`;
}

/** Arrays have the same length and order, objects at least the expected members. */
function jsonDifference(expected: unknown, got: unknown, path: string): string | null {
  const at = path === "" ? "" : ` at ${path}`;
  const differs = `expected ${jsonText(expected)}${at}, got ${jsonText(got)}`;
  if (Array.isArray(expected)) {
    if (!Array.isArray(got)) return differs;
    if (got.length !== expected.length) {
      return `expected ${expected.length} elements${at}, got ${got.length}: ${jsonText(got)}`;
    }
    return firstOf(
      expected,
      (each, index) => jsonDifference(each, got[index], `${path}[${index}]`),
    );
  }
  if (isJsonObject(expected)) {
    if (!isJsonObject(got)) return differs;
    return firstOf(Object.entries(expected), ([name, each]) => {
      const member = Object.hasOwn(got, name) ? got[name] : undefined;
      return jsonDifference(each, member, path === "" ? name : `${path}.${name}`);
    });
  }
  return expected === got ? null : differs;
}

function firstOf<Item>(
  items: readonly Item[],
  find: (item: Item, index: number) => string | null,
): string | null {
  for (const [index, item] of items.entries()) {
    const found = find(item, index);
    if (found !== null) return found;
  }
  return null;
}

/** Longest JSON text in a message, in characters. */
const maxJsonLength = 200;

function jsonText(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= maxJsonLength ? text : `${text.slice(0, maxJsonLength)}…`;
}
