/**
 * The statement that writes, as a common table expression whose rows are what RETURNING gives.
 *
 * @module
 */
import type { MutatePlan, WrittenColumn, WrittenRows } from "../plan/mutate_plan.ts";
import type { QualifiedName, Relation } from "../schema_cache/schema_cache.ts";
import {
  and,
  catalogueSql,
  emptySql,
  ident,
  join,
  literal,
  param,
  type Sql,
  sql,
} from "../sql/fragment.ts";
import { renderConditions, renderOrder } from "./condition.ts";

/** Name of the setting that counts the rows which took the update path of an upsert. */
export const updatedRowsSetting = "svc.updated";

/** Alias of the expanded body. */
const body = ident("svc_body");
/** Alias of the body's objects, where defaults are put into them. */
const row = ident("svc_row");

/** `insert|update|delete … returning …` */
export function renderMutation(plan: MutatePlan): Sql {
  const returned = returnedColumns(plan);
  switch (plan.kind) {
    case "insert":
      return sql`${renderInsert(plan)} returning ${returned}`;
    case "update":
      return plan.rows.columns.length === 0
        ? nothingUpdated(plan)
        : sql`${renderUpdate(plan)} returning ${returned}`;
    case "delete":
      return sql`delete from ${tableOf(plan.relation)}${whereOf(plan)} returning ${returned}`;
    default:
      return plan satisfies never;
  }
}

function renderInsert(plan: Extract<MutatePlan, { kind: "insert" }>): Sql {
  const { rows, where } = plan;
  const names = join(rows.columns.map(({ name }) => ident(name)));
  const target = rows.columns.length === 0 ? emptySql : sql` (${names})`;
  // The conditions are about the values that would be written.
  const source = where === null
    ? selectRows(rows)
    : sql`select ${names} from (${selectRows(rows)}) as ${body} where ${
      and(renderConditions(where, body))
    }`;
  return sql`insert into ${tableOf(plan.relation)}${target} ${source}${conflictClause(plan)}`;
}

/** `select … from <the body's rows>`: one row of defaults per object when nothing is written. */
function selectRows(rows: WrittenRows): Sql {
  if (rows.columns.length === 0) return sql`select from ${emptyObjects(rows)}`;
  const values = rows.columns.map((column) =>
    sql`${writtenValue(column, rows)} as ${ident(column.name)}`
  );
  return sql`select ${join(values)} from ${expandedRows(rows)}`;
}

/** One row per object of a body whose objects have no keys. */
function emptyObjects({ json, shape }: WrittenRows): Sql {
  return shape === "object"
    ? sql`(values (1)) as ${body}`
    : sql`json_array_elements(${param(json)}::json) as ${body}`;
}

/** `json_to_recordset($1) as svc_body("a" int, …)` */
function expandedRows(rows: WrittenRows): Sql {
  const { json, shape, columns } = rows;
  const types = join(columns.map(columnDefinition));
  if (!rows.defaults) {
    const expand = shape === "object" ? sql`json_to_record` : sql`json_to_recordset`;
    return sql`${expand}(${param(json)}::json) as ${body}(${types})`;
  }
  const objects = shape === "object"
    ? sql`(select ${param(json)}::jsonb) as ${row}(value)`
    : sql`jsonb_array_elements(${param(json)}::jsonb) as ${row}(value)`;
  return sql`${objects}, lateral jsonb_to_record(${completed(columns)}) as ${body}(${types})`;
}

/**
 * The row's object with the defaults of the columns that it lacks. They go through JSON like what was
 * sent, so that they are converted to the column's type however they are typed themselves.
 */
function completed(columns: readonly WrittenColumn[]): Sql {
  const defaults = columns.flatMap((column) => {
    if (column.default === null || column.fromJson !== null) return [];
    const name = literal(column.name);
    const value = sql`jsonb_build_object(${name}, ${catalogueSql(column.default)})`;
    return [sql`case when ${has(column)} then '{}' else ${value} end`];
  });
  return join([...defaults, sql`${row}.value`], sql` || `);
}

