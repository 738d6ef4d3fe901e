/** Second pass: finds the relation of each node and its relationship to the parent node. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type {
  QualifiedName,
  Relation,
  Relationship,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";
import { isKeyed, keyOfItem } from "./level_names.ts";
import { plainField } from "./select_list.ts";
import type { SelectNode } from "./select_tree.ts";
import { findRelationship } from "../find_relationship.ts";
import type { EmbedItem, FieldItem } from "../../request/url/query_types.ts";

interface RowOrigin {
  /** The relation of the rows; null if unknown. */
  readonly relation: Relation | null;
  /** The name of the relation, or of the function that returns the rows. */
  readonly origin: QualifiedName;
}

interface ResolvedSource extends RowOrigin, Omit<SelectNode, "item" | "children"> {
  readonly children: readonly ResolvedEmbed[];
}

export interface ResolvedRoot extends ResolvedSource {
  readonly item: null;
}

export interface ResolvedEmbed extends ResolvedSource {
  readonly item: EmbedItem;
  readonly relationship: Relationship;
}

export type ResolvedNode = ResolvedRoot | ResolvedEmbed;

interface EmbedSchemas {
  readonly current: string;
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
    const inner: RowOrigin = { relation: cache.relation(foreign) ?? null, origin: foreign };
    const children = resolveChildren(node.children, inner, schemas, cache);
    const fields = item.kind === "relation" ? uniqueFields(node, inner.relation) : node.fields;
    return { ...node, ...inner, item, relationship, children, fields };
  });
}

/** Returns the items of an embed with unique keys. An explicit item takes precedence over `*`, a
 * later one over an earlier one. */
function uniqueFields(
  { fields, leftOut }: SelectNode,
  relation: Relation | null,
): readonly FieldItem[] {
  if (fields.length < 2) return fields;
  const byKey = new Map(fields.filter(isKeyed).map((item) => [keyOfItem(item), item]));
  const columns = leftOut.length > 0 ? [] : relation?.columns.map(({ name }) => name) ?? [];
  const isNamed = columns.some((name) => byKey.has(name));
  return fields.flatMap((item): readonly FieldItem[] => {
    if (isKeyed(item)) return byKey.get(keyOfItem(item)) === item ? [item] : [];
    if (item.kind !== "all" || item.only !== undefined || !isNamed) return [item];
    return columns.filter((name) => !byKey.has(name)).map(plainField);
  });
}

function schemaOf({ schema }: EmbedItem, { current, exposed }: EmbedSchemas): string {
  if (schema === undefined) return current;
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

/** Returns the next alias for a relation: the first characters of its name, and a number. */
export type Aliases = (relation: string) => string;

/** Maximum characters of a relation's name in an alias. With a number they fit into 63 bytes. */
const keptCharacters = 12;

/**
 * Returns a source of aliases. Equal requests get equal aliases, and therefore equal statements.
 */
export function makeAliases(root: string): Aliases {
  let count = 0;
  return (relation) => {
    const start = Array.from(relation.slice(0, 2 * keptCharacters)).slice(0, keptCharacters).join(
      "",
    );
    let alias = `${start}_${++count}`;
    if (alias === root) alias = `${start}_${++count}`;
    return alias;
  };
}
