/** Checks `response.status` and `response.headers` between a write and its COMMIT. The check fails
 * if a value is invalid, so that a write with an error response is rolled back. @module */
import type { Statement } from "../../database/transaction.ts";
import type { DatabaseFailure } from "../../base/errors/service_error.ts";
import { compile, literal, sql } from "../../base/sql/fragment.ts";
import { raise, raisedDetail } from "../../base/sql/raise.ts";

/**
 * Returns the setting for which the check has failed. Returns null for other failures, such as a
 * canceled statement. Class 22 means a text that is not JSON; class 54 means JSON that is nested
 * too deeply.
 */
export function invalidResponseGuc(
  failure: Pick<DatabaseFailure, "message" | "sqlstate">,
): "status" | "headers" | null {
  if (raisedDetail(failure) === "status") return "status";
  return raisedDetail(failure) === "headers" || /^(22|54)/.test(failure.sqlstate)
    ? "headers"
    : null;
}

/** Pattern of valid `response.headers` as the text of `jsonb`: objects with one string member each. */
const headersPattern =
  '^\\[(?:\\{"[-!#$%&\'*+.^_`|~0-9A-Za-z]+": "(?:[^"\\\\\x7f]|\\\\["\\\\t])*"\\}(?:, )?)*\\]$';

const headers = sql`pg_catalog.current_setting('response.headers', true)`;
const status = sql`pg_catalog.current_setting('response.status', true)`;

const statusText = sql`coalesce(substring(nullif(${status}, '') from '^[0-9]*'), '200')`;
const headersText = sql`coalesce(nullif(${headers}, ''), '[]')::pg_catalog.jsonb::pg_catalog.text`;

/** The check. Text that is not JSON fails at the cast. If both settings are unset, nothing else is
 * evaluated. */
export const responseGucCheck: Statement = {
  ...compile(
    sql`select case when ${headers} || ${status} = '' then ''
when ${statusText} !~ '^0*[2-5][0-9][0-9]$' then ${raise(sql`'status'`)}
when ${headersText} !~ ${literal(headersPattern)} then ${raise(sql`'headers'`)} end`,
  ),
  use: "none",
  role: "response settings",
};
