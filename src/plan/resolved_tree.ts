/**
 * Second pass: finds the relation of each node and its relationship to the parent node.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type {
  QualifiedName,
  Relation,
  Relationship,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";
import type { EmbedItem, SelectNode } from "./select_tree.ts";
import { findRelationship } from "./find_relationship.ts";

/** The source of a node's rows. */
export interface RowOrigin {
  /** The relation that has the rows; null when unknown. */
  readonly relation: Relation | null;
  /** The name of the relation, or of the function that returns the rows. */
  readonly origin: QualifiedName;
}

interface ResolvedSource extends RowOrigin, Omit<SelectNode, "item" | "children"> {
  readonly children: readonly ResolvedEmbed[];
}

/** The root of the tree. */
export interface ResolvedRoot extends ResolvedSource {
  readonly item: null;
}

/** An embedded node. */
export interface ResolvedEmbed extends ResolvedSource {
  readonly item: EmbedItem;
  readonly relationship: Relationship;
}

export type ResolvedNode = ResolvedRoot | ResolvedEmbed;

/** The schemas in which embeds are searched. */
export interface EmbedSchemas {
  /** Schema of embeds that name none: that of the request. */
  readonly own: string;
  /** Schemas that embeds may name. */
  readonly exposed: readonly string[];
}

/** Resolves every embed, parents first. Throws `172`, `200` and `201`. */
export function resolveTree(
  root: SelectNode,
  origin: RowOrigin,
  schemas: EmbedSchemas,
  cache: SchemaCache,
): ResolvedRoot {
  const children = resolveChildren(root.children, origin, schemas, cache);
  return { ...root, ...origin, item: null, children };
}

function resolveChildren(
  nodes: readonly SelectNode[],
  { origin, relation }: RowOrigin,
  schemas: EmbedSchemas,
  cache: SchemaCache,
): readonly ResolvedEmbed[] {
  return nodes.map((node) => {
    const item = node.item!;
    const { target, hint } = item;
    const relationship = findRelationship({
      origin,
      originIsRelation: relation !== null,
      target,
      hint,
      schema: schemaOf(item, schemas),
      isQualified: item.schema !== undefined,
    }, cache);
    const { foreign } = relationship;
    const own: RowOrigin = { relation: cache.relation(foreign) ?? null, origin: foreign };
    const children = resolveChildren(node.children, own, schemas, cache);
    return { ...node, ...own, item, relationship, children };
  });
}

function schemaOf({ schema }: EmbedItem, { own, exposed }: EmbedSchemas): string {
  if (schema === undefined) return own;
  if (!exposed.includes(schema)) throw errors.embeddedSchemaNotExposed(schema, exposed);
  return schema;
}

/** Lists all nodes of a tree, parents before children. */
export function* allNodes(node: ResolvedNode): Generator<ResolvedNode> {
  const stack: ResolvedNode[] = [node];
  while (stack.length > 0) {
    const next = stack.pop()!;
    yield next;
    for (let index = next.children.length - 1; index >= 0; index--) {
      stack.push(next.children[index]!);
    }
  }
}
