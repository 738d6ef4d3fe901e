/** Renders the query that counts the rows of a read plan. @module */
import type { ReadPlan } from "../plan/read_plan.ts";
import { type Sql, sql } from "../sql/fragment.ts";
import { renderFromWhere, rootSource } from "./from_where.ts";
import { renderGroups } from "./read.ts";

/**
 * Returns a query with one row for each matching row of the root, or for each row of the result if
 * it has groups or distinct rows. Row ranges and orders do not
 * apply. `from` replaces the root's relation when the caller supplies the rows, under the plan's
 * alias.
 */
export function renderCount({ root }: ReadPlan, from?: Sql): Sql {
  const source = rootSource(root, from);
  if (root.grouped || root.having.length > 0 || root.distinct !== null) {
    return sql`select 1 from (${renderGroups(root, source)}) as svc_groups`;
  }
  const options = { ranges: false, joined: false, groups: renderGroups };
  const rows = renderFromWhere(root, source, options);
  return sql`select 1${rows}`;
}
