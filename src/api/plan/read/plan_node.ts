/** Last pass: plans each node of the tree as a {@linkcode ReadNode}. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { getOrMake } from "../../../base/lib/group_by.ts";
import type { EmbedItem, OrderTerm, RowBounds } from "../../request/url/query_types.ts";
import type { RelatedOperand } from "../../request/url/value_types.ts";
import type { Relationship } from "../../../state/schema_cache/schema_cache.ts";
import type { Aliases } from "./resolved_tree.ts";
import { planRowCondition, rowValue } from "../conditions.ts";
import { resolveNullFilters } from "./embed_filters.ts";
import { impliedConditions } from "./implied_conditions.ts";
import { planDistinct } from "./distinct.ts";
import { comparable } from "../values/fields.ts";
import { namesAggregate, planGroupCondition } from "./group_conditions.ts";
import { isKeyed, keyOfItem, ownNames } from "../level_names.ts";
import { planCondition, planRelatedValue, positionOf } from "./related.ts";
import { type AggregateFilters, noFilters, plainField, planItems } from "./select_list.ts";
import { isLeftOut, selectListOptions, type ShownContext } from "./shown_columns.ts";
import { hasSpreadAggregate, spreadsMany } from "./tree_checks.ts";
import { addressOf } from "./select_tree.ts";
import { planCursor, type UnpagedNode } from "./node_cursor.ts";
import { orderSourceNode } from "./order_source.ts";
import type {
  Condition,
  Embed,
  EmbedJoin,
  EmbedShape,
  NodeCursor,
  NodeKind,
  OrderSource,
  PlannedOrder,
  ReadNode,
  RowRange,
  RowType,
} from "../read_node.ts";
import type { SelectEmbed, SelectNode } from "./resolved_tree.ts";
import { isToOne } from "../find_relationship.ts";
import { lowerMaxRows } from "./max_rows.ts";
import { embedRange, rootRange } from "../query_limits.ts";
import { planValue } from "../values/values.ts";

interface NodeContext extends ShownContext {
  readonly alias: string;
  /** Number of ancestors; 0 for the root. */
  readonly depth: number;
  /** Source of aliases for the embeds below. */
  readonly aliases: Aliases;
  /** The requested range of the root, and row limits of the root and each embed; null if ranges do not apply. */
  readonly ranges: {
    readonly root: RowBounds;
    readonly maxRows: number | null;
    readonly embedMaxRows: number | null;
  } | null;
  /** Conditions that follow from conditions on the parent; empty for the root. */
  readonly implied: readonly Condition[];
  /** The relation or function from which the root reads. */
  readonly source: readonly string[];
}

/** Maximum depth of a node that picks its rows before embeds are joined. See `ReadNode.joined`. */
const maxPagedDepth = 2;

