/** Plans conditions across embeds, and values of embeds. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { EmbedTest, Filter, LogicTree } from "../../request/url/query_types.ts";
import type { Operand, RelatedOperand } from "../../request/url/value_types.ts";
import { isNullTest, type OtherPlanner, planFilter, rowValue } from "../conditions.ts";
import { isToOne } from "../find_relationship.ts";
import type { Condition, PlannedValue } from "../read_node.ts";
import type { SelectEmbed, SelectNode } from "./resolved_tree.ts";
import { addressOf } from "./select_tree.ts";
import { hasAggregateCall, planValue, rowPlace } from "../values/values.ts";

/** Returns the position of the embed with a name; undefined if it does not exist. */
export function positionOf({ children }: SelectNode, name: string): number | undefined {
  const position = children.findIndex(({ item }) => addressOf(item) === name);
  return position < 0 ? undefined : position;
}

/** Plans one condition of a node. Throws `108`, `160` and `174`. */
export function planCondition(tree: LogicTree, node: SelectNode): Condition {
  switch (tree.kind) {
    case "filter":
      return planLeaf(tree, node);
    case "group":
      return { ...tree, children: tree.children.map((child) => planCondition(child, node)) };
    case "embedTest":
      return planTest(tree, node);
    default:
      return tree satisfies never;
  }
}

/** Plans a filter. A null test on the name of an embed becomes an EXISTS test. */
function planLeaf(filter: Filter, node: SelectNode): Condition {
  const { name } = filter.field;
  const isColumn = filter.operand === undefined || filter.prefersColumn === true;
  const embed = isColumn && isNullTest(filter) ? positionOf(node, name) : undefined;
  if (embed !== undefined) return { kind: "embedded", embed, present: filter.negated };
  const other: OtherPlanner = (operand) => planOther(operand, node);
  const { operand } = filter;
  const isRelated = operand?.kind === "related" &&
    (!isColumn || (!isNullTest(filter) && !isOwnName(name, node)));
  return isRelated
    ? planRelated(filter, operand, { node, other })
    : planFilter(filter, node, rowPlace, other);
}

/** Returns whether a name belongs to the row itself. The name of a function that computes an embed
 * does not. */
function isOwnName(name: string, node: SelectNode): boolean {
  const embed = positionOf(node, name);
  const relationship = embed === undefined ? undefined : node.children[embed]!.relationship;
  const isFunction = relationship?.kind === "computed" && relationship.function.name === name;
  return !isFunction && node.names.isOwn(name);
}

function planOther(operand: Operand, node: SelectNode): PlannedValue {
  if (operand.kind === "value") return planValue(operand.value, node, rowPlace);
  return planRelatedValue(
    operand,
    node,
    ({ name }) => errors.severalValues(name, innerName(operand)),
  );
}

function innerName(operand: Operand): string {
  return operand.kind === "related"
    ? innerName(operand.operand)
    : operand.value.field?.name ?? "count";
}

interface RelatedContext {
  readonly node: SelectNode;
  readonly other: OtherPlanner;
}

/**
 * Plans a filter on rows of an embed, or on an aggregate of them. `not` applies within the embed.
 */
function planRelated(
  filter: Filter,
  { embed: name, operand }: RelatedOperand,
  { node, other }: RelatedContext,
): Condition {
  const { prefersColumn: _, operand: __, ...plain } = filter;
  const { embed, child } = enter(name, node);
  // The other side of the comparison is a value of the parent node.
  const outside: OtherPlanner = (each) => ({ kind: "outer", value: other(each) });
  const any = (condition: Condition): Condition => (
    { kind: "related", embed, quantifier: "any", conditions: [condition] }
  );
  if (operand.kind === "related") {
    return any(planRelated(plain, operand, { node: child, other: outside }));
  }
  const { value } = operand;
  if (value.steps.length === 0 && value.field !== null) {
    return any(planFilter({ ...plain, field: value.field }, child, rowPlace, outside));
  }
  const whole: Filter = { ...plain, operand };
  if (!hasAggregateCall(value)) return any(planFilter(whole, child, rowPlace, outside));
  const condition = planFilter(whole, child, { takesAggregate: true, filter: [] }, other);
  return { ...condition, field: { kind: "related", embed, value: condition.field } };
}

function planTest(test: EmbedTest, node: SelectNode): Condition {
  const { embed, child } = enter(test.embed, node);
  const conditions = test.children.map((tree) => planCondition(tree, child));
  return { kind: "related", embed, quantifier: test.quantifier, conditions };
}

/** Plans a value of an embed. Only an aggregate may read an embed with many rows; otherwise
 * `several` makes the error. */
export function planRelatedValue(
  { embed: name, operand }: RelatedOperand,
  node: SelectNode,
  several: (embed: { readonly origin: string; readonly name: string }) => Error,
): PlannedValue {
  const { embed, child } = enter(name, node);
  const isOne = isToOne(child.relationship);
  const refused = () => several({ origin: node.origin.name, name });
  if (operand.kind === "related") {
    if (!isOne) throw refused();
    return { kind: "related", embed, value: planRelatedValue(operand, child, several) };
  }
  const { value } = operand;
  const isAggregate = hasAggregateCall(value);
  if (!isOne && !isAggregate) throw refused();
  const whole = value.steps.length === 0 && value.field !== null
    ? rowValue(value.field, child)
    : value;
  const planned = planValue(whole, child, { takesAggregate: isAggregate, filter: [] });
  return { kind: "related", embed, value: planned };
}

/** Returns an embed. Throws `160` for a write, and `108` if the embed does not exist. */
function enter(
  name: string,
  node: SelectNode,
): { readonly embed: number; readonly child: SelectEmbed } {
  if (!node.reads) throw errors.onlyForReading(name);
  const embed = positionOf(node, name);
  if (embed === undefined) throw errors.notEmbedded(name);
  return { embed, child: node.children[embed]! };
}
