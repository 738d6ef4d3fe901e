/**
 * Last pass: levels as nodes, from what they are called in the statement to how they are joined.
 *
 * @module
 */
import type { OrderTerm, Window } from "../request/query_types.ts";
import type { Relationship, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { Aliases } from "./aliases.ts";
import { planCondition } from "./conditions.ts";
import { settlePresence } from "./embed_filters.ts";
import { type FieldScope, plainField, planField, planItems } from "./fields.ts";
import { hasSpreadAggregate, spreadsMany } from "./level_checks.ts";
import { addressOf, type EmbedItem } from "./levels.ts";
import { orderRows } from "./order_rows.ts";
import type {
  Condition,
  Embed,
  EmbedJoin,
  EmbedShape,
  OrderSource,
  PlannedOrder,
  ReadNode,
  RowType,
  RowWindow,
} from "./read_node.ts";
import type { AnyLevel, EmbeddedLevel } from "./related_levels.ts";
import { isToOne } from "./relationship.ts";
import { everything, rootWindow, windowOf } from "./windows.ts";

/** What a node's planning depends on besides its level. */
export interface NodeContext {
  /** The node's own. */
  readonly alias: string;
  readonly cache: SchemaCache;
  /** How many levels are above it. */
  readonly depth: number;
  /** Names for everything below it. */
  readonly aliases: Aliases;
  /** The root is given as rows, of one kind or the other; null when it is a relation. */
  readonly rows: "read" | "result" | "representation" | null;
  /** `*` is said column by column at every level from here on. */
  readonly expanded: boolean;
  /** Null when no window applies anywhere. */
  readonly windows: { readonly root: Window; readonly maxRows: number | null } | null;
}

/** The last depth at which rows are picked before their embeds. */
const deepestPage = 2;

/** Plans a level and all below it. */
export function planNode(level: AnyLevel, context: NodeContext): ReadNode {
  const { alias, aliases } = context;
  const row = rowOf(level, context);
  const scope = scopeOf(level, row, context);
  const { conditions, embeds } = settlePresence(
    planConditions(level, scope),
    level.children.map((child) => planEmbed(child, row, context)),
    () => aliases(level.origin.name),
  );
  const window = windowFor(level, context);
  const grouped = level.item?.kind !== "spread" && hasSpreadAggregate(level);
  const joined = context.depth > deepestPage;
  const paged = !joined && !grouped && embeds.some(({ visible }) => visible) &&
    (level.order.length > 0 || window.limit !== null || window.offset !== null);
  const expanded = context.expanded || paged || grouped || level.item?.kind === "spread" ||
    (level.item === null && context.rows === "representation");
  const order = level.order.map((term) => planOrder(term, level, scope));
  return {
    alias,
    relation: givenRows(level, context) ? null : level.origin,
    items: planItems(level.fields, scope, { expanded }),
    conditions,
    order,
    orderSources: orderSources(order, embeds, { grouped, level, context }),
    window,
    embeds,
    grouped,
    paged,
    joined,
  };
}

function planConditions(level: AnyLevel, scope: FieldScope): readonly Condition[] {
  return [...level.filters, ...level.logic].map((tree) =>
    planCondition(tree, scope, (name) => positionOf(level, name))
  );
}

/** Rows are not a relation's own: a caller, or a function, gives them. */
function givenRows(level: AnyLevel, { rows }: NodeContext): boolean {
  return level.item === null ? rows !== null : level.relationship.kind === "computed";
}

function scopeOf(level: AnyLevel, row: RowType, { rows, cache }: NodeContext): FieldScope {
  const { relation } = level;
  const untyped = level.item === null && rows === "result" && relation !== null;
  return { relation, untypedRow: untyped ? row : null, cache };
}

/** Plans the order of a level; related terms name embeds that were checked before. */
function planOrder(term: OrderTerm, level: AnyLevel, scope: FieldScope): PlannedOrder {
  const { relation, field, direction, nulls } = term;
  if (relation === null) {
    return { kind: "field", field: planField(field, scope), direction, nulls };
  }
  const embed = positionOf(level, relation)!;
  return { kind: "related", embed, key: field.name, path: field.path, direction, nulls };
}

function positionOf({ children }: AnyLevel, name: string): number | undefined {
  const position = children.findIndex(({ item }) => addressOf(item) === name);
  return position < 0 ? undefined : position;
}

function planEmbed(level: EmbeddedLevel, parentRow: RowType, context: NodeContext): Embed {
  const { item, relationship } = level;
  const node = planNode(level, {
    ...context,
    alias: context.aliases(level.origin.name),
    depth: context.depth + 1,
    expanded: context.expanded || spreadsMany(level),
  });
  const toOne = isToOne(relationship);
  return {
    node,
    key: addressOf(item),
    shape: shapes[item.kind][toOne ? "one" : "many"],
    inner: item.join === "inner",
    join: joinOf(relationship, parentRow, context.aliases),
    mayRepeat: toOne && (relationship.kind === "computed" || isOfView(relationship)),
    visible: node.items.length > 0 || node.embeds.some(({ visible }) => visible),
    presenceAlias: null,
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
function rowOf(level: AnyLevel, { rows }: NodeContext): RowType {
  const given = level.item === null && rows !== null;
  return {
    type: level.origin,
    columns: given ? level.relation?.columns.map(({ name }) => name) ?? [] : null,
  };
}

/** A to-one embed has no use for the maximum. */
function windowFor(level: AnyLevel, { windows }: NodeContext): RowWindow {
  if (windows === null) return everything;
  if (level.item === null) return rootWindow(windows.root, windows.maxRows);
  return windowOf(level, isToOne(level.relationship) ? null : windows.maxRows);
}

/** One source per embed that the order names; a grouped level orders by what was spread into it. */
function orderSources(
  order: readonly PlannedOrder[],
  embeds: readonly Embed[],
  { grouped, level, context: { aliases, cache } }: {
    readonly grouped: boolean;
    readonly level: AnyLevel;
    readonly context: NodeContext;
  },
): readonly OrderSource[] {
  const keys = new Map<number, Set<string>>();
  for (const term of order) {
    if (term.kind !== "related") continue;
    const { shape, visible } = embeds[term.embed]!;
    if (grouped && visible && shape === "spread") continue;
    const known = keys.get(term.embed);
    if (known === undefined) keys.set(term.embed, new Set([term.key]));
    else known.add(term.key);
  }
  return Array.from(keys, ([embed, wanted]) => {
    const child = level.children[embed]!;
    const alias = aliases(child.origin.name);
    const source = sortableEmbed(embeds[embed]!, child, wanted, cache);
    return { embed, alias, node: orderRows(source, wanted) };
  });
}

/**
 * Gives an embed that selects nothing the columns that an order names: all columns of its relation
 * are open to the order then, and computed fields too.
 */
function sortableEmbed(
  embed: Embed,
  { relation }: EmbeddedLevel,
  names: ReadonlySet<string>,
  cache: SchemaCache,
): Embed {
  if (embed.visible) return embed;
  const scope: FieldScope = { relation, untypedRow: null, cache };
  const items = planItems([...names].map(plainField), scope, { expanded: false });
  return { ...embed, node: { ...embed.node, items } };
}
