/** Renders the rows of a body, which PostgreSQL expands from JSON. @module */
import type { WrittenColumn, WrittenRows } from "../plan/write/written_column.ts";
import {
  catalogueSql,
  ident,
  join,
  literal,
  ownName,
  param,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { renderConversion } from "./field.ts";

export const bodyAlias: Sql = ownName("body");
/** Column of {@linkcode numberedRows}: the position of the row in the body, from 1. */
export const rowNumber: Sql = ownName("n");
/** Column of {@linkcode numberedRows}: the row's object. */
export const rowObject: Sql = ownName("value");
/** Alias of the body's objects before defaults are added. Its column is `value`. */
export const rowAlias: Sql = ownName("row");

/** Renders the rows. Without columns, each object becomes a row of defaults. */
export function selectRows(rows: WrittenRows): Sql {
  if (rows.columns.length === 0) return sql`select from ${emptyObjects(rows)}`;
  return sql`select ${join(writtenValues(rows))} from ${expandedRows(rows, "insert")}`;
}

/** Renders a row for each object of a body whose objects have no keys. */
function emptyObjects({ json, shape }: WrittenRows): Sql {
  return shape === "object"
    ? sql`(values (1)) as ${bodyAlias}`
    : sql`pg_catalog.json_array_elements(${param(json)}::pg_catalog.json) as ${bodyAlias}`;
}

/** Renders `json_to_recordset($1) as "svc:body"("a" int, …)`. Citus accepts only a plain set as the
 * rows of an update. */
export function expandedRows(rows: WrittenRows, statement: "insert" | "update"): Sql {
  const { json, shape, columns } = rows;
  if (!rows.defaults) {
    const body = sql`${param(json)}::pg_catalog.json`;
    const alias = sql`${bodyAlias}(${join(columns.map(columnDefinition))})`;
    if (shape === "array") return sql`pg_catalog.json_to_recordset(${body}) as ${alias}`;
    if (statement === "insert") return sql`pg_catalog.json_to_record(${body}) as ${alias}`;
    // The first cast refuses a body of several values, which `columns` in the URL lets pass unread.
    return sql`pg_catalog.json_to_recordset(('[' || ${body}::pg_catalog.text || ']')::pg_catalog.json) as ${alias}`;
  }
  const objects = shape === "object"
    ? sql`(select ${param(json)}::pg_catalog.jsonb) as ${rowAlias}(value)`
    : sql`pg_catalog.jsonb_array_elements(${param(json)}::pg_catalog.jsonb) as ${rowAlias}(value)`;
  return sql`${objects}, lateral ${objectRow(rows)}`;
}

/** Renders objects to which defaults are added as JSON, so that PostgreSQL converts them to the
 * column's type like other values. */
function completed(columns: readonly WrittenColumn[]): Sql {
  const defaults = columns.flatMap((column) => {
    if (column.default === null || column.fromJson !== null) return [];
    const name = literal(column.name);
    const value = sql`pg_catalog.jsonb_build_object(${name}, ${catalogueSql(column.default)})`;
    return [sql`case when ${has(column)} then '{}' else ${value} end`];
  });
  return join([...defaults, sql`${rowAlias}.value`], sql` || `);
}

/** Renders the test that the row's object has the column's key. */
function has({ name }: WrittenColumn): Sql {
  return sql`${rowAlias}.value ? ${literal(name)}`;
}

export function columnDefinition(
  { name, type, fromJson }: Pick<WrittenColumn, "name" | "type" | "fromJson">,
): Sql {
  return sql`${ident(name)} ${fromJson === null ? catalogueSql(type) : sql`pg_catalog.json`}`;
}

/** Renders the values of a row under the names of their columns. */
export function writtenValues(rows: WrittenRows): readonly Sql[] {
  return rows.columns.map((column) => sql`${writtenValue(column, rows)} as ${ident(column.name)}`);
}

export function writtenValue(
  column: WrittenColumn,
  { defaults }: Pick<WrittenRows, "defaults">,
): Sql {
  const plain = sql`${bodyAlias}.${ident(column.name)}`;
  if (column.fromJson === null) return plain;
  const converted = fromJson(plain, column);
  // A default is SQL, not JSON, so the conversion function cannot read it.
  return defaults && column.default !== null
    ? sql`case when ${has(column)} then ${converted} else ${catalogueSql(column.default)} end`
    : converted;
}

export function fromJson(
  json: Sql,
  { fromJson: convert, type }: Pick<WrittenColumn, "fromJson" | "type">,
): Sql {
  switch (convert) {
    case "text":
      return sql`cast(${json} #>> '{}' as ${catalogueSql(type)})`;
    case "hstore":
      return sql`cast(${hstoreText(json)} as ${catalogueSql(type)})`;
    case "hstore[]": {
      const texts = sql`array(select ${hstoreText(sql`${element}.value`)}
        from pg_catalog.json_array_elements(${json}) with ordinality as ${element}(value, n) order by n)`;
      return sql`cast(case pg_catalog.json_typeof(${json}) when 'array' then ${texts}
        else cast(${json} #>> '{}' as pg_catalog.text[]) end as ${catalogueSql(type)})`;
    }
    default:
      return renderConversion(json, convert);
  }
}

const element = ownName("element");

/** Renders text that hstore reads, from an object or from a string that contains it. */
function hstoreText(json: Sql): Sql {
  const quoted = (text: Sql) =>
    sql`'"' || pg_catalog.regexp_replace(${text}, '(["\\\\])', '\\\\\\1', 'g') || '"'`;
  const pairs = sql`select coalesce(pg_catalog.string_agg(${quoted(sql`key`)} || '=>' || coalesce(${
    quoted(sql`value`)
  }, 'NULL'), ','), '') from pg_catalog.json_each_text(${json})`;
  return sql`case pg_catalog.json_typeof(${json}) when 'object' then (${pairs}) else ${json} #>> '{}' end`;
}

/** Renders a query of the body's rows with their numbers and, if requested, their objects. */
export function numberedRows(rows: WrittenRows, withObjects: boolean): Sql {
  const { json, shape, defaults } = rows;
  const type = defaults ? sql`jsonb` : sql`json`;
  const objects = shape === "object"
    ? sql`(select ${param(json)}::${type}, 1) as ${rowAlias}(value, n)`
    : sql`${type}_array_elements(${param(json)}::${type}) with ordinality as ${rowAlias}(value, n)`;
  const selected = [
    sql`${rowAlias}.n as ${rowNumber}`,
    ...(withObjects ? [sql`${rowAlias}.value as ${rowObject}`] : []),
    ...writtenValues(rows),
  ];
  return sql`select ${join(selected)} from ${objects}, lateral ${objectRow(rows)}`;
}

/** Renders an object of the body as a row: `json_to_record("svc:row".value) as "svc:body"("a" int, …)`. */
export function objectRow({ columns, defaults }: Pick<WrittenRows, "columns" | "defaults">): Sql {
  const types = join(columns.map(columnDefinition));
  return defaults
    ? sql`pg_catalog.jsonb_to_record(${completed(columns)}) as ${bodyAlias}(${types})`
    : sql`pg_catalog.json_to_record(${rowAlias}.value) as ${bodyAlias}(${types})`;
}
