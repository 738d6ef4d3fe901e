/** Limits of what one request may compute. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { LogicTree, QueryParams, RowBounds, SelectItem } from "../request/url/query_types.ts";
import type { Operand, Value } from "../request/url/value_types.ts";
import { maxParts } from "../request/url/scanner.ts";
import { plainAggregates } from "../request/url/select_grammar.ts";
import type { Condition, PlannedValue, ReadNode, RowRange } from "./read_node.ts";

/** Maximum number of values with calls in one request. */
const maxValues = 64;

/** Throws `177` for more than {@linkcode maxValues} values with calls. */
export function checkValueCount(query: QueryParams): void {
  if (sizeOf(query).values > maxValues) {
    throw errors.queryTooComplex(maxValues, "values with calls");
  }
}

/** Maximum number of embed tests in one statement. Each test repeats the tests in its embed. */
const maxTests = 1000;

/** Throws `177` for more than {@linkcode maxTests} tests of embeds in the statement. */
export function checkTestCount(root: ReadNode): void {
  const counter = new TestCounter();
  if (counter.ofNode(root) > maxTests) throw errors.queryTooComplex(maxTests, "tests of embeds");
}

class TestCounter {
  readonly #counts = new Map<ReadNode, number>();

  ofNode(node: ReadNode): number {
    const cachedCount = this.#counts.get(node);
    if (cachedCount !== undefined) return cachedCount;
    let count = 0;
    for (const condition of node.conditions) count += this.#ofCondition(condition, node);
    for (const term of node.order) {
      if (term.kind === "value") count += this.#ofValue(term.value, node);
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
        return this.#ofValue(condition.field, node) + this.#ofValue(condition.other, node);
      default:
        return this.#ofValue(condition.field, node);
    }
  }

  #sum(conditions: readonly Condition[], node: ReadNode): number {
    return conditions.reduce((count, each) => count + this.#ofCondition(each, node), 0);
  }

  #ofValue(value: PlannedValue, node: ReadNode): number {
    // A value of the outer node is at most one test, because the number of values is limited.
    if (value.kind !== "related") return value.kind === "outer" ? 1 : 0;
    const child = node.embeds[value.embed]!.node;
    return 1 + this.ofNode(child) + this.#ofValue(value.value, child);
  }
}

export const unlimited: RowRange = { limit: null, offset: null, isRequested: false };

export function rootRange({ first, last }: RowBounds, maxRows: number | null): RowRange {
  const limit = last === null ? null : last - first + 1n;
  return embedRange({ limit, offset: first > 0n ? first : null }, maxRows);
}

/** Returns the range of an embed, limited to `maxRows` rows. Invalid values pass unchanged. */
export function embedRange(
  { limit, offset }: { readonly limit: bigint | null; readonly offset: bigint | null },
  maxRows: number | null,
): RowRange {
  return {
    limit: lowerLimit(limit, maxRows)?.toString() ?? null,
    offset: offset?.toString() ?? null,
    isRequested: limit !== null || offset !== null,
  };
}

/** Returns the lower limit; null means no limit. */
function lowerLimit(limit: bigint | null, maxRows: number | null): bigint | number | null {
  return maxRows === null || (limit !== null && limit < maxRows) ? limit : maxRows;
}

/** Maximum number of condition groups, and of embeds. The planning time is quadratic in each. */
const maxGroups = 1000;

/** Parts of a query by their kind. */
interface QuerySize {
  conditions: number;
  groups: number;
  items: number;
  embeds: number;
  terms: number;
  /** Values with calls. */
  values: number;
}

/** Throws `177` for a query with too many parts. */
export function checkQuerySize(query: QueryParams): void {
  const size = sizeOf(query);
  if (size.conditions > maxParts) throw errors.queryTooComplex(maxParts, "conditions");
  if (size.groups > maxGroups) throw errors.queryTooComplex(maxGroups, "groups of conditions");
  if (size.items > maxParts) throw errors.queryTooComplex(maxParts, "items of 'select'");
  if (size.embeds > maxGroups) throw errors.queryTooComplex(maxGroups, "embeds");
  if (size.terms > maxParts) throw errors.queryTooComplex(maxParts, "terms of 'order'");
}

function sizeOf({ select, filters, logic, clauses, order }: QueryParams): QuerySize {
  const size: QuerySize = { conditions: 0, groups: 0, items: 0, embeds: 0, terms: 0, values: 0 };
  addItems(select, size);
  for (const { value } of [...filters, ...logic]) addTree(value, size);
  for (const { value } of clauses) {
    if (value.kind === "having") addTree(value.group, size);
    if (value.kind === "embedTest") addTree(value.test, size);
  }
  for (const { value } of order) {
    size.terms += value.length;
    for (const { operand } of value) addOperand(operand, size);
  }
  return size;
}

function addItems(items: readonly SelectItem[], size: QuerySize): void {
  size.items += items.length;
  for (const item of items) {
    if (item.kind === "value" && hasCalls(item.value)) size.values++;
    if (item.kind !== "relation" && item.kind !== "spread") continue;
    size.embeds++;
    addItems(item.select, size);
  }
}

/** Returns whether a value has calls other than a plain aggregate. */
function hasCalls({ steps }: Value): boolean {
  return steps.some((step) =>
    step.kind === "call" && (step.arguments.length > 0 || !plainAggregates.has(step.name))
  );
}

function addTree(tree: LogicTree, size: QuerySize): void {
  if (tree.kind !== "filter") {
    size.groups++;
    for (const child of tree.children) addTree(child, size);
    return;
  }
  size.conditions++;
  addOperand(tree.operand, size);
  if (tree.operation.kind === "column") addOperand(tree.operation.operand, size);
}

function addOperand(operand: Operand | undefined, size: QuerySize): void {
  if (operand?.kind === "related") return addOperand(operand.operand, size);
  if (operand === undefined) return;
  if (operand.value.field === null || operand.value.steps.length > 0) size.values++;
}
