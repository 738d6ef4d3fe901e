/**
 * Last pass: resolved nodes as read nodes, from what they are called in the statement to how they are joined.
 *
 * @module
 */
import type { OrderTerm, Window } from "../request/query_types.ts";
import type { Relationship, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { Aliases } from "./aliases.ts";
import { planCondition } from "./conditions.ts";
import { resolveNullFilters } from "./embed_filters.ts";
import { type FieldScope, plainField, planField, planItems } from "./fields.ts";
import { hasSpreadAggregate, spreadsMany } from "./tree_checks.ts";
import { addressOf, type EmbedItem } from "./select_tree.ts";
import { orderSourceNode } from "./order_source.ts";
import type {
  Condition,
  Embed,
  EmbedJoin,
  EmbedShape,
  OrderSource,
  PlannedOrder,
  ReadNode,
  RowRange,
  RowType,
} from "./read_node.ts";
import type { ResolvedEmbed, ResolvedNode } from "./resolved_tree.ts";
import { isToOne } from "./find_relationship.ts";
import { embedRange, rootRange, unlimited } from "./row_range.ts";

/** What a node's planning depends on besides its resolved node. */
export interface NodeContext {
  /** The node's own. */
  readonly alias: string;
  readonly cache: SchemaCache;
  /** How many nodes are above it. */
  readonly depth: number;
  /** Names for all nodes below it. */
  readonly aliases: Aliases;
  /** The root is given as rows, of one kind or the other; null when it is a relation. */
  readonly rows: "read" | "result" | "representation" | null;
  /** `*` is said column by column at every node from here on. */
  readonly expandAll: boolean;
  /** Null when no window applies anywhere. */
  readonly ranges: { readonly root: Window; readonly maxRows: number | null } | null;
}

/** The last depth at which rows are picked before their embeds. */
const maxPagedDepth = 2;

/** Plans a node and all below it. */
export function planNode(node: ResolvedNode, context: NodeContext): ReadNode {
  const { alias, aliases } = context;
  const row = rowOf(node, context);
  const scope = scopeOf(node, row, context);
  const { conditions, embeds } = resolveNullFilters(
    planConditions(node, scope),
    node.children.map((child) => planEmbed(child, row, context)),
    () => aliases(node.origin.name),
  );
  const range = rangeOf(node, context);
  const grouped = node.item?.kind !== "spread" && hasSpreadAggregate(node);
  const joined = context.depth > maxPagedDepth;
  const paged = !joined && !grouped && embeds.some(({ hasOutput }) => hasOutput) &&
    (node.order.length > 0 || range.limit !== null || range.offset !== null);
  const expandAll = context.expandAll || paged || grouped || node.item?.kind === "spread" ||
    (node.item === null && context.rows === "representation");
  const order = node.order.map((term) => planOrder(term, node, scope));
  return {
    alias,
    relation: hasSuppliedRows(node, context) ? null : node.origin,
    items: planItems(node.fields, scope, { expandAll }),
    conditions,
    order,
    orderSources: orderSources(order, embeds, { grouped, node, context }),
    range,
    embeds,
    grouped,
    paged,
    joined,
  };
}

function planConditions(node: ResolvedNode, scope: FieldScope): readonly Condition[] {
  return [...node.filters, ...node.logic].map((tree) =>
    planCondition(tree, scope, (name) => positionOf(node, name))
  );
}

/** Rows are not a relation's own: a caller, or a function, gives them. */
function hasSuppliedRows(node: ResolvedNode, { rows }: NodeContext): boolean {
  return node.item === null ? rows !== null : node.relationship.kind === "computed";
}

function scopeOf(node: ResolvedNode, row: RowType, { rows, cache }: NodeContext): FieldScope {
  const { relation } = node;
  const untyped = node.item === null && rows === "result" && relation !== null;
  return { relation, untypedRow: untyped ? row : null, cache };
}

/** Plans the order of a node; related terms name embeds that were checked before. */
function planOrder(term: OrderTerm, node: ResolvedNode, scope: FieldScope): PlannedOrder {
  const { relation, field, direction, nulls } = term;
  if (relation === null) {
    return { kind: "field", field: planField(field, scope), direction, nulls };
  }
  const embed = positionOf(node, relation)!;
  return { kind: "related", embed, key: field.name, path: field.path, direction, nulls };
}

function positionOf({ children }: ResolvedNode, name: string): number | undefined {
  const position = children.findIndex(({ item }) => addressOf(item) === name);
  return position < 0 ? undefined : position;
}

function planEmbed(node: ResolvedEmbed, parentRow: RowType, context: NodeContext): Embed {
  const { item, relationship } = node;
  const readNode = planNode(node, {
    ...context,
    alias: context.aliases(node.origin.name),
    depth: context.depth + 1,
    expandAll: context.expandAll || spreadsMany(node),
  });
  const toOne = isToOne(relationship);
  return {
    node: readNode,
    key: addressOf(item),
    shape: shapes[item.kind][toOne ? "one" : "many"],
    inner: item.join === "inner",
    join: joinOf(relationship, parentRow, context.aliases),
    mayRepeat: toOne && (relationship.kind === "computed" || isOfView(relationship)),
    hasOutput: readNode.items.length > 0 || readNode.embeds.some(({ hasOutput }) => hasOutput),
    existsAlias: null,
  };
}

const shapes: Record<EmbedItem["kind"], Record<"one" | "many", EmbedShape>> = {
  relation: { one: "object", many: "array" },
  spread: { one: "spread", many: "arrays" },
};

function isOfView(relationship: Relationship): boolean {
  return relationship.kind !== "computed" && relationship.foreignIsView;
}

function joinOf(relationship: Relationship, parentRow: RowType, aliases: Aliases): EmbedJoin {
  switch (relationship.kind) {
    case "computed":
      return { kind: "function", function: relationship.function, parentRow };
    case "many-to-many":
      return {
        kind: "junction",
        junction: relationship.junction,
        alias: aliases(relationship.junction.name),
        parentPairs: relationship.originPairs,
        embedPairs: relationship.foreignPairs,
      };
    default:
      return { kind: "columns", pairs: relationship.pairs };
  }
}

/** The root's row has its type only where the root is the relation itself. */
function rowOf(node: ResolvedNode, { rows }: NodeContext): RowType {
  const isSupplied = node.item === null && rows !== null;
  return {
    type: node.origin,
    columns: isSupplied ? node.relation?.columns.map(({ name }) => name) ?? [] : null,
  };
}

/** A to-one embed has no use for the maximum. */
function rangeOf(node: ResolvedNode, { ranges }: NodeContext): RowRange {
  if (ranges === null) return unlimited;
  if (node.item === null) return rootRange(ranges.root, ranges.maxRows);
  return embedRange(node, isToOne(node.relationship) ? null : ranges.maxRows);
}

/** One source per embed that the order names; a grouped node orders by what was spread into it. */
function orderSources(
  order: readonly PlannedOrder[],
  embeds: readonly Embed[],
  { grouped, node, context: { aliases, cache } }: {
    readonly grouped: boolean;
    readonly node: ResolvedNode;
    readonly context: NodeContext;
  },
): readonly OrderSource[] {
  const keys = new Map<number, Set<string>>();
  for (const term of order) {
    if (term.kind !== "related") continue;
    const { shape, hasOutput } = embeds[term.embed]!;
    if (grouped && hasOutput && shape === "spread") continue;
    const embedKeys = keys.get(term.embed);
    if (embedKeys === undefined) keys.set(term.embed, new Set([term.key]));
    else embedKeys.add(term.key);
  }
  return Array.from(keys, ([embed, names]) => {
    const child = node.children[embed]!;
    const alias = aliases(child.origin.name);
    const source = sortableEmbed(embeds[embed]!, child, names, cache);
    return { embed, alias, node: orderSourceNode(source, names) };
  });
}

/**
 * Gives an embed that selects nothing the columns that an order names: all columns of its relation
 * are open to the order then, and computed fields too.
 */
function sortableEmbed(
  embed: Embed,
  { relation }: ResolvedEmbed,
  names: ReadonlySet<string>,
  cache: SchemaCache,
): Embed {
  if (embed.hasOutput) return embed;
  const scope: FieldScope = { relation, untypedRow: null, cache };
  const items = planItems([...names].map(plainField), scope, { expandAll: false });
  return { ...embed, node: { ...embed.node, items } };
}
