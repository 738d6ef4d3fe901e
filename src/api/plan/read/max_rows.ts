/** Plans where `db-max-rows` and the tag `@maxRows` truncate a response. @module */
import type { RowBounds } from "../../request/url/query_types.ts";
import { isAggregateColumn } from "../values/planned_values.ts";
import type { Condition, ReadNode, ReadRoot } from "../read_node.ts";

/** Returns the lower of two limits; null for no limit. */
export function lowerMaxRows(configured: number | null, tagged: number | undefined): number | null {
  return tagged === undefined ? configured : Math.min(configured ?? tagged, tagged);
}

/** Returns the number of rows after which the root is truncated; null if it is never truncated. */
export function cutOf(
  plan: ReadRoot,
  { last, first }: RowBounds,
  maxRows: number | null,
): number | null {
  const isWithin = last !== null && last - first + 1n <= BigInt(maxRows ?? 0);
  if (maxRows === null || isWithin) return null;
  const isOne = isOneGroup(plan.root) || isByKey(plan) && !hasRepeats(plan);
  return isOne && maxRows > 0 ? null : maxRows;
}

/** Returns whether several rows may have the same key: rows of child tables, or a row for each row
 * of an embed. */
function hasRepeats({ root, relation }: ReadRoot): boolean {
  return relation?.isInherited === true || root.embeds.some(({ mayRepeat }) => mayRepeat);
}

export function isOneGroup({ kind, items, embeds }: ReadNode): boolean {
  return kind === "grouped" && items.every(isAggregateColumn) &&
    embeds.every(({ hasOutput }) => !hasOutput);
}

/** Returns whether conditions set each primary key column of a table to one value. */
export function isByKey({ root, relation }: ReadRoot): boolean {
  if (root.relation === null || relation === null || relation.isView) return false;
  const { primaryKey } = relation;
  return primaryKey.length > 0 &&
    primaryKey.every((name) => root.conditions.some((condition) => isEqual(condition, name)));
}

export function isEqual(
  condition: Condition,
  column: string,
): condition is Extract<Condition, { readonly kind: "compare" }> {
  return condition.kind === "compare" && condition.operator === "eq" && !condition.negated &&
    condition.quantifier === null && condition.field.kind === "column" &&
    condition.field.field.column === column && condition.field.field.path.length === 0;
}
