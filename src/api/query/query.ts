/** Renders the statement of a request: one row of metadata columns and the body. @module */
import type { Statement } from "../../database/transaction.ts";
import type { CallPlan } from "../plan/call_plan.ts";
import type { MutatePlan } from "../plan/write/mutate_plan.ts";
import type { BodyFormat, Explain } from "../plan/negotiate.ts";
import type { CountPlan } from "../plan/read/count_plan.ts";
import type { Tagging } from "../plan/write/preconditions.ts";
import type { ReadPlan } from "../plan/read/read_plan.ts";
import {
  compile,
  type CompiledSql,
  emptySql,
  ident,
  join,
  literal,
  ownName,
  param,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import {
  bodyExpression,
  type BodyRows,
  bodySource,
  elementOf,
  onlyVersion,
  rowsAlias,
  valueExpression,
} from "./body.ts";
import { renderCall, renderExplain } from "./call.ts";
import { cutRows, renderRoot, type RootRows } from "./cursor_page.ts";
import { isKeyed, keyChecks } from "./keyed_update.ts";
import { renderMutationTables } from "./mutate.ts";
import { foundRows, isNested, type LevelWrite, renderLevelWrites } from "./nested_insert.ts";
import { insertedColumn, isCountedByXmax, updatedRowsSetting } from "./on_conflict.ts";
import { renderCount, renderRows, renderVersionedRows, type VersionedRows } from "./read.ts";
import { type BodyWithMembers, keepResult, renderBody } from "./result_reference.ts";
import { renderTagged, type VersionSource } from "./row_version.ts";
import { framingOf, renderRowsResult, rowFormatOf, type RowsResult } from "./rows_form.ts";

/** Positions of the metadata columns in the result row. From 4 on, they depend on the kind of the statement. */
export const resultColumn = {
  /** Number of rows of the result; NULL if it is unknown when the first row is sent. */
  rows: 0,
  /** Number of rows without the row range; NULL if no total is requested. */
  total: 1,
  /** Value of the setting `response.headers`; NULL or empty when unset. */
  headers: 2,
  /** Value of the setting `response.status`; NULL or empty when unset. */
  status: 3,
  /** Writes: number of rows that an upsert updated, or that exist with `resolution=return-existing`. */
  updated: 4,
  /** Writes: JSON object of the primary key if the result has one row; otherwise NULL. */
  key: 5,
  /** Writes: number of written rows; NULL when it equals the rows of the result. */
  affected: 6,
  /** Updates by key: number, from 1, of the body's first row without a key, or NULL. */
  rowWithoutKey: 7,
  missingKeyColumn: 8,
  /** Updates by key: number of the body's first row with a repeated key, or NULL. */
  rowWithRepeatedKey: 9,
  /** Updates by key with `unmatched=fail`: number of unmatched rows in the body. */
  unmatched: 10,
  /** Updates by key with `unmatched=fail`: keys of some unmatched rows, as JSON. */
  unmatchedKeys: 11,
  /**
   * Reads that may be truncated, and pages by a cursor: `1` if more rows follow in reading order.
   */
  more: 4,
  /** In pages by a cursor: the cursor of the first row; NULL if no rows precede the page. */
  firstCursor: 5,
  /** In pages by a cursor: the cursor of the last row; NULL if no rows follow the page. */
  lastCursor: 6,
} as const;

export interface Query {
  readonly main: Statement;
  /** The statement for roles that may not read the row versions in `main`. Default: `main` reads none. */
  readonly unversioned?: Statement;
  /** The EXPLAIN whose row estimate is the count; null if no estimate is needed. */
  readonly estimate: Statement | null;
  /** Writes that precede the main statement, which then only reads. Default: none. */
  readonly writes?: readonly LevelWrite[];
}

export interface ResultOptions {
  /** Format of the body; null if there is no body. */
  readonly format: BodyFormat | null;
  /** Options of EXPLAIN if the body is the execution plan; null for the result. */
  readonly explain: Explain | null;
  /** How the result gets its entity tag, which precedes the body; null for a result without a tag. */
  readonly tagging: Tagging | null;
  /** The request body with further members, which replaces the original. Default: none. */
  readonly substitute?: BodyWithMembers;
  /** Position of the operation in its batch, if later operations refer to its rows. A setting
   * stores these rows. Default: none. */
  readonly keptFor?: number;
}

const source = ownName("source");

export function readQuery(plan: ReadPlan, count: CountPlan, options: ResultOptions): Query {
  const { format, tagging } = options;
  const estimate = options.explain === null ? estimateOf(plan, count, options) : null;
  const total = totalOf(plan, count);
  const element = tableRows(tagging);
  const version = tagging?.version ?? null;
  const rowFormat = isSentByRow(options) ? rowFormatOf(format, plan) : null;
  const reading = version === null
    ? renderRoot(plan)
    : cutRows(plan, (read) => renderRowsOf(read, format, version));
  const root = plan.showsSnapshot
    ? { ...reading, metadata: [...reading.metadata, currentSnapshot] }
    : reading;
  if (rowFormat !== null) {
    const result = { root, common: [], total, format: rowFormat, element, tagging };
    return { main: rowsStatement(result, options), estimate };
  }
  const main = renderResult({
    total,
    kept: keptRows(options, element),
    metadata: root.metadata,
    body: bodyOf(format, element),
    from: sourceOf(format, root.rows),
    element,
  }, options);
  return { main: toStatement(sql`${withTables(root)}${main}`, options), estimate };
}

export function mutateQuery(plan: MutatePlan, options: ResultOptions): Query {
  const from = sql`${source} as ${ident(plan.relation.name)}`;
  const version = options.tagging?.version ?? null;
  const format = plan.read === null ? null : options.format;
  const returned = version === null ? null : { kind: "returned" } as const;
  const rows = plan.read === null
    ? sql`select * from ${source}`
    : renderRowsOf(plan.read, format, returned, from);
  const element = tableRows(options.tagging);
  const checks = isKeyed(plan) ? keyChecks(plan) : [];
  const result = renderResult({
    total: nullText,
    kept: keptWrites(plan, options),
    metadata: [updatedRows(plan), keyOf(plan), affectedRows(plan), ...checks],
    body: bodyOf(format, element),
    from: sourceOf(format, rows),
    element,
  }, options);
  const main = sql`with ${renderMutationTables(plan, { source, version })} ${result}`;
  const query = { main: toStatement(main, options), estimate: null };
  if (!isNested(plan)) return query;
  const writes = renderLevelWrites(plan, (fragment) => compileWith(fragment, options));
  return { ...query, writes };
}

export function callQuery(plan: CallPlan, count: CountPlan, options: ResultOptions): Query {
  const { format, tagging } = options;
  const { read, routine } = plan;
  const { alias, items: [only, ...others] } = read.root;
  // Unless the value is the only item, rows are objects.
  const isValue = only?.kind === "all" || only?.key === plan.scalarColumn;
  const scalarColumn = isValue && others.length === 0 ? plan.scalarColumn : null;
  const call = renderCall(plan, alias);
  const element = { scalarColumn, single: !routine.returns.set };
  const isJson = format?.kind === "array" || format?.kind === "object";
  if (isJson && scalarColumn !== null && isOneValue(plan, count) && options.keptFor === undefined) {
    const body = valueExpression(format, scalarColumn);
    return valueQuery(renderRows(read, call), { body, element }, options);
  }
  const isCounted = count.kind === "exact";
  // A function that writes must finish: outside of a CTE, a limit on its rows would end it early.
  const mustFinish = plan.access === "read write" && read.root.range.limit !== null;
  // In a CTE, the function runs once, although a count reads its rows again.
  const materialized = isCounted || mustFinish;
  const name = ident(alias);
  const from = materialized ? sql`${source} as ${name}` : call;
  const common = materialized
    ? [sql`${source} as materialized (select ${name}.* from ${call})`]
    : [];
  const root = renderRoot(read, from);
  const total = isCounted ? totalOf(read, count, from) : nullText;
  const isByRow = plan.access === "read only" && routine.returns.set && isSentByRow(options);
  const rowFormat = isByRow ? rowFormatOf(format, read) : null;
  if (rowFormat !== null) {
    const result = { root, common, total, format: rowFormat, element, tagging };
    return { main: rowsStatement(result, options), estimate: null };
  }
  const body = format === null ? calledOnly(element) : bodyExpression(format, element);
  const rows = sourceOf(format, root.rows);
  const result = renderResult({
    total,
    kept: keptRows(options, element),
    metadata: root.metadata,
    body,
    from: mustFinish ? sql`${rows} where ${sourceCount} >= 0` : rows,
    element,
  }, options);
  const main = toStatement(sql`${withTables(root, common)}${result}`, options);
  return { main, estimate: null };
}

/** Renders a call whose result is one value. */
function valueQuery(
  rows: Sql,
  { body, element }: Pick<Parameters<typeof renderResult>[0], "body" | "element">,
  options: ResultOptions,
): Query {
  // OFFSET 0 makes PostgreSQL run the function before it reads the response settings.
  const from = sql`(${rows} offset 0) as ${rowsAlias}`;
  const one = sql`'1'::pg_catalog.text`;
  const main = renderResult({ rows: one, total: nullText, body, from, element }, options);
  return { main: toStatement(main, options), estimate: null };
}

function tableRows(tagging: Tagging | null): BodyRows {
  const isVersioned = tagging !== null && tagging.version !== null;
  return { scalarColumn: null, single: false, isVersioned };
}

function renderRowsOf(
  plan: ReadPlan,
  format: BodyFormat | null,
  version: VersionSource | null,
  from?: Sql,
): Sql {
  if (version === null) return renderRows(plan, from);
  return renderVersionedRows(plan, { version, row: versionedRowOf(format) }, from);
}

function versionedRowOf(format: BodyFormat | null): VersionedRows["row"] {
  switch (format?.kind) {
    case "aggregate":
      return format.over ?? "record";
    case "geojson":
    case "value":
      return "record";
    case "csv":
      return "columns";
    default:
      return "json";
  }
}

interface ResultParts {
  /** Number of rows as text. Default: the number of rows of the FROM item. */
  readonly rows?: Sql;
  readonly total: Sql;
  /** Stores the rows for later operations of a batch. Default: they are not stored. */
  readonly kept?: Sql | null;
  /** Metadata columns after the settings of the response. Default: none. */
  readonly metadata?: readonly Sql[];
  readonly body: Sql;
  readonly from: Sql;
  readonly element: BodyRows;
}

function renderResult(
  {
    rows = sql`pg_catalog.count(*)::pg_catalog.text`,
    kept = null,
    metadata: others = [],
    element,
    ...parts
  }: ResultParts,
  { format, tagging }: ResultOptions,
): Sql {
  const { total, body, from } = parts;
  const metadata = (kept: Sql | null) => {
    const headers = kept === null
      ? responseHeaders
      : sql`case when ${kept} is not null then ${responseHeaders} end`;
    return [headers, responseStatus, ...others];
  };
  if (tagging === null || format === null) {
    return sql`select ${rows}, ${total}, ${join(metadata(kept))}, ${body} from ${from}`;
  }
  const version = onlyVersion(element);
  return renderTagged({ ...parts, rows, kept, metadata, version, format }, tagging);
}

/**
 * Returns whether the result is one value of a built-in type. Its JSON is the same as in an array.
 */
function isOneValue({ routine, arguments: given, read: { root } }: CallPlan, count: CountPlan) {
  const { returns } = routine;
  const isCalled = given.kind !== "json" || given.shape === "object";
  const isPlain = !returns.set && !returns.composite && returns.typeSchema === "pg_catalog" &&
    returns.typeName !== "json";
  const isWhole = root.conditions.length === 0 && root.order.length === 0 &&
    root.range.limit === null && root.range.offset === null;
  return isPlain && isCalled && isWhole && count.kind !== "exact";
}

const nullText = sql`null::pg_catalog.text`;
const currentSnapshot = sql`pg_catalog.pg_current_snapshot()::pg_catalog.text`;

/** The settings by which user-defined code can change the response. */
const responseHeaders = sql`pg_catalog.current_setting('response.headers', true)`;
const responseStatus = sql`pg_catalog.current_setting('response.status', true)`;

/** Returns the expression that stores the rows of the body; null if they are not stored. */
function keptRows({ keptFor, format }: ResultOptions, rows: BodyRows): Sql | null {
  if (keptFor === undefined) return null;
  const element = elementOf(format?.kind === "csv" ? { ...rows, isVersioned: false } : rows);
  return keepResult(keptFor, sql`coalesce(pg_catalog.json_agg(${element}), '[]')`);
}

/** Returns the expression that stores columns of written rows; null if they are not stored. */
function keptWrites({ kept = [] }: MutatePlan, { keptFor }: ResultOptions): Sql | null {
  if (keptFor === undefined) return null;
  const columns = kept.length === 0 ? sql`1` : join(kept.map((name) => ident(name)));
  const rows = sql`select ${columns} from ${source}`;
  return keepResult(
    keptFor,
    sql`select coalesce(pg_catalog.json_agg(${ownName("kept")}.*), '[]') from (${rows}) as ${
      ownName("kept")
    }`,
  );
}

/** Renders `with … ` with the tables that rows read; empty without tables. */
function withTables({ common }: RootRows, others: readonly Sql[] = []): Sql {
  const tables = common === null ? others : [...others, common];
  return tables.length === 0 ? emptySql : sql`with ${join(tables)} `;
}

function totalOf(plan: ReadPlan, count: CountPlan, from?: Sql): Sql {
  if (count.kind !== "exact" && count.kind !== "estimated") return nullText;
  const bound = count.kind === "exact" ? count.bound : count.cap;
  const limit = bound === null ? emptySql : sql` limit ${param(String(bound + 1))}`;
  return sql`(select pg_catalog.count(*) from (${renderCount(plan, from)}${limit}) as ${
    ownName("count")
  })::pg_catalog.text`;
}

function estimateOf(plan: ReadPlan, count: CountPlan, options: ResultOptions): Statement | null {
  if (count.kind !== "planned" && count.kind !== "estimated") return null;
  const text = compileWith(sql`explain (format json) ${renderCount(plan)}`, options);
  return { ...text, use: "rows", runsUserCode: true };
}

function bodyOf(format: BodyFormat | null, rows: BodyRows): Sql {
  return format === null ? nullText : bodyExpression(format, rows);
}

function sourceOf(format: BodyFormat | null, rows: Sql): Sql {
  return format === null ? sql`(${rows}) as ${rowsAlias}` : bodySource(format, rows);
}

function updatedRows(plan: MutatePlan): Sql {
  if (isNested(plan) && plan.conflict?.resolution === "find") return foundRows(plan);
  if (isCountedByXmax(plan)) {
    return sql`(select pg_catalog.count(*) from ${source} where not ${insertedColumn})::pg_catalog.text`;
  }
  const counted = plan.kind === "insert" && plan.conflict?.resolution === "merge";
  return counted
    ? sql`nullif(pg_catalog.current_setting(${literal(updatedRowsSetting)}, true), '')`
    : nullText;
}

const sourceCount = sql`(select pg_catalog.count(*) from ${source})`;

/** Renders the number of affected rows. The number of result rows may differ, because of embeds,
 * their conditions and aggregates. */
function affectedRows({ read }: MutatePlan): Sql {
  if (read === null) return nullText;
  const { embeds, conditions, kind } = read.root;
  const same = embeds.length === 0 && conditions.length === 0 && kind !== "grouped";
  return same ? nullText : sql`${sourceCount}::pg_catalog.text`;
}

/** Renders a call whose value is not used. PostgreSQL would drop the call of a scalar function. */
function calledOnly({ scalarColumn }: BodyRows): Sql {
  if (scalarColumn === null) return nullText;
  return sql`case when pg_catalog.count(${rowsAlias}.${ident(scalarColumn)}) < 0 then '' end`;
}

function keyOf({ relation, returning, read, kind }: MutatePlan): Sql {
  if (kind !== "insert" || returning === "none" || read !== null) return nullText;
  const key = new Set(relation.primaryKey);
  const order = returning === "all" ? relation.columns.map(({ name }) => name) : returning;
  const members = order.filter((name) => key.has(name)).map((name) =>
    sql`${literal(name)}, ${rowsAlias}.${ident(name)}::pg_catalog.text`
  );
  return members.length === 0
    ? nullText
    : sql`case when pg_catalog.count(*) = 1 then pg_catalog.min(pg_catalog.json_build_object(${
      join(members)
    })::pg_catalog.text) end`;
}

function rowsStatement(
  { root, ...result }:
    & Pick<RowsResult, "common" | "format" | "element" | "tagging" | "total">
    & { readonly root: RootRows },
  options: ResultOptions,
): Statement {
  const { rows } = root;
  const metadata = [responseHeaders, responseStatus, ...root.metadata];
  const common = root.common === null ? result.common : [...result.common, root.common];
  const statement = toStatement(renderRowsResult({ ...result, rows, metadata, common }), options);
  return { ...statement, framing: framingOf(result.format, result.element) };
}

/** Returns whether the rows may be sent one by one. They are not if EXPLAIN describes the statement,
 * or if a later operation of the batch refers to them. */
function isSentByRow({ explain, keptFor }: ResultOptions): boolean {
  return explain === null && keptFor === undefined;
}

function toStatement(fragment: Sql, options: ResultOptions): Statement {
  const { explain } = options;
  if (explain === null) {
    return { ...compileWith(fragment, options), use: "result", runsUserCode: true };
  }
  const explained = compileWith(renderExplain(fragment, explain), options);
  return { ...explained, use: "rows", runsUserCode: true };
}

function compileWith(fragment: Sql, { substitute }: ResultOptions): CompiledSql {
  if (substitute === undefined) return compile(fragment);
  return compile(fragment, (value) => value === substitute.text ? renderBody(substitute) : null);
}
