/** Renders the subqueries that pick the rows of a page, and the first of equal rows. @module */
import type { PagedNode, PlannedOrder, ReadNode, RowRange } from "../plan/read_node.ts";
import { emptySql, ident, join, or, type Sql, sql } from "../../base/sql/fragment.ts";
import { orderTerm } from "./condition.ts";
import { readingOrder, rowsBehind } from "./cursor.ts";
import { renderRange } from "./from_where.ts";
import { type PageReader, type RowReader, valueKey } from "./row_reader.ts";

export interface PickedRows {
  readonly page: PageReader;
  readonly reader: RowReader;
  readonly rows: (conditions: readonly Sql[]) => Sql;
  /** For each term of the order: its value in the rows, and the page's column with that value. */
  readonly order: readonly OrderedColumn[];
  readonly range: RowRange;
  /** Whether each condition of a cursor is a separate query that can use an index. False for a
   * function, which must run only once. */
  readonly isDivided: boolean;
}

export interface OrderedColumn {
  readonly term: PlannedOrder;
  readonly value: Sql;
  readonly name: Sql;
}

/** Renders the subquery of a paged node. Of rows with equal `distinct` values, it picks the first. */
export function pageQuery(node: PagedNode, picked: PickedRows): Sql {
  const { page, reader, rows, order, range } = picked;
  const { distinct } = node;
  const cursor = node.kind === "cursor" ? node.cursor : null;
  const reading = order.map(({ name, term }) =>
    orderTerm(name, readingOrder(term, cursor?.page ?? null))
  );
  const end = sql`${orderClause(reading)}${renderRange(range)}`;
  if (distinct === null) {
    const behind = cursor === null ? null : rowsBehind(cursor, order);
    const joined = behind === null ? [] : [or(behind)];
    const conditions = behind === null || !picked.isDivided
      ? [joined]
      : behind.map((each) => [each]);
    const parts = conditions.map((each) => sql`select ${page.columns()}${rows(each)}${end}`);
    return parts.length === 1 ? parts[0]! : together(node, parts, end);
  }
  const names = distinct.map((value) => page.column(valueKey(value), () => reader.value(value)));
  const keys = names.map((name) => ident(name));
  const first = sql`select distinct on (${join(keys)}) ${page.columns()}${rows([])}`;
  if (order.length === 0 || ordersBy(node, names, page)) return sql`${first}${end}`;
  const sorted = orderClause([...keys, ...reading]);
  return sql`select * from (${first}${sorted}) as ${ident(node.alias)}${end}`;
}

/** Renders the union of several queries. Each query and the union have the same order and limit. */
function together({ alias }: ReadNode, parts: readonly Sql[], end: Sql): Sql {
  const all = join(parts.map((part) => sql`(${part})`), sql` union all `);
  return sql`select * from (${all}) as ${ident(alias)}${end}`;
}

function ordersBy({ order }: ReadNode, names: readonly string[], page: PageReader): boolean {
  const distinct = new Set(names);
  const first = order.slice(0, distinct.size).map((term) => page.column(termKey(term), noValue));
  return new Set(first).size === distinct.size && first.every((name) => distinct.has(name));
}

function noValue(): never {
  throw new TypeError("cannot read a page: it has no column for a term of its order");
}

/** Renders rows without a relation. Of rows with equal `distinct` values, it picks the first. */
export function distinctRows(
  { alias, distinct }: ReadNode,
  reader: RowReader,
  order: readonly Sql[],
  rows: Sql,
): Sql {
  if (distinct === null || distinct === "all") return rows;
  const keys = distinct.map(reader.value);
  return sql` from (select distinct on (${join(keys)}) ${ident(alias)}.*${rows}${
    orderClause([...keys, ...order])
  }) as ${ident(alias)}`;
}

export function termKey(term: PlannedOrder): string {
  return term.kind === "value"
    ? valueKey(term.value)
    : `order ${JSON.stringify([term.embed, term.key, term.path])}`;
}

/** Renders ` order by …`; empty without terms. */
export function orderClause(terms: readonly Sql[]): Sql {
  return terms.length === 0 ? emptySql : sql` order by ${join(terms)}`;
}