export function planNode(node: SelectNode, context: NodeContext): ReadNode {
  const { alias, aliases } = context;
  const grouped = node.item?.kind !== "spread" && hasSpreadAggregate(node);
  const filters = planAggregateFilters(node);
  const planned = planConditions(node, filters);
  // Conditions on groups form groups, too. Without aggregates, PostgreSQL refuses the columns.
  const hasGroups = grouped || planned.having.length > 0;
  const held = [...planned.conditions, ...context.implied];
  const { conditions, embeds } = resolveNullFilters(
    held,
    node.children.map((child) =>
      planEmbed(child, node.row, { ...context, implied: impliedConditions(held, node, child) })
    ),
    () => aliases(node.origin.name),
  );
  const range = rangeOf(node, context);
  const joined = context.depth > maxPagedDepth;
  const hasColumns = node.fields.length > 0 || embeds.some(({ hasOutput }) => hasOutput);
  const distinct = hasColumns ? planDistinct(node, { grouped: hasGroups }) : null;
  const isPage = node.order.length > 0 || range.limit !== null || range.offset !== null;
  // With Citus, no subquery picks the rows: the servers that have the rows could not join embeds to
  // it.
  const isPushed = node.cache.data.isDistributed === true &&
    !embeds.some(({ mayRepeat }) => mayRepeat);
  const picksRows = !joined && distinct === null && !isPushed &&
    embeds.some(({ hasOutput }) => hasOutput) && isPage;
  const isCursorPage = node.after !== null || node.before !== null;
  // `distinct` picks whole rows of a node without a relation, whose columns may be unknown.
  const paged = !hasGroups && (picksRows || isCursorPage ||
    (distinct !== null && distinct !== "all" && node.relation !== null));
  const expandAll = context.expandAll || paged || grouped || node.item?.kind === "spread" ||
    node.supply === "representation";
  const list = selectListOptions(node, { ...context, expandAll });
  const order = node.order.map((term) => planOrder(term, node, filters));
  const items = planItems(node.fields, node, { ...list, filters });
  const unpaged = { order, distinct, grouped };
  const page = hasColumns && isCursorPage
    ? cursorOf(node, { ...unpaged, grouped: hasGroups }, context)
    : null;
  return {
    ...kindOf(unpaged, { paged, cursor: page?.cursor ?? null }),
    alias,
    relation: node.supply === null ? node.origin : null,
    items,
    conditions,
    having: planned.having,
    order: page?.order ?? order,
    orderSources: orderSources({ order, embeds, grouped }, node, context),
    range,
    embeds,
    joined,
  };
}

/** Returns the kind of a node. Earlier checks refuse combinations that have no kind. */
function kindOf(
  { distinct, grouped }: UnpagedNode,
  { paged, cursor }: { readonly paged: boolean; readonly cursor: NodeCursor | null },
): NodeKind {
  if (cursor !== null) return { kind: "cursor", distinct: null, cursor };
  if (distinct === "all") return { kind: grouped ? "grouped" : "plain", distinct };
  if (grouped) return { kind: "grouped", distinct: null };
  return { kind: paged ? "paged" : "plain", distinct };
}

/** Plans the cursors of the root. Throws `168` to `171`. */
function cursorOf(
  node: SelectNode,
  planned: UnpagedNode,
  { source, ranges }: NodeContext,
): ReturnType<typeof planCursor> {
  const hasOffset = (ranges?.root.first ?? 0n) > 0n;
  return planCursor(node, planned, { source, isSupplied: node.supply !== null, hasOffset });
}

/** Plans the conditions on the rows of aggregates, by alias. These conditions cannot name embeds. */
function planAggregateFilters(node: SelectNode): AggregateFilters {
  if (node.aggregateFilters.size === 0) return noFilters;
  const rowScope = { ...node, names: ownNames };
  return new Map(
    Array.from(node.aggregateFilters, ([alias, trees]) => [
      alias,
      trees.map((tree) => planRowCondition(tree, rowScope)),
    ]),
  );
}

function planConditions(
  node: SelectNode,
  filters: AggregateFilters,
): Pick<ReadNode, "conditions" | "having"> {
  const conditions: Condition[] = [];
  const having: Condition[] = [];
  const groups = { node, filters, prefersKeys: false };
  for (const tree of [...node.filters, ...node.logic]) {
    if (namesAggregate(tree, node.names)) having.push(planGroupCondition(tree, groups));
    else conditions.push(planCondition(tree, node));
  }
  for (const tree of node.having) {
    if (node.item?.kind === "spread") throw errors.notGrouped(node.item.target);
    having.push(planGroupCondition(tree, { ...groups, prefersKeys: true }));
  }
  return { conditions, having };
}

