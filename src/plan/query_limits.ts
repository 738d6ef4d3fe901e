/**
 * Limits of what one request may compute.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { LogicTree, QueryParams, SelectItem } from "../request/query_types.ts";
import type { Operand } from "../request/value_types.ts";
import { isPlainField } from "./planned_values.ts";
import type { Condition, PlannedOperand, PlannedValue, ReadNode } from "./read_node.ts";

/** The most values with calls in one request. */
const maxValues = 64;

/** Throws `177` for more than {@linkcode maxValues} values with calls. */
export function checkValueCount({ select, filters, logic, clauses, order }: QueryParams): void {
  let count = countItems(select);
  for (const { value } of filters) count += countInTree(value);
  for (const { value } of logic) count += countInTree(value);
  for (const { value } of clauses) {
    if (value.kind === "having") count += countInTree(value.group);
    if (value.kind === "embedTest") count += countInTree(value.test);
  }
  for (const { value } of order) {
    for (const { operand } of value) count += countOperand(operand);
  }
  if (count > maxValues) throw errors.queryTooComplex(maxValues, "values with calls");
}

function countItems(items: readonly SelectItem[]): number {
  let count = 0;
  for (const item of items) {
    if (item.kind === "value") count++;
    else if (item.kind === "relation" || item.kind === "spread") count += countItems(item.select);
  }
  return count;
}

function countInTree(tree: LogicTree): number {
  if (tree.kind !== "filter") {
    return tree.children.reduce((count, child) => count + countInTree(child), 0);
  }
  const { operand, operation } = tree;
  return countOperand(operand) +
    (operation.kind === "column" ? countOperand(operation.operand) : 0);
}

function countOperand(operand: Operand | undefined): number {
  if (operand === undefined) return 0;
  if (operand.kind === "related") return countOperand(operand.operand);
  return operand.value.field === null || operand.value.steps.length > 0 ? 1 : 0;
}

/** The most tests of embeds in one statement, which repeats the tests within each tested embed. */
const maxTests = 1000;

/** Throws `177` for more than {@linkcode maxTests} tests of embeds in the statement. */
export function checkTestCount(root: ReadNode): void {
  const counter = new TestCounter();
  if (counter.ofNode(root) > maxTests) throw errors.queryTooComplex(maxTests, "tests of embeds");
}

/** Counts the tests that conditions and values of a node render. */
class TestCounter {
  readonly #counts = new Map<ReadNode, number>();

  /** Returns the tests of a node and of all nodes below it. */
  ofNode(node: ReadNode): number {
    const known = this.#counts.get(node);
    if (known !== undefined) return known;
    let count = 0;
    for (const condition of node.conditions) count += this.#ofCondition(condition, node);
    for (const term of node.order) {
      if (term.kind === "value") count += this.#ofOperand(term.value, node);
    }
    for (const { node: child, inner } of node.embeds) count += this.ofNode(child) * (inner ? 2 : 1);
    this.#counts.set(node, count);
    return count;
  }

  #ofCondition(condition: Condition, node: ReadNode): number {
    switch (condition.kind) {
      case "group":
        return this.#sum(condition.children, node);
      case "embedded":
        return this.ofNode(node.embeds[condition.embed]!.node);
      case "related": {
        const child = node.embeds[condition.embed]!.node;
        return 1 + this.ofNode(child) + this.#sum(condition.conditions, child);
      }
      case "column":
        return this.#ofOperand(condition.field, node) + this.#ofOperand(condition.other, node);
      default:
        return this.#ofOperand(condition.field, node);
    }
  }

  #sum(conditions: readonly Condition[], node: ReadNode): number {
    return conditions.reduce((count, each) => count + this.#ofCondition(each, node), 0);
  }

  #ofOperand(operand: PlannedOperand, node: ReadNode): number {
    return isPlainField(operand) ? 0 : this.#ofValue(operand, node);
  }

  #ofValue(value: PlannedValue, node: ReadNode): number {
    // A value of an outer node tests no more than the limit of values lets it.
    if (value.kind !== "related") return value.kind === "outer" ? 1 : 0;
    const child = node.embeds[value.embed]!.node;
    return 1 + this.ofNode(child) + this.#ofValue(value.value, child);
  }
}
