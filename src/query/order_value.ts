/**
 * Renders the values that a node is ordered by.
 *
 * @module
 */
import type { PlannedOrder, ReadNode } from "../plan/read_node.ts";
import { ident, type Sql, sql } from "../sql/fragment.ts";
import { renderPath } from "./field.ts";
import type { Output } from "./output.ts";
import type { RowReader } from "./row_reader.ts";

/** Renders the value of a term. Only nodes with groups or distinct rows need the output columns. */
export function orderValue(
  term: PlannedOrder,
  node: ReadNode,
  reader: RowReader,
  outputs: readonly Output[],
): Sql {
  if (term.kind === "field") return reader.field(term.field);
  if (term.kind === "value") return reader.value(term.value);
  if (term.kind === "output") return outputs[term.position]!.value;
  const source = node.orderSources.find(({ embed }) => embed === term.embed);
  const value = source === undefined
    ? spreadValue(term, node, outputs)
    : sql`${ident(source.alias)}.${ident(term.key)}`;
  return term.path.length === 0 ? value : renderPath(sql`pg_catalog.to_jsonb(${value})`, term.path);
}

/** Returns the value of a column that the node's spread embed supplies, for an order by its key. */
function spreadValue(
  { embed, key }: Extract<PlannedOrder, { kind: "related" }>,
  node: ReadNode,
  outputs: readonly Output[],
): Sql {
  const found = outputs.find((column) => column.embed === embed && column.key === key);
  return found?.value ?? sql`${ident(node.embeds[embed]!.node.alias)}.${ident(key)}`;
}
