/** Second pass: finds the relation of each node and its relationship to the parent node. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type {
  QualifiedName,
  Relation,
  Relationship,
} from "../../../state/schema_cache/schema_cache.ts";
import { embedNames, isKeyed, keyOfItem, levelNames, ownNames } from "../level_names.ts";
import type { RowType } from "../read_node.ts";
import { plainField } from "./select_list.ts";
import type { SelectLevel } from "./select_tree.ts";
import type { FieldScope } from "../values/fields.ts";
import { findRelationship } from "../find_relationship.ts";
import type { EmbedItem, FieldItem } from "../../request/url/query_types.ts";

/** A node of a read: the root or an embed, with the names that its parameters may use. */
interface SelectSource
  extends FieldScope, Readonly<Omit<SelectLevel, "item" | "children" | "usesTargetName">> {
  readonly children: readonly SelectEmbed[];
  /** The name of the relation, or of the function that returns the rows. */
  readonly origin: QualifiedName;
  /** Rows that a function or a write supplies; null if the node reads its relation. */
  readonly supply: "result" | "representation" | null;
  /** Columns of rows that have no relation; null if unknown. */
  readonly columns: ReadonlySet<string> | null;
  /** The row type. For a supplied root, it has only the columns. */
  readonly row: RowType;
  /** False for rows that a write returns, where only null tests may name embeds. */
  readonly reads: boolean;
}

export interface SelectRoot extends SelectSource {
  readonly item: null;
}

export interface SelectEmbed extends SelectSource {
  readonly item: EmbedItem;
  readonly relationship: Relationship;
}

export type SelectNode = SelectRoot | SelectEmbed;

export type RootOrigin = Pick<SelectSource, "relation" | "origin" | "supply" | "columns">;

interface ResolveContext extends Pick<SelectSource, "cache" | "values"> {
  readonly schemas: { readonly current: string; readonly exposed: readonly string[] };
}

/** Resolves every embed, parents first. Throws `172`, `200` and `201`. */
export function resolveTree(
  level: SelectLevel,
  root: RootOrigin,
  context: ResolveContext,
): SelectRoot {
  const { cache, values } = context;
  const { relation, origin, supply } = root;
  const reads = supply !== "representation";
  const columns = supply === null ? null : relation?.columns.map(({ name }) => name) ?? [];
  const row = { type: origin, columns };
  return {
    ...level,
    ...root,
    item: null,
    children: resolveChildren(level.children, root, { ...context, reads }),
    untypedRow: supply === "result" && relation !== null ? row : null,
    names: reads ? levelNames(root, level.fields, cache) : ownNames,
    cache,
    values,
    row,
    reads,
  };
}

function resolveChildren(
  levels: readonly SelectLevel[],
  around: Pick<SelectSource, "relation" | "origin">,
  context: ResolveContext & Pick<SelectSource, "reads">,
): readonly SelectEmbed[] {
  const { schemas, cache, values, reads } = context;
  return levels.map((level) => {
    const item = level.item!;
    const { target, hint } = item;
    const relationship = findRelationship({
      origin: around.origin,
      originIsRelation: around.relation !== null,
      target,
      hint,
      schema: schemaOf(item, schemas),
      isQualified: item.schema !== undefined,
    }, cache);
    const origin = relationship.foreign;
    const relation = cache.relation(origin) ?? null;
    const children = resolveChildren(level.children, { relation, origin }, context);
    const fields = item.kind === "relation" ? uniqueFields(level, relation) : level.fields;
    return {
      ...level,
      item,
      relationship,
      relation,
      origin,
      children,
      fields,
      cache,
      values,
      reads,
      supply: relationship.kind === "computed" ? "result" : null,
      columns: null,
      row: { type: origin, columns: null },
      untypedRow: null,
      names: reads ? embedNames({ item, relation, fields }, cache) : ownNames,
    };
  });
}

/** Returns the items of an embed with unique keys. An explicit item takes precedence over `*`, and a
 * later item over an earlier item. */
function uniqueFields(
  { fields, leftOut }: SelectLevel,
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

function schemaOf({ schema }: EmbedItem, { current, exposed }: ResolveContext["schemas"]): string {
  if (schema === undefined) return current;
  if (!exposed.includes(schema)) throw errors.embeddedSchemaNotExposed(schema, exposed);
  return schema;
}

/** Lists all nodes of a tree, parents before children. */
export function* allNodes(node: SelectNode): Generator<SelectNode> {
  const stack: SelectNode[] = [node];
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
