/**
 * Whether a plan is quiet: none of the database's own code runs when it is carried out, so that there
 * is nobody who would look at what the request said.
 *
 * @module
 */
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { MutatePlan } from "./mutate_plan.ts";
import type { Representation } from "./negotiate.ts";
import type {
  Condition,
  Embed,
  PlannedField,
  PlannedOrder,
  ReadItem,
  ReadNode,
} from "./read_node.ts";
import type { ReadPlan } from "./read_plan.ts";

/** The relations that a quiet plan reads; null when it is not quiet. */
export type QuietReading = readonly QualifiedName[] | null;

/** Looks at a plan of reading. */
export function quietReading(
  { root, relation }: ReadPlan,
  representation: Representation,
  cache: SchemaCache,
): QuietReading {
  if (!isQuietFormat(representation) || relation === null) return null;
  const relations = new Set<Relation>();
  return isQuietNode(root, relation, { cache, relations }) ? [...relations] : null;
}

/** Looks at a plan of writing. */
export function isQuietMutation(
  plan: MutatePlan,
  representation: Representation,
  cache: SchemaCache,
): boolean {
  const { kind, relation, read } = plan;
  const quiet = quietOf(relation);
  const updates = kind !== "insert" || plan.conflict?.resolution === "merge";
  if (!(updates ? quiet?.changes : quiet?.inserts)) return false;
  if (kind !== "delete" && plan.rows.columns.some(({ fromJson }) => fromJson !== null)) {
    return false;
  }
  const hasColumn = columnsOf(relation, cache);
  if (plan.where?.every((condition) => isQuietCondition(condition, hasColumn)) === false) {
    return false;
  }
  if (kind !== "insert" && plan.limited !== null) return false;
  return read === null || quietReading(read, representation, cache) !== null;
}

/** Undefined where the schema cache was dumped long ago and does not say it. */
function quietOf(relation: Relation): Relation["quiet"] | undefined {
  return relation.quiet;
}

function isQuietFormat({ format, explain }: Representation): boolean {
  return explain === null && quietFormats.has(format.kind);
}

/** Others call functions that handle a media type, or casts. */
const quietFormats: ReadonlySet<Representation["format"]["kind"]> = new Set([
  "array",
  "object",
  "csv",
]);

interface Looking {
  readonly cache: SchemaCache;
  /** Those that were met. */
  readonly relations: Set<Relation>;
}

/** Whether a name is one of a relation's columns: another one is perhaps a function of the row. */
type HasColumn = (name: string) => boolean;

function columnsOf(relation: QualifiedName, cache: SchemaCache): HasColumn {
  return (name) => cache.column(relation, name) !== undefined;
}

/** `origin` is the relation whose rows the level has, also where they are given. */
function isQuietNode(node: ReadNode, origin: QualifiedName, looking: Looking): boolean {
  const { relation, items, conditions, order, orderSources, embeds, grouped } = node;
  const hasColumn = columnsOf(origin, looking.cache);
  return !grouped && (relation === null || isQuietRelation(relation, looking)) &&
    items.every((item) => isQuietItem(item, hasColumn)) &&
    conditions.every((condition) => isQuietCondition(condition, hasColumn)) &&
    order.every((term) => isQuietOrder(term, hasColumn)) &&
    orderSources.every((source) => isQuietLevel(source.node, looking)) &&
    embeds.every((embed) => isQuietEmbed(embed, looking));
}

function isQuietLevel(node: ReadNode, looking: Looking): boolean {
  return node.relation !== null && isQuietNode(node, node.relation, looking);
}

function isQuietRelation(name: QualifiedName, { cache, relations }: Looking): boolean {
  const relation = cache.relation(name);
  if (relation === undefined || !quietOf(relation)?.reads) return false;
  relations.add(relation);
  return true;
}

function isQuietEmbed({ node, join }: Embed, looking: Looking): boolean {
  switch (join.kind) {
    case "columns":
      return isQuietLevel(node, looking);
    case "junction":
      return isQuietRelation(join.junction, looking) && isQuietLevel(node, looking);
    case "function":
      return false;
    default:
      return join satisfies never;
  }
}

/** Casts and aggregates may be of the database's own. */
function isQuietItem(item: ReadItem, hasColumn: HasColumn): boolean {
  switch (item.kind) {
    case "all":
      return true;
    case "column":
      return isQuietField(item.field, hasColumn) && item.convert === null && item.cast === null;
    case "aggregate":
      return false;
    default:
      return item satisfies never;
  }
}

function isQuietField({ column, computedOn }: PlannedField, hasColumn: HasColumn): boolean {
  return computedOn === null && hasColumn(column);
}

function isQuietCondition(condition: Condition, hasColumn: HasColumn): boolean {
  switch (condition.kind) {
    case "group":
      return condition.children.every((child) => isQuietCondition(child, hasColumn));
    case "embedded":
      return true;
    case "compare":
    case "in":
      return isQuietField(condition.field, hasColumn) && condition.convert === null;
    case "is":
    case "isdistinct":
      return isQuietField(condition.field, hasColumn);
    // A function of the same name may fit better than the one that is built in.
    case "fullText":
      return false;
    default:
      return condition satisfies never;
  }
}

/** What a related order looks at is an output of its embed. */
function isQuietOrder(term: PlannedOrder, hasColumn: HasColumn): boolean {
  return term.kind === "related" || isQuietField(term.field, hasColumn);
}
