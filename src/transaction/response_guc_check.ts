/** Checks `response.status` and `response.headers` between a write and its COMMIT. The statement
 * fails if their values are invalid, so a write whose response is an error is rolled back. @module
 */
import type { Statement } from "../database/batch.ts";
import { compile, literal, sql } from "../sql/fragment.ts";

/** SQLSTATE of the check's failure when the status is at fault. */
const invalidStatusState = "2201F";

/** The setting that the check found invalid. */
export type InvalidResponseGuc = "status" | "headers";

/**
 * Returns the invalid setting, by the SQLSTATE of the check's failure. Null for other failures, such as a
 * cancelled statement. Class 22 stands for invalid data, class 54 for JSON that is nested too deep.
 */
export function invalidResponseGuc(sqlstate: string): InvalidResponseGuc | null {
  if (sqlstate === invalidStatusState) return "status";
  return /^(22|54)/.test(sqlstate) ? "headers" : null;
}

/** Pattern of valid `response.headers` as the text of `jsonb`: objects with one string member each. */
const headersPattern =
  '^\\[(?:\\{"[-!#$%&\'*+.^_`|~0-9A-Za-z]+": "(?:[^"\\\\\x7f]|\\\\["\\\\t])*"\\}(?:, )?)*\\]$';

const headers = sql`current_setting('response.headers', true)`;
const status = sql`current_setting('response.status', true)`;

/**
 * Takes the root of a negative number if the status is invalid, and divides by zero if the headers are.
 * Text that is not JSON fails at the cast. If neither setting is set, nothing else is evaluated.
 */
export const responseGucCheck: Statement = {
  ...compile(
    sql`select case when ${headers} || ${status} = '' then 0 else sqrt(case when coalesce(substring(nullif(${status}, '') from '^[0-9]*'), '200') ~ '^0*[2-5][0-9][0-9]$' then 1 else -1 end) / case when coalesce(nullif(${headers}, ''), '[]')::jsonb::text ~ ${
      literal(headersPattern)
    } then 1 else 0 end end`,
  ),
  use: "none",
  role: "response settings",
};
