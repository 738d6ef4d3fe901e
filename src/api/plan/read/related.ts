/** Plans conditions across embeds, and values of embeds. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { EmbedTest, Filter, LogicTree } from "../../request/url/query_types.ts";
import type { Operand, RelatedOperand } from "../../request/url/value_types.ts";
import { isNullTest, type OtherPlanner, planFilter, rowValue } from "../conditions.ts";
import type { FieldScope } from "../values/fields.ts";
import { isToOne } from "../find_relationship.ts";
import { embedNames } from "./level_names.ts";
import type { Condition, PlannedValue } from "./read_node.ts";
import type { ResolvedEmbed, ResolvedNode } from "./resolved_tree.ts";
import { addressOf } from "./select_tree.ts";
import { hasAggregateCall, planValue, rowPlace } from "../values/values.ts";

export interface EmbedScope {
  readonly node: ResolvedNode;
  readonly scope: FieldScope;
  /** False for rows that a write returns, where only null tests may name embeds. */
  readonly reads: boolean;
}

/** Returns the position of the embed with a name; undefined if it does not exist. */
export function positionOf({ children }: ResolvedNode, name: string): number | undefined {
  const position = children.findIndex(({ item }) => addressOf(item) === name);
  return position < 0 ? undefined : position;
}

/** Plans one condition of a node. Throws `108`, `160` and `174`. */
export function planCondition(tree: LogicTree, level: EmbedScope): Condition {
  switch (tree.kind) {
    case "filter":
      return planLeaf(tree, level);
    case "group":
      return { ...tree, children: tree.children.map((child) => planCondition(child, level)) };
    case "embedTest":
      return planTest(tree, level);
    default:
      return tree satisfies never;
  }
}

/** Plans a filter. A null test on the name of an embed becomes an EXISTS test. */
function planLeaf(filter: Filter, level: EmbedScope): Condition {
  const { node, scope } = level;
  const { name } = filter.field;
  const isColumn = filter.operand === undefined || filter.prefersColumn === true;
  const embed = isColumn && isNullTest(filter) ? positionOf(node, name) : undefined;
  if (embed !== undefined) return { kind: "embedded", embed, present: filter.negated };
  const other: OtherPlanner = (operand) => planOther(operand, level);
  const { operand } = filter;
  const isRelated = operand?.kind === "related" &&
    (!isColumn || (!isNullTest(filter) && !isOwnName(name, level)));
  return isRelated
    ? planRelated(filter, operand, { level, other })
    : planFilter(filter, scope, rowPlace, other);
}

/** Returns whether a name belongs to the row itself. The function of an embedded computed
 * relationship does not. */
function isOwnName(name: string, { node, scope }: EmbedScope): boolean {
  const embed = positionOf(node, name);
  const relationship = embed === undefined ? undefined : node.children[embed]!.relationship;
  const isFunction = relationship?.kind === "computed" && relationship.function.name === name;
  return !isFunction && scope.names.isOwn(name);
}

function planOther(operand: Operand, level: EmbedScope): PlannedValue {
  if (operand.kind === "value") return planValue(operand.value, level.scope, rowPlace);
  return planRelatedValue(
    operand,
    level,
    ({ name }) => errors.severalValues(name, innerName(operand)),
  );
}

function innerName(operand: Operand): string {
  return operand.kind === "related"
    ? innerName(operand.operand)
    : operand.value.field?.name ?? "count";
}

interface RelatedContext {
  readonly level: EmbedScope;
  readonly other: OtherPlanner;
}

/**
 * Plans a filter on rows of an embed, or on an aggregate of them. `not` applies within the embed.
 */
function planRelated(
  filter: Filter,
  { embed: name, operand }: RelatedOperand,
  { level, other }: RelatedContext,
): Condition {
  const { prefersColumn: _, operand: __, ...plain } = filter;
  const { embed, child } = enter(name, level);
  // The other side belongs to the node around the embed.
  const outside: OtherPlanner = (each) => ({ kind: "outer", value: other(each) });
  const any = (condition: Condition): Condition => (
    { kind: "related", embed, quantifier: "any", conditions: [condition] }
  );
  if (operand.kind === "related") {
    return any(planRelated(plain, operand, { level: child, other: outside }));
  }
  const { value } = operand;
  if (value.steps.length === 0 && value.field !== null) {
    return any(planFilter({ ...plain, field: value.field }, child.scope, rowPlace, outside));
  }
  const whole: Filter = { ...plain, operand };
  if (!hasAggregateCall(value)) return any(planFilter(whole, child.scope, rowPlace, outside));
  const condition = planFilter(whole, child.scope, { takesAggregate: true, filter: [] }, other);
  return { ...condition, field: { kind: "related", embed, value: condition.field } };
}

function planTest(test: EmbedTest, level: EmbedScope): Condition {
  const { embed, child } = enter(test.embed, level);
  const conditions = test.children.map((tree) => planCondition(tree, child));
  return { kind: "related", embed, quantifier: test.quantifier, conditions };
}

/** Plans a value of an embed. Only an aggregate may read an embed with many rows; otherwise
 * `several` makes the error. */
export function planRelatedValue(
  { embed: name, operand }: RelatedOperand,
  level: EmbedScope,
  several: (embed: { readonly origin: string; readonly name: string }) => Error,
): PlannedValue {
  const { embed, child } = enter(name, level);
  const isOne = isToOne((child.node as ResolvedEmbed).relationship);
  const refused = () => several({ origin: level.node.origin.name, name });
  if (operand.kind === "related") {
    if (!isOne) throw refused();
    return { kind: "related", embed, value: planRelatedValue(operand, child, several) };
  }
  const { value } = operand;
  const isAggregate = hasAggregateCall(value);
  if (!isOne && !isAggregate) throw refused();
  const whole = value.steps.length === 0 && value.field !== null
    ? rowValue(value.field, child.scope)
    : value;
  const planned = planValue(whole, child.scope, { takesAggregate: isAggregate, filter: [] });
  return { kind: "related", embed, value: planned };
}

/**
 * Returns an embed and its level. Throws `160` for a write, and `108` if the embed does not exist.
 */
function enter(
  name: string,
  { node, scope, reads }: EmbedScope,
): { readonly embed: number; readonly child: EmbedScope } {
  if (!reads) throw errors.onlyForReading(name);
  const embed = positionOf(node, name);
  if (embed === undefined) throw errors.notEmbedded(name);
  const child = node.children[embed]!;
  const { cache, values } = scope;
  const { relation } = child;
  const names = embedNames(child, cache);
  return {
    embed,
    child: { node: child, scope: { relation, untypedRow: null, cache, names, values }, reads },
  };
}
