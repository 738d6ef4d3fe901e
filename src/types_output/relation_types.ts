/** Writes the types of tables and views. @module */
import type {
  Column,
  KeyRelationship,
  Relation,
  Relationship,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";
import type { RowFunctions } from "./row_functions.ts";
import type { TypeNames } from "./type_names.ts";
import { objectType, textType, type TypeMember, union } from "./type_text.ts";

export interface RelationTypeContext {
  readonly cache: SchemaCache;
  readonly names: TypeNames;
  readonly rowFunctions: RowFunctions;
  /** Returns the columns of a view that INSERT and UPDATE cannot assign. */
  readonly readOnlyColumns: (view: Relation) => ReadonlySet<string>;
}

/** Writes the members of a relation, as requests of the schema meet it. */
export function relationType(
  relation: Relation,
  schema: string,
  context: RelationTypeContext,
): string {
  const { insertable, updatable, isView } = relation;
  const insert = insertMembers(relation, context);
  const update = insert.map((each): TypeMember => ({ ...each, optional: true }));
  const members: readonly (TypeMember | null)[] = [
    { name: "Row", type: objectType(rowMembers(relation, context)) },
    !isView || insertable ? { name: "Insert", type: objectType(insert) } : null,
    !isView || insertable || updatable ? { name: "Update", type: objectType(update) } : null,
    {
      name: "Relationships",
      type: relationshipsType(context.cache.relationships(relation, schema)),
    },
    computedFields(relation, context),
    isView && updatable && !insertable ? noInsert : null,
  ];
  return objectType(members.filter((each) => each !== null));
}

/** A view that accepts UPDATE only: clients know writable and read-only views alone. */
const noInsert: TypeMember = { name: "Insert", type: "Record<string, never>" };

function rowMembers(relation: Relation, context: RelationTypeContext): readonly TypeMember[] {
  const columns = relation.columns.map((column): TypeMember => ({
    name: column.name,
    type: columnType(column, context),
    comment: column.comment,
  }));
  return [...columns, ...computedMembers(relation, context)];
}

/** Types of computed columns include `null`: the function may return NULL. */
function computedMembers(
  relation: Relation,
  { rowFunctions, names }: RelationTypeContext,
): readonly TypeMember[] {
  return rowFunctions.columnsOf(relation).map(
    ({ name, result: [, , , type, columns] }): TypeMember => {
      const tsType = columns.length > 1
        ? objectType(columns.map(([key, of]) => ({ name: key, type: names.of(of) })))
        : names.of(type);
      return { name, type: tsType === "unknown" ? tsType : `${tsType} | null` };
    },
  );
}

/** Returns the members of `Row` that `*` leaves out; null if it has all. */
function computedFields(
  relation: Relation,
  { rowFunctions }: RelationTypeContext,
): TypeMember | null {
  const names = rowFunctions.columnsOf(relation).map(({ name }) => textType(name));
  return names.length === 0 ? null : { name: "ComputedFields", type: union(names) };
}

function insertMembers(relation: Relation, context: RelationTypeContext): readonly TypeMember[] {
  const readOnly = context.readOnlyColumns(relation);
  return relation.columns.map((column): TypeMember => {
    const { name, generated, nullable } = column;
    if (generated || readOnly.has(name)) return { name, type: "never", optional: true };
    const optional = nullable || column.default !== null;
    return { name, type: columnType(column, context), optional };
  });
}

function columnType(column: Column, { cache, names }: RelationTypeContext): string {
  const { declaredType, baseType, enumLabels, nullable } = column;
  const converted = cache.representation(declaredType, "json") !== undefined;
  const type = converted ? "Json" : names.of(baseType);
  const tsType = type === "unknown" && enumLabels.length > 0
    ? union(enumLabels.map((label) => textType(label)))
    : type;
  return nullable && tsType !== "unknown" ? `${tsType} | null` : tsType;
}

/** Writes the foreign keys of a relation. Clients derive the other direction themselves. */
function relationshipsType(relationships: readonly Relationship[]): string {
  const keys = relationships.filter(startsHere);
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
