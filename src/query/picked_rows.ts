/**
 * Renders the subqueries that pick the rows of a node: pages, and the first of equal rows.
 *
 * @module
 */
import { isPlainField } from "../plan/planned_values.ts";
import type { PlannedOperand, PlannedOrder, ReadNode } from "../plan/read_node.ts";
import { emptySql, ident, join, type Sql, sql } from "../sql/fragment.ts";
import { renderRange } from "./from_where.ts";
import { fieldKey, type PageReader, readOperand, type RowReader, valueKey } from "./row_reader.ts";

/** Renders the subquery of a paged node. Of rows that are equal in some values it picks the first. */
export function pageQuery(
  node: ReadNode,
  { page, own, rows, order }: {
    readonly page: PageReader;
    readonly own: RowReader;
    readonly rows: Sql;
    readonly order: readonly Sql[];
  },
): Sql {
  const range = renderRange(node.range);
  const { distinct } = node;
  if (distinct === null || distinct === "all") {
    return sql`select ${page.columns()}${rows}${orderClause(order)}${range}`;
  }
  const names = distinct.map((operand) =>
    page.column(operandKey(operand), () => readOperand(own, operand))
  );
  const keys = names.map((name) => ident(name));
  const picked = sql`select distinct on (${join(keys)}) ${page.columns()}${rows}`;
  if (order.length === 0 || ordersBy(node, names, page)) {
    return sql`${picked}${orderClause(order)}${range}`;
  }
  return sql`select * from (${picked}${orderClause([...keys, ...order])}) as ${ident(node.alias)}${
    orderClause(order)
  }${range}`;
}

/** Whether an order begins with all of some columns of a page. */
function ordersBy({ order }: ReadNode, names: readonly string[], page: PageReader): boolean {
  const distinct = new Set(names);
  const first = order.slice(0, distinct.size).map((term) => page.column(orderKey(term), noValue));
  return new Set(first).size === distinct.size && first.every((name) => distinct.has(name));
}

function noValue(): never {
  throw new TypeError("cannot read a page: it has no column for a term of its order");
}

function operandKey(operand: PlannedOperand): string {
  return isPlainField(operand) ? fieldKey(operand) : valueKey(operand);
}

/** Renders the rows of a node without a relation: the first of those that are equal in some values. */
export function distinctRows(
  { alias, distinct }: ReadNode,
  { reader, order, rows }: {
    readonly reader: RowReader;
    readonly order: readonly Sql[];
    readonly rows: Sql;
  },
): Sql {
  if (distinct === null || distinct === "all") return rows;
  const keys = distinct.map((operand) => readOperand(reader, operand));
  return sql` from (select distinct on (${join(keys)}) ${ident(alias)}.*${rows}${
    orderClause([...keys, ...order])
  }) as ${ident(alias)}`;
}

/** Returns a key that is equal for equal terms of an order. */
export function orderKey(term: PlannedOrder): string {
  switch (term.kind) {
    case "field":
      return fieldKey(term.field);
    case "value":
      return valueKey(term.value);
    case "related":
      return `order ${JSON.stringify([term.embed, term.key, term.path])}`;
    default:
      return term satisfies never;
  }
}

/** Renders ` order by …`; empty without terms. */
export function orderClause(terms: readonly Sql[]): Sql {
  return terms.length === 0 ? emptySql : sql` order by ${join(terms)}`;
}
