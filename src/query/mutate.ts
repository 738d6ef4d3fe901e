/**
 * Renders the statement of a write. The request's query uses it as a common table expression over
 * the rows of RETURNING.
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

/** Name of the setting that counts the rows that an upsert updates. */
export const updatedRowsSetting = "svc.updated";

/** Alias of the rows of the body. */
const body = ident("svc_body");
/** Alias of the body's objects, before defaults are added to them. */
const row = ident("svc_row");

/** Renders `insert|update|delete … returning …`. */
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
  // The conditions apply to the values to write.
  const source = where === null
    ? selectRows(rows)
    : sql`select ${names} from (${selectRows(rows)}) as ${body} where ${
      and(renderConditions(where, body))
    }`;
  return sql`insert into ${tableOf(plan.relation)}${target} ${source}${conflictClause(plan)}`;
}

/**
 * Renders `select … from <rows of the body>`. Without columns, each object becomes one row of
 * defaults.
 */
function selectRows(rows: WrittenRows): Sql {
  if (rows.columns.length === 0) return sql`select from ${emptyObjects(rows)}`;
  const values = rows.columns.map((column) =>
    sql`${writtenValue(column, rows)} as ${ident(column.name)}`
  );
  return sql`select ${join(values)} from ${expandedRows(rows)}`;
}

/** Returns one row for each object of a body whose objects have no keys. */
function emptyObjects({ json, shape }: WrittenRows): Sql {
  return shape === "object"
    ? sql`(values (1)) as ${body}`
    : sql`json_array_elements(${param(json)}::json) as ${body}`;
}

/** Renders `json_to_recordset($1) as svc_body("a" int, …)`. */
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
 * Returns the row's object with defaults for the missing columns. Defaults pass through JSON like
 * the values of the body, which converts them to the column's type.
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

/** Renders the test that the row's object has the column's key. */
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
  // A default is SQL, not JSON, so the conversion function cannot read it.
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

/**
 * Renders the update of a body without columns: no row changes, and the result has the columns of
 * RETURNING.
 */
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
