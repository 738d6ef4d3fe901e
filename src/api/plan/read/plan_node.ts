/** Last pass: plans each node of the resolved tree as a {@linkcode ReadNode}. @module */
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
import { comparable, type FieldScope, type LevelNames, type ValueRules } from "../values/fields.ts";
import { type GroupScope, namesAggregate, planGroupCondition } from "./group_conditions.ts";
import { embedNames, isKeyed, keyOfItem, levelNames, ownNames } from "./level_names.ts";
import { type EmbedScope, planCondition, planRelatedValue, positionOf } from "./related.ts";
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
} from "./read_node.ts";
import type { ResolvedEmbed, ResolvedNode } from "./resolved_tree.ts";
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
  readonly values: ValueRules;
  /** Conditions that follow from those on the parent; empty for the root. */
  readonly implied: readonly Condition[];
  /** The relation or function from which the root reads. */
  readonly source: readonly string[];
}

/** Maximum depth of a level that picks its rows before it embeds. See `ReadNode.joined`. */
const maxPagedDepth = 2;

export function planNode(node: ResolvedNode, context: NodeContext): ReadNode {
  const { alias, aliases } = context;
  const row = rowOf(node, context);
  const scope = scopeOf(node, row, context);
  const grouped = node.item?.kind !== "spread" && hasSpreadAggregate(node);
  const filters = planAggregateFilters(node, scope);
  const level: EmbedScope = { node, scope, reads: context.rows !== "representation" };
  const planned = planConditions(level, filters);
  const held = [...planned.conditions, ...context.implied];
  const { conditions, embeds } = resolveNullFilters(
    held,
    node.children.map((child) =>
      planEmbed(child, row, {
        ...context,
        implied: impliedConditions(held, node.relation, child, context.cache),
      })
    ),
    () => aliases(node.origin.name),
  );
  const range = rangeOf(node, context);
  const joined = context.depth > maxPagedDepth;
  const hasColumns = node.fields.length > 0 || embeds.some(({ hasOutput }) => hasOutput);
  const distinct = hasColumns ? planDistinct(node, scope, { grouped }) : null;
  const hasPage = node.order.length > 0 || range.limit !== null || range.offset !== null;
  // Citus joins the embeds of rows on the servers that have them, but not the embeds of a subquery
  // with a limit.
  const isPushed = context.cache.data.isDistributed === true &&
    !embeds.some(({ mayRepeat }) => mayRepeat);
  const picksRows = !joined && !grouped && distinct === null && !isPushed &&
    embeds.some(({ hasOutput }) => hasOutput) && hasPage;
  // Columns of rows without a relation are unknown, so such rows are picked as a whole.
  const isCursorPage = node.after !== null || node.before !== null;
  const paged = picksRows || isCursorPage ||
    (distinct !== null && distinct !== "all" && node.relation !== null);
  const expandAll = context.expandAll || paged || grouped || node.item?.kind === "spread" ||
    (node.item === null && context.rows === "representation");
  const list = selectListOptions(node, { ...context, expandAll });
  const order = node.order.map((term) => planOrder(term, level, filters));
  const items = planItems(node.fields, scope, { ...list, filters });
  const unpaged = { order, distinct, grouped };
  const page = hasColumns && isCursorPage ? cursorOf(node, unpaged, scope, context) : null;
  return {
    ...kindOf(unpaged, { paged, cursor: page?.cursor ?? null }),
    alias,
    relation: hasSuppliedRows(node, context) ? null : node.origin,
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
  node: ResolvedNode,
  planned: UnpagedNode,
  scope: FieldScope,
  { source, ranges, rows }: NodeContext,
): ReturnType<typeof planCursor> {
  const hasOffset = (ranges?.root.first ?? 0n) > 0n;
  return planCursor(node, planned, scope, { source, isSupplied: rows !== null, hasOffset });
}

/** Plans the conditions on the rows of aggregates, by alias. They cannot contain embeds. */
function planAggregateFilters({ aggregateFilters }: ResolvedNode, scope: FieldScope) {
  if (aggregateFilters.size === 0) return noFilters;
  const rowScope = { ...scope, names: ownNames };
  return new Map(
    Array.from(aggregateFilters, ([alias, trees]) => [
      alias,
      trees.map((tree) => planRowCondition(tree, rowScope)),
    ]),
  );
}

function planConditions(
  level: EmbedScope,
  filters: AggregateFilters,
): Pick<ReadNode, "conditions" | "having"> {
  const { node, scope } = level;
  const conditions: Condition[] = [];
  const having: Condition[] = [];
  const groups: GroupScope = {
    scope,
    fields: node.fields,
    leftOut: node.leftOut,
    filterOf: (key) => filters.get(key) ?? [],
    isGrouped: hasSpreadAggregate(node),
    prefersKeys: false,
  };
  for (const tree of [...node.filters, ...node.logic]) {
    if (namesAggregate(tree, scope.names)) having.push(planGroupCondition(tree, groups));
    else conditions.push(planCondition(tree, level));
  }
  for (const tree of node.having) {
    if (node.item?.kind === "spread") throw errors.notGrouped(node.item.target);
    having.push(planGroupCondition(tree, { ...groups, prefersKeys: true }));
  }
  return { conditions, having };
}

function hasSuppliedRows(node: ResolvedNode, { rows }: NodeContext): boolean {
  return node.item === null ? rows !== null : node.relationship.kind === "computed";
}

function scopeOf(node: ResolvedNode, row: RowType, context: NodeContext): FieldScope {
  const { rows, cache, values } = context;
  const { relation } = node;
  const isUntyped = node.item === null && rows === "result" && relation !== null;
  const untypedRow = isUntyped ? row : null;
  return { relation, untypedRow, cache, names: namesOf(node, context), values };
}

/** Returns the names of a node's level. Conditions of a write may only use columns. */
function namesOf(node: ResolvedNode, { rows, cache, columns }: NodeContext): LevelNames {
  if (rows === "representation") return ownNames;
  if (node.item !== null) return embedNames(node, cache);
  return levelNames({ relation: node.relation, columns }, node.fields, cache);
}

/** Plans one order term. An earlier pass has checked that related terms refer to embeds. */
function planOrder(term: OrderTerm, level: EmbedScope, filters: AggregateFilters): PlannedOrder {
  const { node, scope } = level;
  const { relation, field, operand, direction, nulls } = term;
  const related = operand?.kind === "related" ? operand : columnOfEmbed(term, level);
  if (related !== null) {
    const value = planRelatedValue(
      related,
      level,
      ({ origin, name }) => errors.relatedOrderToMany(origin, name),
    );
    return { kind: "value", value, direction, nulls };
  }
  if (relation === null) {
    const value = operand?.kind === "value" ? operand.value : rowValue(field, scope);
    const place = { takesAggregate: true, filter: filters.get(field.name) ?? [] };
    const planned = comparable(planValue(value, scope, place), scope);
    return { kind: "value", value: planned, direction, nulls };
  }
  const embed = positionOf(node, relation)!;
  return { kind: "related", embed, key: field.name, path: field.path, direction, nulls };
}

/** Returns the column of an embed's relation for a term, unless an item of the embed has that key. */
function columnOfEmbed(
  { relation, field }: OrderTerm,
  { node, reads }: EmbedScope,
): RelatedOperand | null {
  if (relation === null || !reads) return null;
  const child = node.children[positionOf(node, relation)!]!;
  const isEmpty = child.fields.length === 0 && child.children.length === 0;
  if (isEmpty || hasOutputKey(child, field.name)) return null;
  const operand = { kind: "value", value: { field, steps: [] } } as const;
  return { kind: "related", embed: relation, operand };
}

/** Returns whether rows of a node have a key: from an item, an embed, or a spread. */
function hasOutputKey(node: ResolvedNode, key: string): boolean {
  const { fields, children } = node;
  return fields.some((item) =>
    item.kind === "all" ? !isLeftOut(key, node) : isKeyed(item) && keyOfItem(item) === key
  ) || children.some((child) =>
    child.item.kind === "spread" ? hasOutputKey(child, key) : addressOf(child.item) === key
  );
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

/** Returns the row type of a node. Rows of the root have the type only if it reads the relation itself. */
function rowOf(node: ResolvedNode, { rows }: NodeContext): RowType {
  const isSupplied = node.item === null && rows !== null;
  return {
    type: node.origin,
    columns: isSupplied ? node.relation?.columns.map(({ name }) => name) ?? [] : null,
  };
}

/** Returns the row range of a node. `db-max-rows` does not apply to a to-one embed. */
function rangeOf(node: ResolvedNode, { ranges }: NodeContext): RowRange {
  // The root of an answer to a write has no range.
  if (ranges === null) return embedRange(node, null);
  if (node.item === null) return rootRange(ranges.root, ranges.maxRows);
  if (isToOne(node.relationship)) return embedRange(node, null);
  return embedRange(node, lowerMaxRows(ranges.embedMaxRows, node.relation?.maxRows));
}

/** Returns the sources of a node's order. A node with aggregates is ordered by columns that are
 * spread into it. */
function orderSources(
  { order, embeds, grouped }: Pick<ReadNode, "embeds"> & Omit<UnpagedNode, "distinct">,
  node: ResolvedNode,
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
    const source = sortableEmbed(embeds[embed]!, child, names, context);
    return { embed, alias, node: orderSourceNode(source, names) };
  });
}

/** Returns an embed for ordering. If the embed selects no columns, the order may use all columns
 * and computed fields. */
function sortableEmbed(
  embed: Embed,
  { relation }: ResolvedEmbed,
  names: ReadonlySet<string>,
  { cache, values }: NodeContext,
): Embed {
  if (embed.hasOutput) return embed;
  const scope: FieldScope = { relation, untypedRow: null, cache, names: ownNames, values };
  const items = planItems([...names].map(plainField), scope, { columns: null });
  return { ...embed, node: { ...embed.node, items } };
}
