/**
 * The statement that runs between a write and its COMMIT and fails unless what database code set as
 * `response.status` and `response.headers` can be sent: a write is not committed when it will be
 * answered with an error.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import { compile, sql } from "../sql/fragment.ts";

/** SQLSTATE of the check's failure when the status is at fault. */
const invalidStatusState = "2201F";

/** Which of the two the check found to be at fault. */
export type BadOverride = "status" | "headers";

/**
 * What a failure of the check says by its SQLSTATE; null when it says nothing of either, because the
 * connection was terminated or the statement cancelled meanwhile, for example. Class 22 is that of
 * data that cannot be used; class 54 that of JSON nested too deep.
 */
export function badOverride(sqlstate: string): BadOverride | null {
  if (sqlstate === invalidStatusState) return "status";
  return /^(22|54)/.test(sqlstate) ? "headers" : null;
}

/**
 * Takes the root of a negative number for a bad status. Divides by zero for bad headers; text that is
 * no JSON array fails on its own.
 */
export const overridesCheck: Statement = {
  ...compile(
    sql`select sqrt(case when coalesce(substring(nullif(current_setting('response.status', true), '') from '^[0-9]*'), '200') ~ '^0*[2-5][0-9][0-9]$' then 1 else -1 end), (select 1 / coalesce(bool_and(case when json_typeof(svc_h) = 'object' then (select count(*) = 1 and bool_and(json_typeof(svc_m.value) = 'string' and svc_m.key ~ '^[-!#$%&''*+.^_\`|~0-9A-Za-z]+$' and (svc_m.value #>> '{}') !~ '[\x01-\x08\x0a-\x1f\x7f]') from json_each(svc_h) as svc_m) else false end), true)::int from json_array_elements(nullif(current_setting('response.headers', true), '')::json) as svc_h)`,
  ),
  use: "none",
};
