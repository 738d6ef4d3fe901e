/** Renders the expressions that build a body from rows, inside PostgreSQL. @module */
import type { BodyFormat } from "../plan/negotiate.ts";
import { emptySql, ident, join, literal, ownName, type Sql, sql } from "../../base/sql/fragment.ts";
import { rowColumn, versionColumn } from "./row_version.ts";

export const rowsAlias = ownName("t");

/** The text between two rows of an array, as `json_agg` writes it. */
export const rowSeparator = ", \n ";

export interface BodyRows {
  /** The single column of a result that is not a row type; null for rows. */
  readonly scalarColumn: string | null;
  /** Whether the result is one value or one row in place of an array. */
  readonly single: boolean;
  /** Whether a column has each row's version. A second column then has the row, except for CSV.
   * Default: false. */
  readonly isVersioned?: boolean;
}

/** Returns the expression of a body. The body is sent in binary form, because a cast from `json` to
 * `text` would copy it twice. */
export function bodyExpression(format: BodyFormat, rows: BodyRows): Sql {
  const element = elementOf(rows);
  switch (format.kind) {
    case "array":
      // Rows are joined as text, with the separator that `json_agg` writes.
      if (rows.isVersioned === true && !format.stripped) {
        return sql`coalesce('[' || pg_catalog.string_agg(${element}::pg_catalog.text, ${
          literal(rowSeparator)
        }) || ']', '[]')`;
      }
      return stripped(rows.single ? first(element) : all(element), format.stripped);
    case "object":
      // One row of a set is an object, even when the database gives its only column no name.
      return stripped(first(rows.single ? element : wholeRow(rows)), format.stripped);
    case "csv":
      return csvBody(format, rows);
    case "ndjson":
      return sql`coalesce(pg_catalog.string_agg(${jsonLines(format, rows)}, ''), '')`;
    case "geojson":
      return geojson(wholeRow(rows));
    case "aggregate":
      return bytes(aggregated(format, element), format.binary);
    case "value":
      return sql`pg_catalog.string_agg(${bytes(element, format.binary)}, '')`;
    default:
      return format satisfies never;
  }
}

export function elementOf(rows: Omit<BodyRows, "single">): Sql {
  return rows.scalarColumn === null
    ? wholeRow(rows)
    : sql`${rowsAlias}.${ident(rows.scalarColumn)}`;
}

/** Returns the version of the single row, as an aggregate; NULL unless there is exactly one row. */
export function onlyVersion({ isVersioned }: Pick<BodyRows, "isVersioned">): Sql {
  if (isVersioned !== true) return sql`null::pg_catalog.text`;
  return sql`case when pg_catalog.count(*) = 1 then pg_catalog.min(${rowsAlias}.${versionColumn}) end`;
}

function wholeRow({ isVersioned }: Pick<BodyRows, "isVersioned">): Sql {
  return isVersioned === true ? sql`${rowsAlias}.${rowColumn}` : sql`${rowsAlias}.*`;
}

type LinesFormat = Extract<BodyFormat, { kind: "ndjson" }>;

export function jsonLine(
  format: LinesFormat,
  { scalarColumn }: Pick<BodyRows, "scalarColumn">,
): Sql {
  const json = scalarColumn === null
    ? sql`pg_catalog.row_to_json(${rowsAlias}.*)`
    : columnJson(scalarColumn);
  return onOneLine(stripped(json, format.stripped));
}

/** Returns the lines of one row, each with a line feed. A single value that is an array has several lines. */
function jsonLines(format: LinesFormat, rows: BodyRows): Sql {
  const { scalarColumn, single } = rows;
  if (!single || scalarColumn === null) return sql`${jsonLine(format, rows)} || E'\\n'`;
  const value = sql`${ownName("value")}."json"`;
  const elements = sql`(select coalesce(pg_catalog.string_agg(${
    onOneLine(sql`${ownName("element")}."json"`)
  } || E'\\n', '' order by ${ownName("element")}."number"), '')
    from pg_catalog.json_array_elements(${value}) with ordinality as ${
    ownName("element")
  }("json", "number"))`;
  // OFFSET 0 makes PostgreSQL compute the value once.
  return sql`(select case pg_catalog.json_typeof(${value}) when 'array' then ${elements}
    else ${onOneLine(value)} || E'\\n' end
    from (select ${stripped(columnJson(scalarColumn), format.stripped)} as "json" offset 0) as ${
    ownName("value")
  })`;
}

function columnJson(column: string): Sql {
  return sql`coalesce(pg_catalog.to_json(${rowsAlias}.${ident(column)}), 'null')`;
}

/** Returns JSON text without line breaks. Values of type json keep the white space between tokens. */
function onOneLine(json: Sql): Sql {
  return sql`pg_catalog.replace((${json})::pg_catalog.text, E'\\n', ' ')`;
}

/** Returns a simpler {@linkcode bodyExpression} for a single row with one value of a built-in type. */
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

/** Returns the expression without members that are null, if requested. */
export function stripped(json: Sql, strip: boolean): Sql {
  return strip ? sql`pg_catalog.json_strip_nulls(${json})` : json;
}

type CsvFormat = Extract<BodyFormat, { kind: "csv" }>;

const numberColumn = ownName("number");

