/** Renders the `ON CONFLICT` of an insert. @module */
import type { Conflict, ConflictTarget } from "../plan/write/conflict.ts";
import type { Relation } from "../../state/schema_cache/schema_cache.ts";
import {
  and,
  catalogueSql,
  emptySql,
  ident,
  join,
  literal,
  ownName,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { renderConditions } from "./condition.ts";
import { nameOf } from "./field.ts";
import type { MutatePlan } from "../plan/write/mutate_plan.ts";

export const updatedRowsSetting = "svc.updated";

const setting = literal(updatedRowsSetting);
const counted =
  sql`pg_catalog.set_config(${setting}, (coalesce(nullif(pg_catalog.current_setting(${setting}, true), ''), '0')::int + 1)::pg_catalog.text, true) <> ''`;

/** Renders ` on conflict …`; empty if `conflict` is null. With `isCounted`, a setting receives the
 * number of updated rows. */
export function conflictClause(
  conflict: Conflict | null,
  relation: Relation,
  { isCounted, conditions: more = [] }: {
    readonly isCounted: boolean;
    /** Further conditions of the update. Default: none. */
    readonly conditions?: readonly Sql[];
  },
): Sql {
  if (conflict === null) return emptySql;
  const target = conflictTarget(conflict.target);
  if (conflict.resolution !== "merge") return sql` on conflict ${target} do nothing`;
  const assignments = conflict.columns.map((name) => sql`${ident(name)} = excluded.${ident(name)}`);
  const conditions = [...renderConditions(conflict.where, nameOf(relation)), ...more];
  const update = sql` on conflict ${target} do update set ${join(assignments)}`;
  if (!isCounted) {
    return conditions.length === 0 ? update : sql`${update} where ${and(conditions)}`;
  }
  // CASE keeps PostgreSQL from counting rows that the conditions exclude.
  return conditions.length === 0
    ? sql`${update} where ${counted}`
    : sql`${update} where case when ${and(conditions)} then ${counted} else false end`;
}

export const insertedColumn: Sql = ownName("inserted");

/** Whether RETURNING has {@linkcode insertedColumn}. */
export function isCountedByXmax(plan: MutatePlan): boolean {
  return plan.countsByXmax === true && plan.kind === "insert" && plan.nested === null &&
    plan.conflict?.resolution === "merge";
}

/** Renders the keys of a unique index and its condition, by which PostgreSQL finds the index. */
function conflictTarget({ columns, expressions, predicate }: ConflictTarget): Sql {
  const keys = columns === null
    ? expressions.map((text) => sql`(${catalogueSql(text)})`)
    : columns.map((name) => ident(name));
  const where = predicate === null ? emptySql : sql` where ${catalogueSql(predicate)}`;
  return sql`(${join(keys)})${where}`;
}

const oldRow = ownName("old");

/** Alias of the row before the write, which is NULL for an inserted row. */
export function oldRowAlias({ mergeAction }: MutatePlan): Sql {
  return mergeAction === "old" ? sql`with (old as ${oldRow}) ` : emptySql;
}

export function mergeAction(plan: MutatePlan): Sql {
  return sql`case when ${isInserted(plan)} then 'INSERT' else 'UPDATE' end`;
}

function isInserted({ mergeAction, relation }: MutatePlan): Sql {
  if (mergeAction === "xmax") return sql`${nameOf(relation)}.xmax = 0`;
  // The key is read, because reading the whole row takes more privileges.
  const [key] = relation.primaryKey;
  return key === undefined
    ? sql`${oldRow} is not distinct from null`
    : sql`${oldRow}.${ident(key)} is null`;
}
