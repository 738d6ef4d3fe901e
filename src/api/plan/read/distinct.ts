/** Plans `distinct`. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { FieldItem, OrderTerm } from "../../request/url/query_types.ts";
import type { Value } from "../../request/url/value_types.ts";
import { rowValue } from "../conditions.ts";
import { isToOne } from "../find_relationship.ts";
import { valueOf } from "../level_names.ts";
import type { ReadNode } from "../read_node.ts";
import type { SelectNode } from "./resolved_tree.ts";
import { isLeftOut } from "./shown_columns.ts";
import { planValue, rowPlace } from "../values/values.ts";

/** Plans `distinct`. Throws `163` with aggregates, and if another value orders whole rows. */
export function planDistinct(
  node: SelectNode,
  { grouped }: { readonly grouped: boolean },
): ReadNode["distinct"] {
  const { distinct } = node;
  if (distinct === null || (node.item !== null && isToOne(node.relationship))) return null;
  if (distinct === "all") {
    for (const term of node.order) checkTerm(term, node);
    return "all";
  }
  if (grouped) throw errors.distinctConflict("aggregates");
  return distinct.map((field) => planValue(rowValue(field, node), node, rowPlace));
}

function checkTerm(term: OrderTerm, node: SelectNode): void {
  const value = valueOfTerm(term, node);
  if (value === null || !node.fields.some((item) => isSelected(value, item, node))) {
    throw errors.distinctConflict(`'${term.field.name}'`);
  }
}

function valueOfTerm({ relation, field, operand }: OrderTerm, node: SelectNode): Value | null {
  if (relation !== null || operand?.kind === "related") return null;
  return operand?.value ?? rowValue(field, node);
}

function isSelected(value: Value, item: FieldItem, node: SelectNode): boolean {
  if (item.kind !== "all") return JSON.stringify(valueOf(item)) === JSON.stringify(value);
  const { field, steps } = value;
  const isColumn = field !== null && field.path.length === 0 && steps.length === 0;
  const { relation, cache } = node;
  return isColumn && !isLeftOut(field.name, node) &&
    (relation === null || cache.column(relation, field.name) !== undefined);
}
