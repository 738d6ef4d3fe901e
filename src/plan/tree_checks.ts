/**
 * What a tree of nodes must not ask for, in the order in which it is reported.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import type { Filter, LogicTree } from "../request/query_types.ts";
import type { Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { isNullTest } from "./conditions.ts";
import { addressOf } from "./select_tree.ts";
import {
  allNodes,
  type ResolvedEmbed,
  type ResolvedNode,
  type ResolvedRoot,
} from "./resolved_tree.ts";
import { isToOne } from "./find_relationship.ts";

/** What of the configuration decides what may be asked for. */
export interface AggregateConfig {
  readonly dbAggregatesEnabled: boolean;
  readonly dialect: Pick<Dialect, "embedFilters" | "toManySpreads">;
}

/** Raises `108` and `118` of related orders, then `119`, `120`, `123` and `127`. */
export function checkTree(root: ResolvedRoot, cache: SchemaCache, config: AggregateConfig): void {
  const nodes = [...allNodes(root)];
  nodes.forEach(checkRelatedOrders);
  if (config.dialect.toManySpreads === "rejected") nodes.forEach(checkSpreads);
  if (config.dialect.embedFilters === "rejected") {
    for (const node of nodes) checkEmbedFilters(node, cache);
  }
  if (!config.dbAggregatesEnabled && nodes.some(hasAggregate)) throw errors.aggregatesDisabled();
  if (nodes.some((node) => spreadsMany(node) && hasSpreadAggregate(node))) {
    throw errors.aggregateInToManySpread();
  }
}

/** The embed of a node that a name addresses, if any. */
export function findEmbed(node: ResolvedNode, name: string): ResolvedEmbed | undefined {
  return node.children.find(({ item }) => addressOf(item) === name);
}

/** Whether each column of a node becomes an array in the node above. */
export function spreadsMany(node: ResolvedNode): boolean {
  return node.item !== null && node.item.kind === "spread" && !isToOne(node.relationship);
}

/** Whether a node has aggregates: its own, or those of to-one spreads, which belong to it. */
export function hasSpreadAggregate(node: ResolvedNode): boolean {
  return hasAggregate(node) ||
    node.children.some((child) =>
      child.item.kind === "spread" && !spreadsMany(child) && hasSpreadAggregate(child)
    );
}

/** Whether a node's own select list has aggregates. */
function hasAggregate({ fields }: ResolvedNode): boolean {
  return fields.some((field) =>
    field.kind === "count" || (field.kind === "field" && field.aggregate !== null)
  );
}

function checkRelatedOrders(node: ResolvedNode): void {
  for (const { relation: name } of node.order) {
    if (name === null) continue;
    const embed = findEmbed(node, name);
    if (embed === undefined) throw errors.notEmbedded(name);
    if (!isToOne(embed.relationship)) throw errors.relatedOrderToMany(node.origin.name, name);
  }
}

function checkSpreads(node: ResolvedNode): void {
  const refused = node.children.find(spreadsMany);
  if (refused !== undefined) throw errors.spreadToMany(node.origin.name, refused.item.target);
}

function checkEmbedFilters(node: ResolvedNode, cache: SchemaCache): void {
  if (node.children.length === 0) return;
  for (const filter of filtersOf(node)) {
    const { name, path } = filter.field;
    if (path.length > 0 || isNullTest(filter)) continue;
    const embed = findEmbed(node, name);
    if (embed !== undefined && !isColumn(name, node.relation, cache)) {
      throw errors.embedOperator(embed.item.target);
    }
  }
}

function filtersOf({ filters, logic }: ResolvedNode): readonly Filter[] {
  const found: Filter[] = [...filters];
  const stack: LogicTree[] = [...logic];
  while (stack.length > 0) {
    const tree = stack.pop()!;
    if (tree.kind === "filter") found.push(tree);
    else for (const child of tree.children) stack.push(child);
  }
  return found;
}

/** Columns, and what is callable with a row alone and gives one value. */
function isColumn(name: string, relation: Relation | null, cache: SchemaCache): boolean {
  if (relation === null) return false;
  if (cache.column(relation, name) !== undefined) return true;
  return cache.routines({ schema: relation.schema, name }).some(({ parameters, returns }) =>
    parameters.length === 1 && !returns.set && !returns.composite
  );
}
