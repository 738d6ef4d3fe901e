/**
 * The statement that answers a request: one row whose first columns are metadata of the result, as
 * text, and whose last column is the body.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import type { CallPlan } from "../plan/call_plan.ts";
import type { MutatePlan } from "../plan/mutate_plan.ts";
import type { BodyFormat, Explain } from "../plan/negotiate.ts";
import type { CountPlan } from "../plan/count_plan.ts";
import type { ReadPlan } from "../plan/read_plan.ts";
import { compile, emptySql, ident, join, literal, param, type Sql, sql } from "../sql/fragment.ts";
import { bodyExpression, type BodyRows, bodySource, rowsAlias, valueExpression } from "./body.ts";
import { renderCall } from "./call.ts";
import { renderCount } from "./count.ts";
import { renderExplain } from "./explain.ts";
import { renderMutation, updatedRowsSetting } from "./mutate.ts";
import { renderRows } from "./read.ts";

/** Positions of the metadata columns in the result row. */
export const resultColumn = {
  /** Number of rows of the result. */
  rows: 0,
  /** Number of rows without the window; NULL when not counted. */
  total: 1,
  /** What database code set as `response.headers`, NULL or empty when nothing. */
  headers: 2,
  /** What database code set as `response.status`, NULL or empty when nothing. */
  status: 3,
  /** Writes: number of rows that took the update path of an upsert. */
  updated: 4,
  /** Writes: JSON object of the primary key of the only row, NULL otherwise. */
  key: 5,
  /** Writes: number of rows that were written, NULL when the result has just these. */
  affected: 6,
} as const;

/** The statements of a request, in order. */
export interface Query {
  readonly main: Statement;
  /** The planner's estimate of the count; its rows are kept. */
  readonly estimate: Statement | null;
}

/** What a statement is to give. */
export interface ResultOptions {
  /** Null makes no body. */
  readonly format: BodyFormat | null;
  /** The plan of the statement in place of its answer; null for the answer. */
  readonly explain: Explain | null;
}

const tableRows: BodyRows = { scalarColumn: null, single: false };
const source = ident("svc_source");

/** Reading a relation. */
export function readQuery(plan: ReadPlan, count: CountPlan, options: ResultOptions): Query {
  const { format } = options;
  const main = sql`select ${renderMetadataColumns(totalOf(plan, count))}, ${
    bodyOf(format, tableRows)
  } from ${sourceOf(format, renderRows(plan))}`;
  const estimate = options.explain === null ? estimateOf(plan, count) : null;
  return { main: toStatement(main, options), estimate };
}

/** Writing. */
export function mutateQuery(plan: MutatePlan, options: ResultOptions): Query {
  const from = sql`${source} as ${ident(plan.relation.name)}`;
  const rows = plan.read === null ? sql`select * from ${source}` : renderRows(plan.read, from);
  const shown = plan.read === null ? null : options.format;
  const main = sql`with ${source} as (${renderMutation(plan)}) select ${
    renderMetadataColumns(nullText)
  }, ${updatedRows(plan)}, ${keyOf(plan)}, ${affectedRows(plan)}, ${
    bodyOf(shown, tableRows)
  } from ${sourceOf(shown, rows)}`;
  return { main: toStatement(main, options), estimate: null };
}

/** Calling a function. */
export function callQuery(plan: CallPlan, count: CountPlan, options: ResultOptions): Query {
  const { format } = options;
  const { read, routine, scalarColumn } = plan;
  const alias = read.root.alias;
  const call = renderCall(plan, alias);
  const isJson = format?.kind === "array" || format?.kind === "object";
  if (isJson && scalarColumn !== null && isOneValue(plan, count)) {
    // With an offset the function has run before it is looked at what it said of the response.
    const main = sql`select '1'::text, ${nullText}, ${responseSettings}, ${
      valueExpression(format, scalarColumn)
    } from (${renderRows(read, call)} offset 0) as ${rowsAlias}`;
    return { main: toStatement(main, options), estimate: null };
  }
  const rows = {
    scalarColumn,
    single: !routine.returns.set,
  };
  // Counting needs the result a second time, and the function must run once.
  const materialized = count.kind === "exact";
  const from = materialized ? sql`${source} as ${ident(alias)}` : call;
  const common = materialized
    ? sql`with ${source} as materialized (select ${ident(alias)}.* from ${call}) `
    : emptySql;
  const total = materialized ? totalOf(read, count, from) : nullText;
  const body = format === null ? calledOnly(rows) : bodyExpression(format, rows);
  const main = sql`${common}select ${renderMetadataColumns(total)}, ${body} from ${
    sourceOf(format, renderRows(read, from))
  }`;
  return { main: toStatement(main, options), estimate: null };
}

