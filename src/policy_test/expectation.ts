/** The expected answer of a case, and the first difference of an answer. @module */
import { isJsonObject } from "../lib/json_object.ts";

/** The answer to a case. */
export interface CaseAnswer {
  readonly status: number;
  /** Null unless the body is an error. */
  readonly code: string | null;
  readonly message: string | null;
  /** Rows of the body, else those that the request affected; null if they are unknown. */
  readonly rows: number | null;
  /** Undefined unless the body is JSON. */
  readonly json: unknown;
}

/** Parts that are null or undefined are not compared. */
export type Expectation =
  & Pick<CaseAnswer, "code" | "rows" | "json">
  & { readonly status: number | null };

/** `[ Status ] [ Code ] [ ( "no" / Count ) ( "row" / "rows" ) ] [ JSON ]` */
const expectationPattern =
  /^(?:([1-5]\d\d)(?:\s+|$))?(?:([0-9A-Z]{5}|[A-Z]{3,5}\d{3})(?:\s+|$))?(?:(\d+|no) rows?(?:\s+|$))?(.*)$/;

/** Parses the text behind `=>`. */
export function parseExpectation(text: string): Expectation | "invalid" {
  const [, status, code = null, rows, rest = ""] = expectationPattern.exec(text) ?? [];
  try {
    if (text === "") return "invalid";
    return {
      status: status === undefined ? null : Number(status),
      code,
      rows: rows === undefined ? null : rows === "no" ? 0 : Number(rows),
      json: rest === "" ? undefined : JSON.parse(rest),
    };
  } catch {
    return "invalid";
  }
}

/** Returns the first difference: `expected no rows, got 1 row`; null for none. */
export function differenceOf(
  { status, code, rows, json }: Expectation,
  answer: CaseAnswer,
): string | null {
  const got = answer.code === null
    ? String(answer.status)
    : `${answer.status} ${answer.code}: ${answer.message}`;
  if (status !== null && status !== answer.status) return `expected ${status}, got ${got}`;
  if (code !== null && code !== answer.code) return `expected ${code}, got ${got}`;
  if (rows !== null && rows !== answer.rows) {
    return `expected ${rowsText(rows)}, got ${answer.rows === null ? got : rowsText(answer.rows)}`;
  }
  return json === undefined ? null : jsonDifference(json, answer.json, "");
}

/** Returns `no rows`, `1 row`, `2 rows`. */
export function rowsText(rows: number): string {
  return rows === 0 ? "no rows" : `${rows} ${rows === 1 ? "row" : "rows"}`;
}

/** Arrays have the same length and order, objects at least the expected members. */
function jsonDifference(expected: unknown, got: unknown, path: string): string | null {
  const at = path === "" ? "" : ` at ${path}`;
  if (Array.isArray(expected) && Array.isArray(got) && got.length !== expected.length) {
    return `expected ${expected.length} elements${at}, got ${got.length}: ${jsonText(got)}`;
  }
  const isPair = Array.isArray(expected) ? Array.isArray(got) : isJsonObject(got);
  if (!isPair || typeof expected !== "object" || expected === null) {
    return expected === got ? null : `expected ${jsonText(expected)}${at}, got ${jsonText(got)}`;
  }
  for (const [name, each] of Object.entries(expected)) {
    const member = Object.hasOwn(got as object, name) ? (got as never)[name] : undefined;
    const place = Array.isArray(expected) ? `${path}[${name}]` : `${path && `${path}.`}${name}`;
    const difference = jsonDifference(each, member, place);
    if (difference !== null) return difference;
  }
  return null;
}

/** JSON in messages has at most 200 characters. */
function jsonText(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
