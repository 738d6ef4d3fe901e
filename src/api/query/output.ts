/** Renders the output columns of a node. @module */
import type { PlannedOrder, PlannedValue, ReadItem, ReadNode } from "../plan/read_node.ts";
import { emptySql, ident, join, ordinal, type Sql, sql } from "../../base/sql/fragment.ts";
import { aggregateIn, type AggregateValue } from "../plan/values/planned_values.ts";
import { renderCast, renderConversion, renderPath } from "./field.ts";
import type { RowReader } from "./row_reader.ts";
import { renderAggregate, renderValue, type ValueSource } from "./value.ts";

export interface Output {
  /** Key of the column; null for all columns of the source. */
  readonly key: string | null;
  readonly value: Sql;
  readonly aggregate: OutputAggregate | null;
  /** The expression by which rows are grouped; null to group by `value`. */
  readonly groupBy: Sql | null;
  /** Position of the embed from which the column is spread; null for other columns. */
  readonly embed: number | null;
}

export interface OutputAggregate {
  readonly value: PlannedValue;
  readonly source: ValueSource;
  /** The rendered value; null if another node supplies the rows. */
  readonly applied: Sql | null;
}

/** Names of a node's columns: their keys or, in a spread, their positions. */
export type ColumnNaming = "keys" | "positions";

/** Whether JSON is only returned, or also compared: sorted or grouped. */
export type JsonUse = "shown" | "compared";

/** JSON functions by use. `json` keeps the order of keys and is faster than `jsonb`, but cannot be compared. */
export const jsonFunctions: Readonly<
  Record<JsonUse, { readonly object: Sql; readonly array: Sql }>
> = {
  shown: { object: sql`pg_catalog.row_to_json`, array: sql`pg_catalog.json_agg` },
  compared: { object: sql`pg_catalog.to_jsonb`, array: sql`pg_catalog.jsonb_agg` },
};

export function itemOutput(item: ReadItem, node: ReadNode, reader: RowReader): Output {
  switch (item.kind) {
    case "all":
      return output(null, sql`${ident(node.alias)}.*`);
    case "column": {
      const field = reader.field(item.field);
      const value = renderCast(renderConversion(field, item.convert), item.cast);
      return { ...output(item.key, value), groupBy: item.groupedByColumn ? field : null };
    }
    case "value": {
      const { key, value } = item;
      const aggregate = aggregateIn(value);
      if (aggregate === null) return output(key, reader.value(value));
      const { argument } = aggregate;
      return {
        ...output(key, argument === null ? sql`true` : reader.value(argument)),
        aggregate: { value, source: reader.source, applied: reader.value(value) },
      };
    }
    default:
      return item satisfies never;
  }
}

export function output(key: string | null, value: Sql): Output {
  return { key, value, aggregate: null, groupBy: null, embed: null };
}

export function spreadColumn(position: number): string {
  return `s${position + 1}`;
}

/** Renders the select list. In a spread, it also has arguments of aggregates, and `present`, which
 * is true for each row. */
export function selectList(outputs: readonly Output[], naming: ColumnNaming): Sql {
  if (naming === "keys") {
    return join(
      outputs.map((column) =>
        column.key === null ? column.value : sql`${outputValue(column)} as ${ident(column.key)}`
      ),
    );
  }
  const columns = outputs.map(({ value }, position) =>
    sql`${value} as ${ident(spreadColumn(position))}`
  );
  return join([...columns, sql`true as present`]);
}

/** Renders an array of each column's values. The column `present` is NULL if there are no rows. */
export function arrayList(outputs: readonly Output[], rows: Sql, json: JsonUse): Sql {
  const arrays = outputs.map((_, position) => {
    const column = ident(spreadColumn(position));
    return sql`${jsonFunctions[json].array}(${rows}.${column}) as ${column}`;
  });
  return join([...arrays, sql`pg_catalog.bool_and(${rows}.present) as present`]);
}

function outputValue({ value, aggregate }: Output): Sql {
  if (aggregate === null) return value;
  const { value: whole, source, applied } = aggregate;
  if (applied !== null) return applied;
  const apply = (called: AggregateValue) =>
    renderAggregate(called, { argument: value, filter: null });
  return renderValue(whole, { ...source, aggregate: apply });
}

/** Renders GROUP BY; empty if all columns are aggregates. */
export function groupClause(outputs: readonly Output[]): Sql {
  const groups = outputs.flatMap(({ key, aggregate, groupBy }, position) =>
    key === null || aggregate !== null ? [] : [groupBy ?? ordinal(position + 1)]
  );
  return groups.length === 0 ? emptySql : sql` group by ${join(groups)}`;
}

/** Renders the value by which a term orders. Only terms of embeds without an order source use `outputs`. */
export function orderValue(
  term: PlannedOrder,
  node: ReadNode,
  reader: RowReader,
  outputs: readonly Output[],
): Sql {
  if (term.kind === "value") return reader.value(term.value);
  const source = node.orderSources.find(({ embed }) => embed === term.embed);
  const value = source === undefined
    ? spreadValue(term, node, outputs)
    : sql`${ident(source.alias)}.${ident(term.key)}`;
  return term.path.length === 0 ? value : renderPath(sql`pg_catalog.to_jsonb(${value})`, term.path);
}

function spreadValue(
  { embed, key }: Extract<PlannedOrder, { kind: "related" }>,
  node: ReadNode,
  outputs: readonly Output[],
): Sql {
  const match = outputs.find((column) => column.embed === embed && column.key === key);
  return match?.value ?? sql`${ident(node.embeds[embed]!.node.alias)}.${ident(key)}`;
}
