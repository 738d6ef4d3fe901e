/**
 * Renders the expressions that build a body from rows, inside PostgreSQL.
 *
 * @module
 */
import type { BodyFormat } from "../plan/negotiate.ts";
import { ident, type Sql, sql } from "../sql/fragment.ts";
import { rowColumn, versionColumn } from "./row_version.ts";

/** Alias of the rows that the body is built from. */
export const rowsAlias = ident("svc_t");

/** The part of each row that goes into the body: all columns, or the value of one column. */
export interface BodyRows {
  /** The only column of a result that is not a row type; null for rows. */
  readonly scalarColumn: string | null;
  /** True if the result is one value or one row, not an array. */
  readonly single: boolean;
  /** Whether each row is the value of a column, beside its version. Default: false. */
  readonly isVersioned?: boolean;
}

/**
 * Returns the expression over the rows (as {@linkcode rowsAlias}) that builds the body. The binary
 * form of its type is the bytes of the body: a cast from `json` to `text` would copy them twice.
 */
export function bodyExpression(format: BodyFormat, rows: BodyRows): Sql {
  const element = elementOf(rows);
  switch (format.kind) {
    case "array":
      return stripped(rows.single ? first(element) : all(element), format.stripped);
    case "object":
      // One row of a set is an object, even when the database gives its only column no name.
      return stripped(first(rows.single ? element : wholeRow(rows)), format.stripped);
    case "csv":
      return csvBody;
    case "ndjson":
      return sql`coalesce(string_agg(${jsonLines(format, rows)}, ''), '')`;
    case "geojson":
      return geojson(wholeRow(rows));
    case "aggregate":
      return bytes(aggregated(format, element), format.binary);
    case "value":
      return onlyValue(element, format.binary);
    default:
      return format satisfies never;
  }
}

/** Returns the part of each row that goes into the body. */
export function elementOf(rows: Omit<BodyRows, "single">): Sql {
  return rows.scalarColumn === null
    ? wholeRow(rows)
    : sql`${rowsAlias}.${ident(rows.scalarColumn)}`;
}

/** Returns the version of the only row, as an aggregate; NULL for other numbers of rows. */
export function onlyVersion({ isVersioned }: Pick<BodyRows, "isVersioned">): Sql {
  if (isVersioned !== true) return sql`null::text`;
  return sql`case when count(*) = 1 then min(${rowsAlias}.${versionColumn}) end`;
}

/** Returns the row with all its columns. */
export function wholeRow({ isVersioned }: Pick<BodyRows, "isVersioned">): Sql {
  return isVersioned === true ? sql`${rowsAlias}.${rowColumn}` : sql`${rowsAlias}.*`;
}

type LinesFormat = Extract<BodyFormat, { kind: "ndjson" }>;

/** Returns one row, or the value of its only column, as a line of JSON without its end. */
export function jsonLine(
  format: LinesFormat,
  { scalarColumn }: Pick<BodyRows, "scalarColumn">,
): Sql {
  const json = scalarColumn === null
    ? sql`pg_catalog.row_to_json(${rowsAlias}.*)`
    : columnJson(scalarColumn);
  return onOneLine(stripped(json, format.stripped));
}

/** Returns the lines of one row, each with its end: several for a single value that is an array. */
function jsonLines(format: LinesFormat, rows: BodyRows): Sql {
  const { scalarColumn, single } = rows;
  if (!single || scalarColumn === null) return sql`${jsonLine(format, rows)} || E'\\n'`;
  const value = sql`"svc_value"."json"`;
  const elements = sql`(select coalesce(string_agg(${
    onOneLine(sql`"svc_element"."json"`)
  } || E'\\n', '' order by "svc_element"."number"), '')
    from pg_catalog.json_array_elements(${value}) with ordinality as "svc_element"("json", "number"))`;
  // OFFSET 0 makes PostgreSQL compute the value once.
  return sql`(select case pg_catalog.json_typeof(${value}) when 'array' then ${elements}
    else ${onOneLine(value)} || E'\\n' end
    from (select ${
    stripped(columnJson(scalarColumn), format.stripped)
  } as "json" offset 0) as "svc_value")`;
}

function columnJson(column: string): Sql {
  return sql`coalesce(pg_catalog.to_json(${rowsAlias}.${ident(column)}), 'null')`;
}

/** Returns the text of JSON without line breaks: values of type json keep the white space between tokens. */
function onOneLine(json: Sql): Sql {
  return sql`replace((${json})::text, E'\\n', ' ')`;
}

/** Returns the same expression for a single row with one value of a built-in type. */
export function valueExpression(
  { stripped: strip }: Extract<BodyFormat, { kind: "array" | "object" }>,
  column: string,
): Sql {
  const json = sql`pg_catalog.to_json(${rowsAlias}.${ident(column)})`;
  return stripped(sql`coalesce(${json}, 'null')`, strip);
}

function all(element: Sql): Sql {
  return sql`coalesce(pg_catalog.json_agg(${element}), '[]')`;
}

function first(element: Sql): Sql {
  return sql`coalesce(pg_catalog.json_agg(${element})->0, 'null')`;
}

/** Removes members that are null, if requested. */
export function stripped(json: Sql, strip: boolean): Sql {
  return strip ? sql`json_strip_nulls(${json})` : json;
}

/**
 * Header and lines of CSV. Each row carries its number, so the header comes from the first row
 * without collecting all rows.
 */
const csvBody: Sql =
  sql`coalesce((select string_agg(svc_key, ',') from json_object_keys((pg_catalog.json_agg(${rowsAlias}.svc_row) filter (where ${rowsAlias}.svc_number = 1))->0) as svc_key), '') || E'\n' || coalesce(string_agg(substring(${rowsAlias}.svc_row::text, 2, length(${rowsAlias}.svc_row::text) - 2), E'\n' order by ${rowsAlias}.svc_number), '')`;

/**
 * `st_asgeojson` is a function of PostGIS. It is not qualified, because PostGIS may be installed in
 * any schema.
 */
function geojson(row: Sql): Sql {
  return sql`pg_catalog.json_build_object('type', 'FeatureCollection', 'features', coalesce(pg_catalog.json_agg(st_asgeojson(${row})::json), '[]'))`;
}

function aggregated(
  { function: { schema, name }, over }: Extract<BodyFormat, { kind: "aggregate" }>,
  element: Sql,
): Sql {
  const row = over === null ? element : sql`${element}::${ident(over.schema, over.name)}`;
  return sql`${ident(schema, name)}(${row})`;
}

/**
 * Returns the bytes of a `bytea`, or the text that the type's output function writes. A cast to
 * text differs: the output function of `xml` drops a leading line break and the encoding.
 */
function bytes(value: Sql, binary: boolean): Sql {
  return binary ? sql`${value}::bytea` : sql`pg_catalog.concat(${value})`;
}

/** Returns the value of the only row. */
function onlyValue(value: Sql, binary: boolean): Sql {
  return sql`string_agg(${bytes(value, binary)}, '')`;
}

/** Returns the FROM item, under {@linkcode rowsAlias}, that a format's expression reads. */
export function bodySource(format: BodyFormat, rows: Sql, isVersioned = false): Sql {
  if (format.kind !== "csv") return sql`(${rows}) as ${rowsAlias}`;
  const number = sql`row_number() over () as svc_number`;
  return isVersioned
    ? sql`(select ${rowColumn}, ${versionColumn}, ${number} from (${rows}) as svc_rows) as ${rowsAlias}`
    : sql`(select svc_row, ${number} from (${rows}) as svc_row) as ${rowsAlias}`;
}
