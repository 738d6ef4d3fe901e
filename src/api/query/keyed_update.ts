/** Renders an update whose body has one object per row. The body becomes a separate table, because
 * both the update and the checks of its rows read it. @module */
import type { MutatePlan } from "../plan/write/mutate_plan.ts";
import type { WrittenColumn } from "../plan/write/written_column.ts";
import type { RowKey } from "../plan/write/keyed_update.ts";
import {
  and,
  ident,
  join,
  literal,
  or,
  ownName,
  smallNumber,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { renderConditions } from "./condition.ts";
import { nameOf } from "./field.ts";
import { bodyAlias, numberedRows, rowNumber, rowObject } from "./written_rows.ts";

export type KeyedUpdate = Extract<MutatePlan, { kind: "update" }> & { readonly key: RowKey };

/** Rows of RETURNING, with the number of the matching row in the body. */
const updated = ownName("updated");

export function isKeyed(plan: MutatePlan): plan is KeyedUpdate {
  return plan.kind === "update" && plan.key !== null;
}

/** Renders the common table expressions of the update; the last one is `source`. */
export function renderKeyedUpdate(
  plan: KeyedUpdate,
  source: Sql,
  returned: readonly { readonly name: Sql; readonly column: Sql }[],
): Sql {
  const { key, rows } = plan;
  const table = nameOf(plan.relation);
  const every = { ...rows, columns: [...key.columns, ...rows.columns] };
  const body = sql`${bodyAlias} as materialized (${numberedRows(every, key.keysVary)})`;
  const conditions = and([...matches(plan, table), ...renderConditions(plan.where, table)]);
  const names = returned.map(({ name }) => name);
  const columns = returned.map(({ column }) => column);
  const returning = join([...columns, sql`${bodyAlias}.${rowNumber}`]);
  const outputs = names.length === 0 ? sql`1` : join(names);
  // Without columns to write, no row changes; the rows that match are still counted.
  if (rows.columns.length === 0) {
    const matched = sql`select ${returning} from ${table}, ${bodyAlias} where ${conditions}`;
    return sql`${body}, ${updated} as (${matched}), ${source} as (select ${outputs} from ${updated} where false)`;
  }
  const assignments = join(rows.columns.map((column) => assignment(column, plan, table)));
  const update = sql`update ${table} set ${assignments} from ${bodyAlias} where ${conditions}`;
  return sql`${body}, ${updated} as (${update} returning ${returning}), ${source} as (select ${outputs} from ${updated} order by ${rowNumber})`;
}

function assignment({ name }: WrittenColumn, { key }: KeyedUpdate, table: Sql): Sql {
  const column = ident(name);
  const value = sql`${bodyAlias}.${column}`;
  if (!key.keysVary) return sql`${column} = ${value}`;
  const isMissing = sql`(${bodyAlias}.${rowObject} -> ${literal(name)}) is null`;
  return sql`${column} = case when ${isMissing} then ${table}.${column} else ${value} end`;
}

function matches({ key }: KeyedUpdate, table: Sql): readonly Sql[] {
  return key.columns.map(({ name }) => sql`${table}.${ident(name)} = ${bodyAlias}.${ident(name)}`);
}

export function keyChecks({ key }: KeyedUpdate): readonly Sql[] {
  const names = key.columns.map(({ name }) => ident(name));
  const isIncomplete = or(names.map((name) => sql`${name} is null`));
  const incomplete = sql`from ${bodyAlias} where ${isIncomplete}`;
  const whichIsNull = sql`case ${
    join(
      key.columns.map(({ name }) => sql`when ${ident(name)} is null then ${literal(name)}`),
      sql` `,
    )
  } end`;
  const repeated = sql`select ${rowNumber}, pg_catalog.row_number() over (partition by ${
    join(names)
  } order by ${rowNumber}) as ${ownName("repetition")} from ${bodyAlias}`;
  const checks = [
    sql`(select pg_catalog.min(${rowNumber}) ${incomplete})::pg_catalog.text`,
    sql`(select ${whichIsNull} ${incomplete} order by ${rowNumber} limit 1)`,
    sql`(select pg_catalog.min(${rowNumber}) from (${repeated}) as ${ownName("repeated")} where ${
      ownName("repetition")
    } > 1)::pg_catalog.text`,
  ];
  if (!key.mustMatch) return checks;
  const members = key.columns.map(({ name }) => sql`${literal(name)}, ${ident(name)}`);
  const unmatched =
    sql`from ${bodyAlias} where ${rowNumber} not in (select ${rowNumber} from ${updated})`;
  const unmatchedKeys = sql`select pg_catalog.json_build_object(${join(members)}) as ${
    ownName("key")
  } ${unmatched} order by ${rowNumber} limit ${smallNumber("10")}`;
  return [
    ...checks,
    sql`(select pg_catalog.count(*) ${unmatched})::pg_catalog.text`,
    sql`(select pg_catalog.json_agg(${
      ownName("key")
    })::pg_catalog.text from (${unmatchedKeys}) as ${ownName("keys")})`,
  ];
}