/**
 * Returns a body in CSV. Each row is followed by its number, so that the header can be made from
 * the first row without collecting all rows. Whole rows are only used here, because Citus cannot
 * pass a row without a type between servers.
 */
function csvBody(format: CsvFormat, { isVersioned = false }: BodyRows): Sql {
  const number = sql`${rowsAlias}.${numberColumn}`;
  const line = csvLine(format, [
    ...(isVersioned ? [versionOf] : []),
    sql`${number}::pg_catalog.text`,
  ]);
  const first = sql`(pg_catalog.json_agg(${rowsAlias}.*) filter (where ${number} = 1))->0`;
  const keys = sql`select key, n, pg_catalog.count(*) over () as width
    from pg_catalog.json_object_keys(${first}) with ordinality as ${ownName("key")}(key, n)`;
  const header = sql`select pg_catalog.string_agg(${headerField(format)}, ',' order by n)
    from (${keys}) as ${ownName("keys")} where n <= width - ${isVersioned ? sql`2` : sql`1`}`;
  return sql`coalesce((${header}), '') || E'\n' || coalesce(pg_catalog.string_agg(${line}, E'\n' order by ${number}), '')`;
}

/** Renders a name in the header as `key`. In PostgREST's form, names are never quoted. */
function headerField({ form }: CsvFormat): Sql {
  if (form === "row text") return sql`key`;
  return sql`case when key ~ '[",\\r\\n]' or key = '' then '"' || pg_catalog.replace(key, '"', '""') || '"' else key end`;
}

const versionOf = sql`${rowsAlias}.${versionColumn}`;

export function csvLine(format: CsvFormat, last: readonly Sql[]): Sql {
  const text = sql`${ownName("csv")}.text`;
  const lengths = last.map((column) => sql` - 1 - coalesce(pg_catalog.length(${column}), 0)`);
  const line = sql`pg_catalog.substring(${text}, 2, greatest(0, pg_catalog.length(${text}) - 2${
    join(lengths, emptySql)
  }))`;
  const whole = format.form === "row text" ? line : sql`coalesce(nullif(${line}, ''), 'NULL')`;
  return sql`(select ${whole}
    from (select ${csvRow(sql`(${rowsAlias}.*)`, format)} as text offset 0) as ${ownName("csv")})`;
}

/** Returns a row of CSV after the first, in parentheses. The connection removes them. */
export function furtherCsvRow(
  format: CsvFormat,
  { isVersioned }: Pick<BodyRows, "isVersioned">,
): Sql {
  return isVersioned === true
    ? sql`'(' || ${csvLine(format, [versionOf])} || ')'`
    : csvRow(sql`(${rowsAlias}.*)`, format);
}

/**
 * Returns the line of a row in parentheses. PostgreSQL's text of a row quotes values as RFC 4180
 * does, and doubles backslashes too. It leaves NULL empty, and has no quotes around the text
 * `NULL`, which bodies read as NULL. A row whose only value is NULL is written `NULL`, because
 * readers of CSV skip empty lines.
 */
function csvRow(row: Sql, { form }: CsvFormat): Sql {
  if (form === "row text") return sql`${row}::pg_catalog.text`;
  const text = sql`pg_catalog.replace(${
    ownName("text")
  }.text, pg_catalog.repeat(pg_catalog.chr(92), 2), pg_catalog.chr(92))`;
  const fields = sql`pg_catalog.regexp_matches(
      pg_catalog.substring(${text}, 2, pg_catalog.length(${text}) - 2) || ',', '((?:"[^"]*")+|[^",]*),', 'g')`;
  return sql`(select case when ${ownName("text")}.text = '()' then '(NULL)'
    when pg_catalog.strpos(${ownName("text")}.text, 'NULL') = 0 then ${text}
    else (select '(' || pg_catalog.string_agg(case f[1] when 'NULL' then '"NULL"' else f[1] end, ',' order by n) || ')'
      from ${fields} with ordinality as ${ownName("fields")}(f, n)) end
    from (select ${row}::pg_catalog.text as text offset 0) as ${ownName("text")})`;
}

/** Returns the body in GeoJSON. PostGIS may be installed in any schema. */
function geojson(row: Sql): Sql {
  return sql`pg_catalog.json_build_object('type', 'FeatureCollection', 'features', coalesce(pg_catalog.json_agg(st_asgeojson(${row})::pg_catalog.json), '[]'))`;
}

function aggregated(
  { function: { schema, name }, over }: Extract<BodyFormat, { kind: "aggregate" }>,
  element: Sql,
): Sql {
  const row = over === null ? element : sql`${element}::${ident(over.schema, over.name)}`;
  return sql`${ident(schema, name)}(${row})`;
}

/** Returns the bytes of a value. A cast to text would use the output function, which for `xml`
 * drops a line break and the encoding. */
function bytes(value: Sql, binary: boolean): Sql {
  return binary ? sql`${value}::pg_catalog.bytea` : sql`pg_catalog.concat(${value})`;
}

/** Returns the FROM item, under {@linkcode rowsAlias}, that the expression of a format reads. */
export function bodySource(format: BodyFormat, rows: Sql): Sql {
  if (format.kind !== "csv") return sql`(${rows}) as ${rowsAlias}`;
  return sql`(select *, pg_catalog.row_number() over () as ${numberColumn} from (${rows}) as ${
    ownName("rows")
  }) as ${rowsAlias}`;
}
