/** Checks of the resolved tree: restrictions on orders, spreads, filters and aggregates. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { Config } from "../../../state/config/options.ts";
import type { Filter, LogicTree } from "../../request/url/query_types.ts";
import { isNullTest } from "../conditions.ts";
import { isAggregateItem, isKeyed } from "../level_names.ts";
import { addressOf } from "./select_tree.ts";
import { allNodes, type SelectEmbed, type SelectNode, type SelectRoot } from "./resolved_tree.ts";
import { isToOne } from "../find_relationship.ts";

/** Throws `108` and `118` for related orders, then `119`, `120`, `123` and `127`, in this order. */
export function checkTree(
  root: SelectRoot,
  config: Pick<Config, "dbAggregatesEnabled" | "dialect">,
): void {
  const nodes = [...allNodes(root)];
  nodes.forEach(checkRelatedOrders);
  if (config.dialect.toManySpreads === "rejected") nodes.forEach(checkSpreads);
  if (config.dialect.embedFilters === "rejected") {
    for (const node of nodes) checkEmbedFilters(node);
  }
  if (!config.dbAggregatesEnabled) checkDisabled(nodes);
  if (nodes.some((node) => spreadsMany(node) && hasSpreadAggregate(node))) {
    throw errors.aggregateInToManySpread();
  }
}

function checkDisabled(nodes: readonly SelectNode[]): void {
  if (nodes.some(hasAggregate)) throw errors.aggregatesDisabled();
  if (nodes.some(({ distinct }) => distinct !== null)) throw errors.distinctDisabled();
}

/** Returns the embed with a name; undefined if it does not exist. */
function findEmbed(node: SelectNode, name: string): SelectEmbed | undefined {
  return node.children.find(({ item }) => addressOf(item) === name);
}

/** Returns whether each column of the embed becomes an array in the parent node. */
export function spreadsMany(node: SelectNode): boolean {
  return node.item !== null && node.item.kind === "spread" && !isToOne(node.relationship);
}

export function hasSpreadAggregate(node: SelectNode): boolean {
  return hasAggregate(node) ||
    node.children.some((child) =>
      child.item.kind === "spread" && !spreadsMany(child) && hasSpreadAggregate(child)
    );
}

function hasAggregate({ fields }: SelectNode): boolean {
  return fields.some((item) => isKeyed(item) && isAggregateItem(item));
}

function checkRelatedOrders(node: SelectNode): void {
  for (const { relation: name, operand } of node.order) {
    if (name === null || operand !== undefined) continue;
    const embed = findEmbed(node, name);
    if (embed === undefined) throw errors.notEmbedded(name);
    if (!isToOne(embed.relationship)) throw errors.relatedOrderToMany(node.origin.name, name);
  }
}

function checkSpreads(node: SelectNode): void {
  const refused = node.children.find(spreadsMany);
  if (refused !== undefined) throw errors.spreadToMany(node.origin.name, refused.item.target);
}

function checkEmbedFilters(node: SelectNode): void {
  if (node.children.length === 0) return;
  for (const filter of filtersOf(node)) {
    const { name, path } = filter.field;
    if (path.length > 0 || filter.operand !== undefined || isNullTest(filter)) continue;
    const embed = findEmbed(node, name);
    if (embed !== undefined && !isColumn(name, node)) {
      throw errors.embedOperator(embed.item.target);
    }
  }
}

function filtersOf({ filters, logic }: SelectNode): readonly Filter[] {
  const allFilters: Filter[] = [...filters];
  const stack: LogicTree[] = [...logic];
  while (stack.length > 0) {
    const tree = stack.pop()!;
    if (tree.kind === "filter") allFilters.push(tree);
    else if (tree.kind === "group") { for (const child of tree.children) stack.push(child); }
  }
  return allFilters;
}

function isColumn(name: string, { relation, cache }: SelectNode): boolean {
  if (relation === null) return false;
  if (cache.column(relation, name) !== undefined) return true;
  return cache.routines({ schema: relation.schema, name }).some(({ parameters, returns }) =>
    parameters.length === 1 && !returns.set && !returns.composite
  );
}
