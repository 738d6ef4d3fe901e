/** The expected response of a case, and the first difference of a response. @module */
import { isJsonObject } from "../../../base/lib/json_object.ts";

/** The answer to a case. */
export interface CaseAnswer {
  readonly status: number;
  /** Null unless the body is an error. */
  readonly code: string | null;
  readonly message: string | null;
  /** Number of rows of the body, or else of affected rows; null if unknown. */
  readonly rows: number | null;
  /** Undefined unless the body is JSON. */
  readonly json: unknown;
}

/** The expected parts of a response. Parts that are null or undefined are not compared. */
export type Expectation =
  & Pick<CaseAnswer, "code" | "rows" | "json">
  & { readonly status: number | null };

/** `[ Status ] [ Code ] [ ( "no" / Count ) ( "row" / "rows" ) ] [ JSON ]` */
const expectationPattern =
  /^(?:([1-5]\d\d)(?! rows?\b)(?:\s+|$))?(?:([0-9A-Z]{5}|[A-Z]{3,5}\d{3})(?:\s+|$))?(?:(\d+|no) rows?(?:\s+|$))?(.*)$/;

/** Parses the text after `=>`. */
export function parseExpectation(text: string): Expectation | "invalid" {
  const [, status, code = null, rows, rest = ""] = expectationPattern.exec(text) ?? [];
  const json = jsonOf(rest);
  if (text === "" || (rest !== "" && json === undefined)) return "invalid";
  return {
    status: status === undefined ? null : Number(status),
    code,
    rows: rows === undefined ? null : rows === "no" ? 0 : Number(rows),
    json,
  };
}

/** Returns the value of a JSON text; undefined for other texts. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a response in the form of an expectation: `200 [{"id":1}]`, `204 no rows`, `403 42501`. */
export function answerText({ status, code, rows, json }: CaseAnswer): string {
  if (code !== null) return `${status} ${code}`;
  const body = json === undefined || status >= 400 ? "" : JSON.stringify(json);
  // A longer body is replaced by the number of its rows.
  if (body.length <= 500 && /^[[{"]/.test(body)) return `${status} ${body}`;
  return rows === null ? String(status) : `${status} ${rowsText(rows)}`;
}

/** Returns the first difference: `expected no rows, got 1 row`, or null. */
export function differenceOf(expected: Expectation, answer: CaseAnswer): string | null {
  const { status, code, rows, json } = expected;
  const error = answer.code === null ? "" : ` ${answer.code}: ${answer.message}`;
  const got = `${answer.status}${error}`;
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

/** Returns a difference. Arrays must have the same length and order, objects at least the expected members. */
function jsonDifference(expected: unknown, got: unknown, path: string): string | null {
  const at = path === "" ? "" : ` at ${path}`;
  const isArray = Array.isArray(expected);
  if (isArray && Array.isArray(got) && got.length !== expected.length) {
    return `expected ${expected.length} elements${at}, got ${got.length}: ${jsonText(got)}`;
  }
  const isPair = isArray ? Array.isArray(got) : isJsonObject(expected) && isJsonObject(got);
  if (!isPair) {
    return expected === got ? null : `expected ${jsonText(expected)}${at}, got ${jsonText(got)}`;
  }
  return Object.entries(expected as object).map(([name, each]) => {
    const member = Object.hasOwn(got as object, name) ? (got as never)[name] : undefined;
    return jsonDifference(
      each,
      member,
      isArray ? `${path}[${name}]` : `${path && `${path}.`}${name}`,
    );
  }).find((difference) => difference !== null) ?? null;
}

/** Returns JSON for a message, cut after 200 characters. */
function jsonText(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? "nothing";
}
