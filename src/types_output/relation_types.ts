/**
 * Tables and views as types of a client.
 *
 * @module
 */
import type {
  Column,
  KeyRelationship,
  Relation,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";
import type { TypeNames } from "./type_names.ts";
import { type Member, objectType, textType, union } from "./type_text.ts";

/** `Row`, `Insert`, `Update` and `Relationships` of a relation. */
export function relationType(relation: Relation, cache: SchemaCache, names: TypeNames): string {
  const { insertable, updatable, isView, columns } = relation;
  const row = columns.map((column): Member => ({
    name: column.name,
    type: columnType(column, cache, names),
    comment: column.comment,
  }));
  const written = columns.filter(({ generated }) => !generated);
  const insert = written.map((column): Member => ({
    name: column.name,
    type: columnType(column, cache, names),
    optional: column.nullable || column.default !== null,
  }));
  const update = insert.map((each): Member => ({ ...each, optional: true }));
  const members: readonly (Member | null)[] = [
    { name: "Row", type: objectType(row) },
    !isView || insertable ? { name: "Insert", type: objectType(insert) } : null,
    !isView || insertable || updatable ? { name: "Update", type: objectType(update) } : null,
    { name: "Relationships", type: relationshipsType(relation, cache) },
  ];
  const present = members.filter((each) => each !== null);
  return objectType(isView && updatable && !insertable ? [...present, noInsert] : present);
}

/** Clients know views that can be written and views that cannot, and nothing between. */
const noInsert: Member = { name: "Insert", type: "Record<string, never>" };

function columnType(column: Column, cache: SchemaCache, names: TypeNames): string {
  const { declaredType, baseType, enumLabels, nullable } = column;
  const converted = cache.representation(declaredType, "json") !== undefined;
  const type = converted ? "Json" : names(baseType);
  const known = type === "unknown" && enumLabels.length > 0
    ? union(enumLabels.map((label) => textType(label)))
    : type;
  return nullable && known !== "unknown" ? `${known} | null` : known;
}

/** Foreign keys that begin here, of this schema; clients find the other direction themselves. */
function relationshipsType(relation: Relation, cache: SchemaCache): string {
  const keys = cache.relationships(relation, relation.schema).filter(startsHere);
  return keys.length === 0 ? "[]" : `[${keys.map(relationshipType).join(", ")}]`;
}

function startsHere(relationship: { readonly kind: string }): relationship is KeyRelationship {
  const { kind } = relationship;
  if (kind !== "many-to-one" && kind !== "one-to-one") return false;
  return !(relationship as KeyRelationship).originIsParent;
}

function relationshipType({ constraint, kind, foreign, pairs }: KeyRelationship): string {
  const list = (texts: readonly string[]) => `[${texts.map(textType).join(", ")}]`;
  return objectType([
    { name: "foreignKeyName", type: textType(constraint) },
    { name: "columns", type: list(pairs.map(([column]) => column)) },
    { name: "isOneToOne", type: String(kind === "one-to-one") },
    { name: "referencedRelation", type: textType(foreign.name) },
    { name: "referencedColumns", type: list(pairs.map(([, column]) => column)) },
  ]);
}
