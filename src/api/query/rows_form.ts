/** Renders a result whose rows are sent one by one, after a first row with the metadata. A
 * materialized CTE completes the query first, so that its errors precede the body. @module */
import type { BodyFraming } from "../../database/transaction.ts";
import type { BodyFormat } from "../plan/negotiate.ts";
import type { Tagging } from "../plan/write/preconditions.ts";
import { isByKey, isOneGroup } from "../plan/read/max_rows.ts";
import type { ReadNode } from "../plan/read_node.ts";
import type { ReadPlan } from "../plan/read/read_plan.ts";
import { emptySql, join, ordinal, ownName, type Sql, sql } from "../../base/sql/fragment.ts";
import {
  bodyExpression,
  type BodyRows,
  bodySource,
  elementOf,
  furtherCsvRow,
  jsonLine,
  onlyVersion,
  rowsAlias,
  rowSeparator,
  stripped,
} from "./body.ts";
import { renderTagged } from "./row_version.ts";

/** Formats whose bodies can be sent row by row. Other formats need all rows at a time. */
export type RowFormat = Extract<BodyFormat, { kind: "array" | "csv" | "ndjson" }>;

/** Maximum number of rows that are sent as a single value. */
const maxValueRows = 1000;

/**
 * Number of rows that are sent in the first result row. Each further row is a separate result row.
 * So a small response costs no more than a single value. A large response begins early, and its
 * values stay far below PostgreSQL's limit of 1 GB.
 */
const firstRows = 100;

/** Returns the format if the response is sent row by row; null if it is a single value. */
export function rowFormatOf(format: BodyFormat | null, plan: ReadPlan): RowFormat | null {
  if (format === null || isShort(plan.root) || isByKey(plan)) return null;
  return format.kind === "array" || format.kind === "csv" || format.kind === "ndjson"
    ? format
    : null;
}

function isShort(root: ReadNode): boolean {
  const { limit } = root.range;
  return limit !== null && BigInt(limit) <= maxValueRows || isOneGroup(root);
}

export interface RowsResult {
  readonly rows: Sql;
  readonly common: readonly Sql[];
  readonly total: Sql;
  readonly metadata: readonly Sql[];
  readonly format: RowFormat;
  readonly element: Omit<BodyRows, "single">;
  /** How a response of at most {@linkcode maxValueRows} rows gets its tag; null for no tag. */
  readonly tagging: Tagging | null;
}

export function renderRowsResult(result: RowsResult): Sql {
  const { rows, common, total, metadata, format, element, tagging } = result;
  const first = bodyExpression(format, { ...element, single: false });
  const further = furtherRow(format, element);
  const others = [total, ...metadata].reduce((list, column) => sql`${list}, ${column}`, emptySql);
  const unused = [total, ...metadata].reduce(
    (list) => sql`${list}, null::pg_catalog.text`,
    emptySql,
  );
  if (format.kind === "ndjson" && !format.isCounted) {
    return sql`select null::pg_catalog.text${others}, ''::pg_catalog.text union all select null::pg_catalog.text${unused}, ${
      jsonLine(format, element)
    } from (${rows}) as ${rowsAlias}`;
  }
  const most = tagging === null ? firstRows : maxValueRows;
  const firstPart = sql`select * from ${rowsColumn} limit ${ordinal(most + 1)}`;
  const rest = sql`select * from ${rowsColumn} offset ${ordinal(most + 1)}`;
  const number = sql`(case when pg_catalog.count(*) > ${
    ordinal(most)
  } then (select pg_catalog.count(*) from ${rowsColumn}) else pg_catalog.count(*) end)::pg_catalog.text`;
  const from = bodySource(format, firstPart);
  const head = sql`with ${join([...common, sql`${rowsColumn} as materialized (${rows})`])} `;
  if (tagging === null) {
    return sql`${head}select ${number}${others}, ${first} from ${from} union all select null::pg_catalog.text${unused}, ${further} from (${rest}) as ${rowsAlias}`;
  }
  const tagged = renderTagged({
    rows: number,
    total,
    metadata: () => metadata,
    body: first,
    version: onlyVersion(element),
    from,
    format,
    isWhole: sql`pg_catalog.count(*) <= ${ordinal(most)}`,
  }, tagging);
  return sql`${head}(${tagged}) union all select null::pg_catalog.text${unused}, null::pg_catalog.text, ${further} from (${rest}) as ${rowsAlias}`;
}

const rowsColumn = ownName("rows");

function furtherRow(format: RowFormat, element: RowsResult["element"]): Sql {
  switch (format.kind) {
    case "csv":
      return furtherCsvRow(format, element);
    case "ndjson":
      return jsonLine(format, element);
    case "array":
      return arrayRow(format, element);
    default:
      return format satisfies never;
  }
}

function arrayRow(
  { stripped: strip }: Extract<RowFormat, { kind: "array" }>,
  element: RowsResult["element"],
): Sql {
  const row = elementOf(element);
  if (element.isVersioned === true) {
    return strip ? stripped(row, strip) : sql`${row}::pg_catalog.text`;
  }
  const json = element.scalarColumn === null
    ? sql`pg_catalog.row_to_json(${row})`
    : sql`coalesce(pg_catalog.to_json(${row}), 'null')`;
  return stripped(json, strip);
}

/** Returns the framing of rows. The separator is the one that `json_agg` writes between rows or
 * scalar values. */
export function framingOf(
  format: RowFormat,
  { scalarColumn }: Pick<BodyRows, "scalarColumn">,
): BodyFraming {
  if (format.kind === "csv") return { separator: "\n", closing: "", trimmedBytes: 1 };
  if (format.kind === "ndjson") {
    return { separator: "\n", closing: "\n", isEager: !format.isCounted };
  }
  if (format.stripped) return { separator: ",", closing: "]" };
  return { separator: scalarColumn === null ? rowSeparator : ", ", closing: "]" };
}
