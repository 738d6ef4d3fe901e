/**
 * Renders the query that counts the rows of a read plan.
 *
 * @module
 */
import type { ReadPlan } from "../plan/read_plan.ts";
import { type Sql, sql } from "../sql/fragment.ts";
import { renderFromWhere, rootSource } from "./from_where.ts";

/**
 * Returns a query with one row for each matching row of the root. Row ranges and orders do not
 * apply. `from` replaces the root's relation when the caller supplies the rows, under the plan's
 * alias.
 */
export function renderCount({ root }: ReadPlan, from?: Sql): Sql {
  const rows = renderFromWhere(root, rootSource(root, from), { ranges: false, joined: false });
  return sql`select 1${rows}`;
}
