/** Renders the page of a root that begins at a cursor. A materialized CTE reads one row more than
 * the page, which shows whether more rows follow. @module */
import type { CursorPage, PagedNode, PlannedOrder } from "../plan/read_node.ts";
import type { ReadPlan } from "../plan/read/read_plan.ts";
import { emptySql, ident, ownName, smallNumber, type Sql, sql } from "../../base/sql/fragment.ts";
import { orderTerm } from "./condition.ts";
import { cursorText, readingOrder } from "./cursor.ts";
import { type JoinSource, rootSource } from "./from_where.ts";
import { selectList } from "./output.ts";
import { orderClause } from "./picked_rows.ts";
import { type PagedParts, pagedParts, renderRows } from "./read.ts";

export interface RootRows {
  readonly rows: Sql;
  /** Common table expressions that the rows read, or null. */
  readonly common: Sql | null;
  /** Metadata columns of the page; empty without a page. */
  readonly metadata: readonly Sql[];
}

/** Renders the rows of a read plan. `from` supplies the root's rows, as in {@linkcode renderRows}. */
export function renderRoot(plan: ReadPlan, from?: Sql): RootRows {
  const { root } = plan;
  return root.kind === "cursor"
    ? renderPage(root, rootSource(root, from))
    : cutRows(plan, (read) => renderRows(read, from));
}

/** Renders the rows of a plan. If they may be truncated, one more row is read, and a column shows
 * whether that row exists. */
export function cutRows(plan: ReadPlan, render: (plan: ReadPlan) => Sql): RootRows {
  const { root, cutAt } = plan;
  if (cutAt === null) return { rows: render(plan), common: null, metadata: [] };
  const limit = String(cutAt);
  const range = { ...root.range, limit: oneMore(limit) };
  const whole = render({ ...plan, root: { ...root, range } });
  return {
    common: sql`${pageRows} as materialized (${whole})`,
    rows: sql`select * from ${pageRows} limit ${smallNumber(limit)}`,
    metadata: [moreThan(limit)],
  };
}

/** Renders whether a page has more rows than its limit: `1` or `0`. */
function moreThan(limit: string): Sql {
  return sql`((select pg_catalog.count(*) from ${pageRows}) > ${
    smallNumber(limit)
  })::int::pg_catalog.text`;
}

type CursorRoot = Extract<PagedNode, { readonly kind: "cursor" }>;

const pageRows = ownName("page");
const shownRows = ownName("shown");

function renderPage(root: CursorRoot, source: JoinSource): RootRows {
  const { limit } = root.range;
  const range = { ...root.range, offset: null, limit: limit === null ? null : oneMore(limit) };
  const use = { json: "shown", range, isDivided: root.relation !== null } as const;
  const { picked, outputs, joins, order } = pagedParts(root, source, use);
  const alias = ident(root.alias);
  const pageSource = limit === null ? pageRows : shownRows;
  const whole = sql`${pageRows} as materialized (${picked})`;
  const reading = orderOf(order, (term) => readingOrder(term, root.cursor.page));
  const query = sql`select ${selectList(outputs, "keys")} from ${pageSource} as ${alias}${joins}${
    orderOf(order, asRequested, sql`${alias}.`)
  }`;
  return {
    common: limit === null
      ? whole
      : sql`${whole}, ${shownRows} as (select * from ${pageRows}${reading} limit ${
        smallNumber(limit)
      })`,
    rows: query,
    metadata: pageMetadata(root, order, pageSource),
  };
}

/** Renders the metadata of a page: whether more rows follow, and the cursors of the first and last row. */
function pageMetadata(
  { cursor, range: { limit } }: CursorRoot,
  order: PagedParts["order"],
  source: Sql,
): readonly Sql[] {
  const names = order.map(({ name }) => name);
  // The subquery picks the row first, so that PostgreSQL computes the text of this row only.
  const endCursor = (end: "first" | "last") =>
    leadsOn(cursor.page, end)
      ? sql`(select ${cursorText(cursor, names)} from (select * from ${source}${
        orderOf(order, end === "first" ? asRequested : backwards)
      } limit 1) as ${source})`
      : sql`null::pg_catalog.text`;
  const more = limit === null ? sql`'0'::pg_catalog.text` : moreThan(limit);
  return [more, endCursor("first"), endCursor("last")];
}

function orderOf(
  order: PagedParts["order"],
  wrap: (term: PlannedOrder) => PlannedOrder,
  qualifier: Sql = emptySql,
): Sql {
  return orderClause(
    order.map(({ name, term }) => orderTerm(sql`${qualifier}${name}`, wrap(term))),
  );
}

function asRequested(term: PlannedOrder): PlannedOrder {
  return term;
}

/** Returns whether rows may exist beyond an end of a page. The first page has no rows before it. */
function leadsOn({ direction, keys }: CursorPage, end: "first" | "last"): boolean {
  return keys !== null || (end === "last") === (direction === "after");
}

/** Returns a limit increased by one, up to PostgreSQL's maximum. */
function oneMore(limit: string): string {
  return BigInt(limit) >= 2n ** 63n - 1n ? limit : String(BigInt(limit) + 1n);
}

function backwards(term: PlannedOrder): PlannedOrder {
  return readingOrder(term, { direction: "before", keys: null });
}
