/** Renders the statement of a write. @module */
import { mergeActionColumn } from "../plan/write/merge_action.ts";
import type { MutatePlan } from "../plan/write/mutate_plan.ts";
import type { WritePrecondition } from "../plan/write/preconditions.ts";
import type { RowVersion } from "../plan/write/row_version.ts";
import type { RowLock } from "../request/url/query_types.ts";
import {
  and,
  emptySql,
  ident,
  join,
  ownName,
  param,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { renderConditions, renderOrder } from "./condition.ts";
import { columnName, nameOf } from "./field.ts";
import { isKeyed, renderKeyedUpdate } from "./keyed_update.ts";
import {
  conflictClause,
  insertedColumn,
  isCountedByXmax,
  mergeAction,
  oldRowAlias,
} from "./on_conflict.ts";
import { isNested, renderRootRows, rootMergeAction } from "./nested_insert.ts";
import { patchAssignments, patchSource, patchTests } from "./patch.ts";
import { hasVersion, renderVersion, versionColumn } from "./row_version.ts";
import { bodyAlias, expandedRows, selectRows, writtenValues } from "./written_rows.ts";

/** Renders the tables of a mutation. `version` is the row version to return as an additional
 * column, or null. */
export function renderMutationTables(
  plan: MutatePlan,
  { source, version }: { readonly source: Sql; readonly version: RowVersion | null },
): Sql {
  const { relation } = plan;
  const table = nameOf(relation);
  const inserted = isCountedByXmax(plan)
    ? [{ name: insertedColumn, column: sql`(${table}.xmax = 0) as ${insertedColumn}` }]
    : [];
  const versions = version === null ? inserted : [...inserted, {
    name: versionColumn,
    column: sql`${renderVersion(version, table)} as ${versionColumn}`,
  }];
  if (!isKeyed(plan)) {
    const columns = join([returnedColumns(plan), ...versions.map(({ column }) => column)]);
    const write = isNested(plan) ? renderRootRows(plan, columns) : renderMutation(plan, columns);
    return sql`${source} as (${write})`;
  }
  const names = returnedNames(plan);
  const all = names === "all" ? relation.columns.map(({ name }) => name) : names;
  const returned = all.map((text) => {
    const name = ident(text);
    return { name, column: sql`${table}.${name}` };
  });
  return renderKeyedUpdate(plan, source, [...returned, ...versions]);
}

function renderMutation(plan: MutatePlan, returned: Sql): Sql {
  switch (plan.kind) {
    case "insert":
      return sql`${renderInsert(plan)} returning ${oldRowAlias(plan)}${returned}`;
    case "update":
      return plan.rows.columns.length === 0
        ? nothingUpdated(plan, returned)
        : sql`${renderUpdate(plan)} returning ${returned}`;
    case "patch":
      return renderPatch(plan, returned);
    case "delete":
      return sql`delete from ${nameOf(plan.relation)}${whereOf(plan)} returning ${returned}`;
    default:
      return plan satisfies never;
  }
}

function renderInsert(plan: Extract<MutatePlan, { kind: "insert" }>): Sql {
  const { rows, where } = plan;
  const names = join(rows.columns.map(({ name }) => ident(name)));
  const target = rows.columns.length === 0 ? emptySql : sql` (${names})`;
  // PUT: the conditions test the values to write, and not rows of the table.
  const source = where === null
    ? selectRows(rows)
    : sql`select ${names} from (${selectRows(rows)}) as ${bodyAlias} where ${
      and([...renderConditions(where, bodyAlias), ...existing(plan)])
    }`;
  return sql`insert into ${nameOf(plan.relation)}${target} ${source}${upsertClause(plan)}`;
}

/** Renders the condition that the row to write exists. If it is deleted meanwhile, the write
 * inserts it; a check of the result then rolls back. */
function existing({ precondition, relation }: MutatePlan): readonly Sql[] {
  if (precondition === undefined || precondition.kind === "absent") return [];
  const row = ownName("existing");
  const isSame = relation.primaryKey.map((name) =>
    sql`${row}.${ident(name)} = ${bodyAlias}.${ident(name)}`
  );
  const conditions = and([...isSame, ...preconditionOf(precondition, row)]);
  return [sql`exists (select from ${nameOf(relation)} as ${row} where ${conditions})`];
}

function preconditionOf(precondition: WritePrecondition | undefined, row: Sql): readonly Sql[] {
  return precondition?.kind === "version" ? [hasVersion(precondition, row)] : [];
}

function upsertClause(plan: Extract<MutatePlan, { kind: "insert" }>): Sql {
  const { conflict, relation, precondition } = plan;
  const mayUpdate = precondition?.kind !== "absent";
  const applied = conflict === null || mayUpdate
    ? conflict
    : { ...conflict, resolution: "ignore" as const };
  const conditions = preconditionOf(precondition, nameOf(relation));
  return conflictClause(applied, relation, { isCounted: !isCountedByXmax(plan), conditions });
}

function renderUpdate(plan: Extract<MutatePlan, { kind: "update" }>): Sql {
  const { rows } = plan;
  const assignments = rows.columns.map(({ name }) =>
    sql`${ident(name)} = ${bodyAlias}.${ident(name)}`
  );
  return sql`update ${nameOf(plan.relation)} set ${join(assignments)} from (select ${
    join(writtenValues(rows))
  } from ${expandedRows(rows, "update")} limit 1) as ${bodyAlias}${whereOf(plan)}`;
}

/** Renders a write that changes no row, with the columns of RETURNING. */
function nothingUpdated(plan: MutatePlan, returned: Sql): Sql {
  if (returnedNames(plan).length === 0) return sql`select 1 where false`;
  return sql`select ${returned} from ${nameOf(plan.relation)} where false`;
}

/** Renders the update of a patch document. Without columns to write, tests still read each row. */
function renderPatch(plan: Extract<MutatePlan, { kind: "patch" }>, returned: Sql): Sql {
  const table = nameOf(plan.relation);
  const { patches: { written, tests }, document } = plan;
  const scope = { table, source: bodyAlias };
  const body = patchSource(document, bodyAlias);
  if (written.length > 0) {
    const assignments = patchAssignments(written, scope);
    return sql`update ${table} set ${assignments} from ${body}${
      whereOf(plan)
    } returning ${returned}`;
  }
  if (tests.length === 0) return nothingUpdated(plan, returned);
  const rows = sql`(select ${patchTests(tests, scope)} as holds from ${table}, ${body}${
    whereOf(plan)
  } offset 0)`;
  return sql`select ${returned} from ${table} where (select pg_catalog.count(*) from ${rows} as ${
    ownName("tested")
  } where holds) < 0`;
}

function whereOf(plan: Extract<MutatePlan, { kind: "update" | "patch" | "delete" }>): Sql {
  const table = nameOf(plan.relation);
  const conditions = renderConditions(plan.where, table);
  // Outside of the subquery, PostgreSQL tests preconditions again on rows updated meanwhile.
  const preconditions = preconditionOf(plan.precondition, table);
  if (plan.limited === null) {
    const all = [...conditions, ...preconditions];
    return all.length === 0 ? emptySql : sql` where ${and(all)}`;
  }
  const { key, order, limit, offset, lock } = plan.limited;
  const keys = join(key.map((name) => sql`${table}.${ident(name)}`));
  const filters = conditions.length === 0 ? emptySql : sql` where ${and(conditions)}`;
  const window = sql` limit ${limit === null ? sql`all` : param(String(limit))} offset ${
    param(String(offset))
  }`;
  const rows = sql`select ${keys} from ${table}${filters} order by ${
    renderOrder(order, table, plan.relation)
  }${window}`;
  const picked = sql`(${keys}) in (${lock === null ? rows : lockedRows(rows, lock)})`;
  // The conditions are repeated for a row that another transaction changed meanwhile.
  return sql` where ${and([picked, ...conditions, ...preconditions])}`;
}

const lockClauses: Readonly<Record<RowLock, Sql>> = {
  skip: sql`skip locked`,
  nowait: sql`nowait`,
};

/**
 * Renders locked rows in a materialized CTE. A join that repeats the scan would lock other rows.
 */
function lockedRows(rows: Sql, lock: RowLock): Sql {
  const picked = ownName("picked");
  return sql`with ${picked} as materialized (${rows} for update ${
    lockClauses[lock]
  }) select * from ${picked}`;
}

function returnedNames({ returning, kept = [] }: MutatePlan): readonly string[] | "all" {
  if (returning === "all") return "all";
  const names = returning === "none" ? [] : returning;
  return kept.length === 0 ? names : [...new Set([...names, ...kept])];
}

function returnedColumns(plan: MutatePlan): Sql {
  const { relation } = plan;
  const columns = returnedNames(plan);
  const table = nameOf(relation);
  if (columns === "all") return sql`${table}.*`;
  if (columns.length === 0) return sql`1`;
  return join(
    columns.map((name) =>
      plan.mergeAction !== null && name === mergeActionColumn
        ? sql`${isNested(plan) ? rootMergeAction : mergeAction(plan)} as ${columnName(name)}`
        : sql`${table}.${ident(name)}`
    ),
  );
}
