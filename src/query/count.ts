/**
 * The query that counts what a plan reads.
 *
 * @module
 */
import type { ReadPlan } from "../plan/read_plan.ts";
import { type Sql, sql } from "../sql/fragment.ts";
import { renderLevel, rootTie } from "./level.ts";

/**
 * One row for each row of the root that matches, whatever the window, the order and the windows of
 * embeds. `from` is the item of FROM of a plan over given rows, under the plan's alias.
 */
export function renderCount({ root }: ReadPlan, from?: Sql): Sql {
  const rows = renderLevel(root, rootTie(root, from), { windows: false, joined: false });
  return sql`select 1${rows}`;
}
