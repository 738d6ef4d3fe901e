/**
 * The query that counts what a plan reads.
 *
 * @module
 */
import type { ReadPlan } from "../plan/read_plan.ts";
import { type Sql, sql } from "../sql/fragment.ts";
import { renderFromWhere, rootSource } from "./from_where.ts";

/**
 * One row for each row of the root that matches, whatever the window, the order and the windows of
 * embeds. `from` is the item of FROM of a plan over given rows, under the plan's alias.
 */
export function renderCount({ root }: ReadPlan, from?: Sql): Sql {
  const rows = renderFromWhere(root, rootSource(root, from), { ranges: false, joined: false });
  return sql`select 1${rows}`;
}
