/**
 * Limits of what one request may compute.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { LogicTree, QueryParams, SelectItem } from "../request/query_types.ts";
import type { Operand } from "../request/value_types.ts";

/** The most values with calls in one request. */
const maxValues = 64;

/** Throws `177` for more than {@linkcode maxValues} values with calls. */
export function checkValueCount({ select, filters, logic, clauses, order }: QueryParams): void {
  let count = countItems(select);
  for (const { value } of filters) count += countInTree(value);
  for (const { value } of logic) count += countInTree(value);
  for (const { value } of clauses) if (value.kind === "having") count += countInTree(value.group);
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
  if (tree.kind === "group") {
    return tree.children.reduce((count, child) => count + countInTree(child), 0);
  }
  const { operand, operation } = tree;
  return countOperand(operand) +
    (operation.kind === "column" ? countOperand(operation.operand) : 0);
}

function countOperand(operand: Operand | undefined): number {
  if (operand === undefined) return 0;
  if (operand.kind === "related") return 1;
  return operand.value.field === null || operand.value.steps.length > 0 ? 1 : 0;
}