/** Whether the row's object has the column's key. */
function has({ name }: WrittenColumn): Sql {
  return sql`${row}.value ? ${literal(name)}`;
}

function columnDefinition({ name, type, fromJson }: WrittenColumn): Sql {
  return sql`${ident(name)} ${fromJson === null ? catalogueSql(type) : sql`json`}`;
}

function writtenValue(column: WrittenColumn, { defaults }: WrittenRows): Sql {
  const plain = sql`${body}.${ident(column.name)}`;
  if (column.fromJson === null) return plain;
  const converted = sql`${functionName(column.fromJson)}(${plain})`;
  // A default is no JSON that the function would know how to read.
  return defaults && column.default !== null
    ? sql`case when ${has(column)} then ${converted} else ${catalogueSql(column.default)} end`
    : converted;
}

function conflictClause({ conflict, rows }: Extract<MutatePlan, { kind: "insert" }>): Sql {
  if (conflict === null) return emptySql;
  const target = join(conflict.target.map((name) => ident(name)));
  if (conflict.resolution === "ignore") return sql` on conflict (${target}) do nothing`;
  const assignments = rows.columns.map(({ name }) => sql`${ident(name)} = excluded.${ident(name)}`);
  const setting = literal(updatedRowsSetting);
  return sql` on conflict (${target}) do update set ${
    join(assignments)
  } where set_config(${setting}, (coalesce(nullif(current_setting(${setting}, true), ''), '0')::int + 1)::text, true) <> ''`;
}

function renderUpdate(plan: Extract<MutatePlan, { kind: "update" }>): Sql {
  const { rows } = plan;
  const assignments = rows.columns.map(({ name }) => sql`${ident(name)} = ${body}.${ident(name)}`);
  const values = rows.columns.map((column) =>
    sql`${writtenValue(column, rows)} as ${ident(column.name)}`
  );
  return sql`update ${tableOf(plan.relation)} set ${join(assignments)} from (select ${
    join(values)
  } from ${expandedRows(rows)} limit 1) as ${body}${whereOf(plan)}`;
}

/** A body without columns changes nothing, and still answers with the right columns. */
function nothingUpdated(plan: MutatePlan): Sql {
  if (plan.returning === "none") return sql`select 1 where false`;
  return sql`select ${returnedColumns(plan)} from ${tableOf(plan.relation)} where false`;
}

function whereOf(plan: Extract<MutatePlan, { kind: "update" | "delete" }>): Sql {
  const table = tableOf(plan.relation);
  const conditions = renderConditions(plan.where, table);
  if (plan.limited === null) {
    return conditions.length === 0 ? emptySql : sql` where ${and(conditions)}`;
  }
  const { order, limit, offset } = plan.limited;
  const keys = join(order.map(({ field }) => sql`${table}.${ident(field.name)}`));
  const filters = conditions.length === 0 ? emptySql : sql` where ${and(conditions)}`;
  const window = sql` limit ${limit === null ? sql`all` : param(String(limit))} offset ${
    param(String(offset))
  }`;
  return sql` where (${keys}) in (select ${keys} from ${table}${filters} order by ${
    renderOrder(order, table, plan.relation)
  }${window})`;
}

function returnedColumns({ returning: columns, relation }: MutatePlan): Sql {
  const table = tableOf(relation);
  if (columns === "none") return sql`1`;
  if (columns === "all") return sql`${table}.*`;
  return columns.length === 0 ? sql`1` : join(columns.map((name) => sql`${table}.${ident(name)}`));
}

function tableOf({ schema, name }: Relation | QualifiedName): Sql {
  return ident(schema, name);
}

function functionName({ schema, name }: QualifiedName): Sql {
  return ident(schema, name);
}
