/**
 * Output columns of a level.
 *
 * @module
 */
import type { ReadItem, ReadNode } from "../plan/read_node.ts";
import type { AggregateFunction } from "../request/query_types.ts";
import { emptySql, ident, join, ordinal, type Sql, sql } from "../sql/fragment.ts";
import { renderCast, renderConversion } from "./field.ts";
import type { RowReader } from "./row_reader.ts";

/** One output column. */
export interface Output {
  /** Null for all columns of the source. */
  readonly key: string | null;
  /** What it shows, or what is aggregated. */
  readonly value: Sql;
  readonly aggregate: { readonly function: AggregateFunction; readonly cast: string | null } | null;
  /** What rows are grouped by for it; null for its own value. */
  readonly groupBy: Sql | null;
  /** Position of the embed that it was spread from. */
  readonly embed: number | null;
}

/** How a level's columns are named: by their keys, or by position for the level they are spread into. */
export type ColumnNaming = "keys" | "positions";

/** The output of an entry of the select list. */
export function itemOutput(item: ReadItem, node: ReadNode, reader: RowReader): Output {
  switch (item.kind) {
    case "all":
      return output(null, sql`${ident(node.alias)}.*`);
    case "column": {
      const field = reader.field(item.field);
      const value = renderCast(renderConversion(field, item.convert), item.cast);
      return { ...output(item.key, value), groupBy: item.groupedByColumn ? field : null };
    }
    case "aggregate": {
      const { argument, function: name, cast, key } = item;
      const value = argument === null
        ? sql`true`
        : renderCast(reader.field(argument.field), argument.cast);
      return { ...output(key, value), aggregate: { function: name, cast } };
    }
    default:
      return item satisfies never;
  }
}

/** A column that shows a value as it is. */
export function output(key: string | null, value: Sql): Output {
  return { key, value, aggregate: null, groupBy: null, embed: null };
}

/** Name of a spread level's column by its position. */
export function spreadColumn(position: number): string {
  return `s${position + 1}`;
}

/**
 * The select list. Only a level named by keys aggregates: a spread hands on what to aggregate, and
 * the column `present` for rows that there are.
 */
export function selectList(outputs: readonly Output[], naming: ColumnNaming): Sql {
  if (naming === "keys") {
    return join(
      outputs.map((column) =>
        column.key === null ? column.value : sql`${aggregated(column)} as ${ident(column.key)}`
      ),
    );
  }
  const columns = outputs.map(({ value }, position) =>
    sql`${value} as ${ident(spreadColumn(position))}`
  );
  return join([...columns, sql`true as present`]);
}

/**
 * The select list that gathers a spread level's rows: an array for each column, all in the order of
 * the rows, and `present`, which is NULL where there are none.
 */
export function arrayList(outputs: readonly Output[], rows: Sql): Sql {
  const arrays = outputs.map((_, position) => {
    const column = ident(spreadColumn(position));
    return sql`pg_catalog.jsonb_agg(${rows}.${column}) as ${column}`;
  });
  return join([...arrays, sql`pg_catalog.bool_and(${rows}.present) as present`]);
}

const aggregates: Record<AggregateFunction, Sql> = {
  sum: sql`sum`,
  avg: sql`avg`,
  count: sql`count`,
  max: sql`max`,
  min: sql`min`,
};

function aggregated({ value, aggregate }: Output): Sql {
  if (aggregate === null) return value;
  return renderCast(sql`${aggregates[aggregate.function]}(${value})`, aggregate.cast);
}

/** ` group by` everything that is not aggregated; nothing when everything is. */
export function groupClause(outputs: readonly Output[]): Sql {
  const groups = outputs.flatMap(({ key, aggregate, groupBy }, position) =>
    key === null || aggregate !== null ? [] : [groupBy ?? ordinal(position + 1)]
  );
  return groups.length === 0 ? emptySql : sql` group by ${join(groups)}`;
}
