/**
 * Renders a result whose rows PostgreSQL sends one by one, so that a body of any size needs little memory.
 * The first row has the metadata columns and the body of the first rows of the answer.
 *
 * PostgreSQL finishes the query before the first row: a materialized CTE keeps its rows, in a temporary
 * file if they exceed `work_mem`. So the number of rows and the errors of the query precede the body.
 *
 * @module
 */
import type { BodyFraming } from "../database/database.ts";
import type { BodyFormat } from "../plan/negotiate.ts";
import { isAggregated, isPlainField } from "../plan/planned_values.ts";
import type { Condition, ReadItem, ReadNode } from "../plan/read_node.ts";
import type { ReadPlan } from "../plan/read_plan.ts";
import { emptySql, ident, join, ordinal, type Sql, sql } from "../sql/fragment.ts";
import { bodyExpression, type BodyRows, bodySource, csvBody, jsonLine, rowsAlias } from "./body.ts";

/** The formats whose bodies can be sent row by row: other bodies need all rows at once. */
export type RowFormat = Extract<BodyFormat, { kind: "array" | "csv" | "ndjson" }>;

/** At most this many rows are sent as a single value. */
const maxValueRows = 1000;

/**
 * With more rows than this, each further row is a row of the result. A small answer is one row, which
 * costs no more than a single value. A large one begins early, and has no value near PostgreSQL's limit of 1 GB.
 */
const firstRows = 100;

/** Returns the format if the answer is to be sent row by row; null to send it as a single value. */
export function rowFormatOf(format: BodyFormat | null, plan: ReadPlan): RowFormat | null {
  if (format === null || isShort(plan.root) || isByKey(plan)) return null;
  return format.kind === "array" || format.kind === "csv" || format.kind === "ndjson"
    ? format
    : null;
}

/** Whether a node returns no more rows than a single value may have. */
function isShort({ range: { limit }, grouped, items, embeds }: ReadNode): boolean {
  if (limit !== null && BigInt(limit) <= maxValueRows) return true;
  const isAggregate = (item: ReadItem) =>
    item.kind === "aggregate" || (item.kind === "value" && isAggregated(item.value));
  return grouped && items.every(isAggregate) && embeds.every(({ hasOutput }) => !hasOutput);
}

/** Whether the conditions name one value for each column of a table's primary key. */
function isByKey({ root, relation }: ReadPlan): boolean {
  if (root.relation === null || relation === null || relation.isView) return false;
  const { primaryKey } = relation;
  return primaryKey.length > 0 &&
    primaryKey.every((name) => root.conditions.some((condition) => isEqual(condition, name)));
}

function isEqual(condition: Condition, column: string): boolean {
  return condition.kind === "compare" && condition.operator === "eq" && !condition.negated &&
    condition.quantifier === null && isPlainField(condition.field) &&
    condition.field.column === column && condition.field.path.length === 0;
}

/** The parts of a result that is sent row by row. */
export interface RowsResult {
  /** The query of the rows. */
  readonly rows: Sql;
  /** Common table expressions that it reads. */
  readonly common: readonly Sql[];
  /** Metadata columns after the number of rows. */
  readonly metadata: readonly Sql[];
  readonly format: RowFormat;
  /** The part of each row that goes into the body. */
  readonly element: Pick<BodyRows, "scalarColumn">;
}

/** Renders the statement. Each row of its result has the same columns. */
export function renderRowsResult(result: RowsResult): Sql {
  const { rows, common, metadata, format, element } = result;
  const { first, further } = bodyColumns(result);
  const [firstPart, rest] = [
    sql`select * from ${kept} limit ${ordinal(firstRows + 1)}`,
    sql`select * from ${kept} offset ${ordinal(firstRows + 1)}`,
  ];
  const number = sql`case when count(*) > ${
    ordinal(firstRows)
  } then (select count(*) from ${kept}) else count(*) end`;
  const others = metadata.reduce((list, column) => sql`${list}, ${column}`, emptySql);
  const unused = metadata.reduce((list) => sql`${list}, null::text`, emptySql);
  if (format.kind === "ndjson" && !format.isCounted) {
    return sql`select null::text${others}, ''::text union all select null::text${unused}, ${
      jsonLine(format, element)
    } from (${rows}) as ${rowsAlias}`;
  }
  const tables = join([...common, sql`${kept} as materialized (${rows})`]);
  return sql`with ${tables} select (${number})::text${others}, ${first} from ${
    bodySource(format, firstPart)
  } union all select null::text${unused}, ${further} from (${rest}) as ${rowsAlias}`;
}

const kept = ident("svc_rows");

interface BodyColumns {
  /** Aggregate: the body of the first rows. */
  readonly first: Sql;
  /** The text of one further row. */
  readonly further: Sql;
}

function bodyColumns({ format, element: { scalarColumn } }: RowsResult): BodyColumns {
  if (format.kind === "csv") return { first: csvBody, further: csvLine };
  if (format.kind === "ndjson") {
    const first = bodyExpression(format, { scalarColumn, single: false });
    return { first, further: jsonLine(format, { scalarColumn }) };
  }
  const strip = (json: Sql) => format.stripped ? sql`json_strip_nulls(${json})` : json;
  const element = scalarColumn === null
    ? sql`${rowsAlias}.*`
    : sql`${rowsAlias}.${ident(scalarColumn)}`;
  return {
    first: strip(sql`coalesce(pg_catalog.json_agg(${element}), '[]')`),
    further: scalarColumn === null
      ? strip(sql`pg_catalog.row_to_json(${element})`)
      : strip(sql`coalesce(pg_catalog.to_json(${element}), 'null')`),
  };
}

/** A row in the text form of PostgreSQL. The connection leaves its parentheses out. */
const csvLine: Sql = sql`(${rowsAlias}.*)::text`;

/**
 * Returns the texts around rows. The separator is the one that `json_agg` puts between rows, or between
 * scalar values.
 */
export function framingOf(
  format: RowFormat,
  { scalarColumn }: Pick<BodyRows, "scalarColumn">,
): BodyFraming {
  if (format.kind === "csv") return { separator: "\n", closing: "", trimmedBytes: 1 };
  if (format.kind === "ndjson") {
    return { separator: "\n", closing: "\n", isEager: !format.isCounted };
  }
  if (format.stripped) return { separator: ",", closing: "]" };
  return { separator: scalarColumn === null ? ", \n " : ", ", closing: "]" };
}
