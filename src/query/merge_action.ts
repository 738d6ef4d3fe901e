/**
 * Renders whether an insert has inserted or updated a row, for `merge_action()`.
 *
 * @module
 */
import type { MutatePlan } from "../plan/mutate_plan.ts";
import { emptySql, ident, type Sql, sql } from "../sql/fragment.ts";
import { nameOf } from "./field.ts";

const oldRow = ident("svc_old");

/** Names the row before the write, which is NULL for a row that was inserted. */
export function oldRowAlias({ mergeAction }: MutatePlan): Sql {
  return mergeAction === "old" ? sql`with (old as ${oldRow}) ` : emptySql;
}

/** Renders `INSERT` or `UPDATE` in RETURNING. */
export function mergeAction(plan: MutatePlan): Sql {
  return sql`case when ${isInserted(plan)} then 'INSERT' else 'UPDATE' end`;
}

function isInserted({ mergeAction, relation }: MutatePlan): Sql {
  if (mergeAction === "xmax") return sql`${nameOf(relation)}.xmax = 0`;
  // A column needs less privileges than the row.
  const [key] = relation.primaryKey;
  return key === undefined
    ? sql`${oldRow} is not distinct from null`
    : sql`${oldRow}.${ident(key)} is null`;
}
