/** Conditions on the groups of a node with aggregates (HAVING). @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { Filter, KeyedItem, LogicTree } from "../../request/url/query_types.ts";
import type { Field, Value } from "../../request/url/value_types.ts";
import { comparedOf, planFilter } from "../conditions.ts";
import type { FieldScope, LevelNames } from "../values/fields.ts";
import { isAggregateItem, valueOf } from "../level_names.ts";
import type { Condition } from "../read_node.ts";
import type { SelectNode } from "./resolved_tree.ts";
import type { AggregateFilters } from "./select_list.ts";
import { isLeftOut } from "./shown_columns.ts";
import { hasSpreadAggregate } from "./tree_checks.ts";
import { hasAggregateCall } from "../values/values.ts";

export function namesAggregate(tree: LogicTree, names: LevelNames): boolean {
  if (tree.kind === "embedTest") return false;
  if (tree.kind === "group") return tree.children.some((child) => namesAggregate(child, names));
  const item = keyedItem(tree, names);
  return item !== undefined && isAggregateItem(item);
}

function keyedItem({ field, operand }: Filter, names: LevelNames): KeyedItem | undefined {
  if (operand !== undefined || field.path.length > 0 || names.isOwn(field.name)) return undefined;
  return names.item(field.name);
}

export interface GroupScope {
  readonly node: SelectNode;
  readonly filters: AggregateFilters;
  /** Whether keys of items take precedence over names of columns. */
  readonly prefersKeys: boolean;
}

/** Plans a condition on groups. Throws `162` for a value that is neither aggregated nor grouped. */
export function planGroupCondition(tree: LogicTree, groups: GroupScope): Condition {
  if (tree.kind === "embedTest") throw errors.notGrouped(tree.embed);
  if (tree.kind === "group") {
    return { ...tree, children: tree.children.map((child) => planGroupCondition(child, groups)) };
  }
  const { node, filters } = groups;
  const { name } = tree.field;
  if (tree.operand?.kind === "related") throw errors.notGrouped(name);
  const compared = groups.prefersKeys ? withKey(tree, node.names) : tree;
  const value = comparedOf(compared, node);
  if (!hasAggregateCall(value)) checkGrouped(value, name, node);
  return planFilter(compared, node, { takesAggregate: true, filter: filters.get(name) ?? [] });
}

/** Replaces the key of an item in a condition by the item's value. */
function withKey(filter: Filter, names: LevelNames): Filter {
  const { field, operand } = filter;
  const item = operand === undefined && field.path.length === 0
    ? names.item(field.name)
    : undefined;
  if (item === undefined) return filter;
  return { ...filter, operand: { kind: "value", value: valueOf(item) } };
}

function checkGrouped(value: Value, name: string, node: SelectNode): void {
  const isGrouped = hasSpreadAggregate(node) && node.fields.some((item) => {
    if (item.kind === "all") {
      return value.steps.length === 0 && isColumn(value.field, node) &&
        !isLeftOut(value.field!.name, node);
    }
    if (isAggregateItem(item)) return false;
    if (JSON.stringify(valueOf(item)) === JSON.stringify(value)) return true;
    // An item without alias is grouped by its column, and not by the cast of the column.
    return item.kind === "field" && item.alias === null && item.field.path.length === 0 &&
      value.steps.length === 0 && value.field?.path.length === 0 &&
      item.field.name === value.field.name;
  });
  if (!isGrouped) throw errors.notGrouped(name);
}

function isColumn(field: Field | null, { relation, cache }: FieldScope): boolean {
  return field !== null && field.path.length === 0 && relation !== null &&
    cache.column(relation, field.name) !== undefined;
}
