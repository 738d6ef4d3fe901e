/**
 * The statement that runs between a write and its COMMIT and fails unless what database code set as
 * `response.status` and `response.headers` can be sent: a write is not committed when it will be
 * answered with an error.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import { compile, literal, sql } from "../sql/fragment.ts";

/** SQLSTATE of the check's failure when the status is at fault. */
const invalidStatusState = "2201F";

/** The setting that the check found invalid. */
export type InvalidResponseGuc = "status" | "headers";

/**
 * What a failure of the check says by its SQLSTATE; null when it says nothing of either, because the
 * connection was terminated or the statement cancelled meanwhile, for example. Class 22 is that of
 * data that cannot be used; class 54 that of JSON nested too deep.
 */
export function invalidResponseGuc(sqlstate: string): InvalidResponseGuc | null {
  if (sqlstate === invalidStatusState) return "status";
  return /^(22|54)/.test(sqlstate) ? "headers" : null;
}

/** What `response.headers` is as the text of `jsonb`: objects with one string member each. */
const headersPattern =
  '^\\[(?:\\{"[-!#$%&\'*+.^_`|~0-9A-Za-z]+": "(?:[^"\\\\\x7f]|\\\\["\\\\t])*"\\}(?:, )?)*\\]$';

const headers = sql`current_setting('response.headers', true)`;
const status = sql`current_setting('response.status', true)`;

/**
 * Takes the root of a negative number for a bad status. Divides by zero for bad headers; text that is
 * no JSON fails on its own. Mostly nothing is set, which is all that is looked at then.
 */
export const responseGucCheck: Statement = {
  ...compile(
    sql`select case when ${headers} || ${status} = '' then 0 else sqrt(case when coalesce(substring(nullif(${status}, '') from '^[0-9]*'), '200') ~ '^0*[2-5][0-9][0-9]$' then 1 else -1 end) / case when coalesce(nullif(${headers}, ''), '[]')::jsonb::text ~ ${
      literal(headersPattern)
    } then 1 else 0 end end`,
  ),
  use: "none",
};