/** Whether the result is exactly one value, which JSON shows as it shows it in an array. */
function isOneValue({ routine, arguments: given, read: { root } }: CallPlan, count: CountPlan) {
  const { returns } = routine;
  const isCalled = given.kind !== "json" || given.shape === "object";
  const isPlain = !returns.set && !returns.composite && returns.typeSchema === "pg_catalog" &&
    returns.typeName !== "json";
  const isWhole = root.conditions.length === 0 && root.order.length === 0 &&
    root.range.limit === null && root.range.offset === null;
  return isPlain && isCalled && isWhole && count.kind !== "exact";
}

const nullText = sql`null::text`;

/** What database code says of the response. */
const responseSettings =
  sql`current_setting('response.headers', true), current_setting('response.status', true)`;

function renderMetadataColumns(total: Sql): Sql {
  return sql`count(*)::text, ${total}, ${responseSettings}`;
}

function totalOf(plan: ReadPlan, count: CountPlan, from?: Sql): Sql {
  switch (count.kind) {
    case "none":
    case "page":
    case "planned":
      return nullText;
    case "exact":
      return sql`(select count(*) from (${renderCount(plan, from)}) as svc_count)::text`;
    case "estimated": {
      const limit = count.cap === null ? emptySql : sql` limit ${param(String(count.cap + 1))}`;
      return sql`(select count(*) from (${renderCount(plan, from)}${limit}) as svc_count)::text`;
    }
    default:
      return count satisfies never;
  }
}

function estimateOf(plan: ReadPlan, count: CountPlan): Statement | null {
  if (count.kind !== "planned" && count.kind !== "estimated") return null;
  const text = compile(sql`explain (format json) ${renderCount(plan)}`);
  return { ...text, use: "rows", runsUserCode: true };
}

function bodyOf(format: BodyFormat | null, rows: BodyRows): Sql {
  return format === null ? nullText : bodyExpression(format, rows);
}

function sourceOf(format: BodyFormat | null, rows: Sql): Sql {
  return format === null ? sql`(${rows}) as ${rowsAlias}` : bodySource(format, rows);
}

function updatedRows(plan: MutatePlan): Sql {
  const counted = plan.kind === "insert" && plan.conflict?.resolution === "merge";
  return counted
    ? sql`nullif(current_setting(${literal(updatedRowsSetting)}, true), '')`
    : nullText;
}

/** Embeds, conditions on them and aggregates make other rows than those that were written. */
function affectedRows({ read }: MutatePlan): Sql {
  if (read === null) return nullText;
  const { embeds, conditions, grouped } = read.root;
  const same = embeds.length === 0 && conditions.length === 0 && !grouped;
  return same ? nullText : sql`(select count(*) from ${source})::text`;
}

/** No body; a scalar is still asked for, as PostgreSQL leaves out calls that nobody looks at. */
function calledOnly({ scalarColumn }: BodyRows): Sql {
  if (scalarColumn === null) return nullText;
  return sql`case when count(${rowsAlias}.${ident(scalarColumn)}) < 0 then '' end`;
}

/** The primary key of the only row, in the order of the returned columns. */
function keyOf({ relation, returning, read, kind }: MutatePlan): Sql {
  if (kind !== "insert" || returning === "none" || read !== null) return nullText;
  const key = new Set(relation.primaryKey);
  const order = returning === "all" ? relation.columns.map(({ name }) => name) : returning;
  const members = order.filter((name) => key.has(name)).map((name) =>
    sql`${literal(name)}, ${rowsAlias}.${ident(name)}::text`
  );
  return members.length === 0
    ? nullText
    : sql`case when count(*) = 1 then min(pg_catalog.json_build_object(${
      join(members)
    })::text) end`;
}

function toStatement(fragment: Sql, { explain }: ResultOptions): Statement {
  return explain === null
    ? { ...compile(fragment), use: "result", runsUserCode: true }
    : { ...compile(renderExplain(fragment, explain)), use: "rows", runsUserCode: true };
}
