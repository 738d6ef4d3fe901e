/**
 * Limits of the size of a query that came in a body. Those of a URL are bounded by its length.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { LogicTree, QueryParams, SelectItem } from "../request/query_types.ts";

/** Most conditions, items of `select` and terms of `order`. */
const maxParts = 10_000;
/** Most groups of conditions, and most embeds: the time to plan them grows with their square. */
const maxGroups = 1000;

/** Parts of a query by their kind, which errors name. */
interface QuerySize {
  conditions: number;
  groups: number;
  items: number;
  embeds: number;
  terms: number;
}

/** Throws `177` for a query with too many parts. */
export function checkQuerySize({ select, filters, logic, clauses, order }: QueryParams): void {
  const size: QuerySize = { conditions: filters.length, groups: 0, items: 0, embeds: 0, terms: 0 };
  countItems(select, size);
  for (const { value } of logic) countTree(value, size);
  for (const { value } of clauses) {
    if (value.kind === "having") countTree(value.group, size);
    if (value.kind === "embedTest") countTree(value.test, size);
  }
  for (const { value } of order) size.terms += value.length;
  if (size.conditions > maxParts) throw errors.queryTooComplex(maxParts, "conditions");
  if (size.groups > maxGroups) throw errors.queryTooComplex(maxGroups, "groups of conditions");
  if (size.items > maxParts) throw errors.queryTooComplex(maxParts, "items of 'select'");
  if (size.embeds > maxGroups) throw errors.queryTooComplex(maxGroups, "embeds");
  if (size.terms > maxParts) throw errors.queryTooComplex(maxParts, "terms of 'order'");
}

function countItems(items: readonly SelectItem[], size: QuerySize): void {
  size.items += items.length;
  for (const item of items) {
    if (item.kind !== "relation" && item.kind !== "spread") continue;
    size.embeds++;
    countItems(item.select, size);
  }
}

function countTree(tree: LogicTree, size: QuerySize): void {
  if (tree.kind === "filter") {
    size.conditions++;
    return;
  }
  size.groups++;
  for (const child of tree.children) countTree(child, size);
}