/** Plans one order term. An earlier pass has checked that related terms refer to embeds. */
function planOrder(term: OrderTerm, node: SelectNode, filters: AggregateFilters): PlannedOrder {
  const { relation, field, operand, direction, nulls } = term;
  const related = operand?.kind === "related" ? operand : columnOfEmbed(term, node);
  if (related !== null) {
    const value = planRelatedValue(
      related,
      node,
      ({ origin, name }) => errors.relatedOrderToMany(origin, name),
    );
    return { kind: "value", value, direction, nulls };
  }
  if (relation === null) {
    const value = operand?.kind === "value" ? operand.value : rowValue(field, node);
    const place = { takesAggregate: true, filter: filters.get(field.name) ?? [] };
    const planned = comparable(planValue(value, node, place), node);
    return { kind: "value", value: planned, direction, nulls };
  }
  const embed = positionOf(node, relation)!;
  return { kind: "related", embed, key: field.name, path: field.path, direction, nulls };
}

/** Returns the embed's column by which a term orders; null if an item of the embed has this key. */
function columnOfEmbed({ relation, field }: OrderTerm, node: SelectNode): RelatedOperand | null {
  if (relation === null || !node.reads) return null;
  const child = node.children[positionOf(node, relation)!]!;
  const isEmpty = child.fields.length === 0 && child.children.length === 0;
  if (isEmpty || hasOutputKey(child, field.name)) return null;
  const operand = { kind: "value", value: { field, steps: [] } } as const;
  return { kind: "related", embed: relation, operand };
}

/** Returns whether rows of a node have a key: from an item, an embed, or a spread. */
function hasOutputKey(node: SelectNode, key: string): boolean {
  const { fields, children } = node;
  return fields.some((item) =>
    item.kind === "all" ? !isLeftOut(key, node) : isKeyed(item) && keyOfItem(item) === key
  ) || children.some((child) =>
    child.item.kind === "spread" ? hasOutputKey(child, key) : addressOf(child.item) === key
  );
}

function planEmbed(node: SelectEmbed, parentRow: RowType, context: NodeContext): Embed {
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
    mayRepeat: toOne && (relationship.kind === "computed" || relationship.foreignIsView),
    hasOutput: node.fields.length > 0 || readNode.embeds.some(({ hasOutput }) => hasOutput),
    existsAlias: null,
  };
}

const shapes: Record<EmbedItem["kind"], Record<"one" | "many", EmbedShape>> = {
  relation: { one: "object", many: "array" },
  spread: { one: "spread", many: "arrays" },
};

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

/** Returns the row range of a node. `db-max-rows` does not apply to a to-one embed. */
function rangeOf(node: SelectNode, { ranges }: NodeContext): RowRange {
  // In an answer to a write, `ranges` is null: the root has no range.
  if (ranges === null) return embedRange(node, null);
  if (node.item === null) return rootRange(ranges.root, ranges.maxRows);
  if (isToOne(node.relationship)) return embedRange(node, null);
  return embedRange(node, lowerMaxRows(ranges.embedMaxRows, node.relation?.maxRows));
}

/** Returns the sources of a node's order. A node with aggregates is ordered by columns that are
 * spread into it. */
function orderSources(
  { order, embeds, grouped }: Pick<ReadNode, "embeds"> & Omit<UnpagedNode, "distinct">,
  node: SelectNode,
  context: NodeContext,
): readonly OrderSource[] {
  const keys = new Map<number, Set<string>>();
  for (const term of order) {
    if (term.kind !== "related") continue;
    const { shape, hasOutput } = embeds[term.embed]!;
    if (grouped && hasOutput && shape === "spread") continue;
    getOrMake(keys, term.embed, () => new Set()).add(term.key);
  }
  return Array.from(keys, ([embed, names]) => {
    const child = node.children[embed]!;
    const alias = context.aliases(child.origin.name);
    const source = sortableEmbed(embeds[embed]!, child, names);
    return { embed, alias, node: orderSourceNode(source, names) };
  });
}

/** Returns an embed for ordering. If the embed selects no columns, the order may use all columns
 * and computed fields. */
function sortableEmbed(embed: Embed, node: SelectEmbed, names: ReadonlySet<string>): Embed {
  if (embed.hasOutput) return embed;
  const rowScope = { ...node, names: ownNames };
  const items = planItems([...names].map(plainField), rowScope, { columns: null });
  return { ...embed, node: { ...embed.node, items } };
}
