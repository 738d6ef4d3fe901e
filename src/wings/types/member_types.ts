/** Writes the types of tables, views and functions. @module */
import type { TypeCatalogue } from "../../state/schema_cache/queries/type_catalogue.ts";
import type {
  Column,
  KeyRelationship,
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import type { RoutineResult, RowFunction, RowFunctions } from "./row_functions.ts";
import type { TypeNames } from "./type_names.ts";
import { arrayType, objectType, textType, type TypeMember, union } from "./type_text.ts";

export interface MemberTypeContext {
  readonly cache: SchemaCache;
  readonly catalogue: TypeCatalogue;
  readonly names: TypeNames;
  readonly rowFunctions: RowFunctions;
  readonly resultOf: ResultLookup;
  /** Returns the columns of a view that INSERT and UPDATE cannot write. */
  readonly readOnlyColumns: (view: Relation) => ReadonlySet<string>;
}

/** Writes the members of a relation, for requests in the schema. */
export function relationType(
  relation: Relation,
  schema: string,
  context: MemberTypeContext,
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

/** `Insert` type without values, for a view that only supports UPDATE. Typed clients have no other
 * form for such a view. */
const noInsert: TypeMember = { name: "Insert", type: "Record<string, never>" };

function rowMembers(relation: Relation, context: MemberTypeContext): readonly TypeMember[] {
  const columns = relation.columns.map((column): TypeMember => ({
    name: column.name,
    type: columnType(column, context),
    comment: column.comment,
  }));
  return [...columns, ...computedMembers(relation, context)];
}

/** Writes computed columns. Their types include `null`, because the function may return NULL. */
function computedMembers(
  relation: Relation,
  { rowFunctions, names }: MemberTypeContext,
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

/** Returns the member that lists the computed columns, which `*` does not select; null if the list is empty. */
function computedFields(
  relation: Relation,
  { rowFunctions }: MemberTypeContext,
): TypeMember | null {
  const names = rowFunctions.columnsOf(relation).map(({ name }) => textType(name));
  return names.length === 0 ? null : { name: "ComputedFields", type: union(names) };
}

function insertMembers(relation: Relation, context: MemberTypeContext): readonly TypeMember[] {
  const readOnly = context.readOnlyColumns(relation);
  return relation.columns.map((column): TypeMember => {
    const { name, generated, nullable } = column;
    if (generated || readOnly.has(name)) return { name, type: "never", optional: true };
    const optional = nullable || column.default !== null;
    return { name, type: columnType(column, context), optional };
  });
}

function columnType(column: Column, { cache, names }: MemberTypeContext): string {
  const { declaredType, baseType, enumLabels, nullable } = column;
  const converted = cache.representation(declaredType, "json") !== undefined;
  const type = converted ? "Json" : names.of(baseType);
  const tsType = type === "unknown" && enumLabels.length > 0
    ? union(enumLabels.map((label) => textType(label)))
    : type;
  return nullable && tsType !== "unknown" ? `${tsType} | null` : tsType;
}

/** Writes the foreign keys of a relation. Clients derive the reverse direction themselves. */
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

/** Returns the result type of a function, and the columns of its OUT and TABLE parameters. */
export type ResultLookup = (routine: Routine) => RoutineResult | undefined;

export function resultLookup({ results }: TypeCatalogue): ResultLookup {
  const byKey = new Map(
    results.map((result) => [JSON.stringify(result.slice(0, 3)), result]),
  );
  return ({ schema, name, parameters }) =>
    byKey.get(JSON.stringify([schema, name, parameters.map(({ type }) => type)]));
}

/** Returns the union of the overloads, and of functions that requests can only embed or select. */
export function routineType(
  overloads: readonly Routine[],
  uncallable: readonly RowFunction[],
  context: MemberTypeContext,
): string {
  return union([
    ...overloads.map((routine) => callableType(routine, context)),
    ...uncallable.map((each) => uncallableType(each, context)),
  ]);
}

function callableType(routine: Routine, context: MemberTypeContext): string {
  const { names, resultOf, rowFunctions } = context;
  const result = resultOf(routine);
  const row = result === undefined ? undefined : rowFunctions.of(result);
  const options = setofOptions(routine, result, row, context);
  return objectType([
    { name: "Args", type: argumentsType(routine, names) },
    { name: "Returns", type: returnedType(routine, result, options !== null, names) },
    ...(options === null ? [] : [options]),
  ]);
}

/** Returns the type of a function whose parameter has no name. Clients cannot call it, but may embed
 * its result or select it as a column. */
function uncallableType(row: RowFunction, { names }: MemberTypeContext): string {
  const { schema, name, origin, relationship, result: [, , , , , isSet] } = row;
  const isEmbeddable = relationship !== null && relationship.foreign.schema === schema;
  const what = relationship === null ? "column" : "relationship";
  const reason = `${name} is a computed ${what} of ${origin.name} and cannot be called`;
  return objectType([
    { name: "Args", type: objectType([{ name: "", type: names.row(origin) }]) },
    { name: "Returns", type: `{ error: true } & ${textType(reason)}` },
    ...(isEmbeddable
      ? [setofMember(origin.name, relationship.foreign, { isToOne: relationship.toOne, isSet })]
      : []),
  ]);
}

/** Returns the type of arguments. It includes `null`, because PostgreSQL accepts NULL for any argument. */
function argumentsType({ parameters }: Routine, names: TypeNames): string {
  const members = parameters.map(({ name, type, required }): TypeMember => {
    const tsType = names.of(type);
    return { name, type: tsType === "unknown" ? tsType : `${tsType} | null`, optional: !required };
  });
  return objectType(members, "never");
}

/** Returns the type of a result. Clients make a list of a set that `SetofOptions` marks as to-one, so
 * that its type is a single row. */
function returnedType(
  { returns }: Routine,
  result: RoutineResult | undefined,
  hasOptions: boolean,
  names: TypeNames,
): string {
  const [, , , type = "record", columns = [], , isToOne = false] = result ?? [];
  const one = columns.length > 1 || columns.length === 1 && returns.composite
    ? objectType(columns.map(([name, column]) => ({ name, type: names.of(column) })))
    : names.of(type);
  return returns.set && !(hasOptions && isToOne) ? arrayType(one) : one;
}

/** Returns `SetofOptions`, which clients need for embeds; null if the result is not rows of a relation. */
function setofOptions(
  { schema, returns: { relation, set } }: Routine,
  result: RoutineResult | undefined,
  row: RowFunction | undefined,
  { cache }: MemberTypeContext,
): TypeMember | null {
  if (relation === null || relation.schema !== schema || cache.relation(relation) === undefined) {
    return null;
  }
  const isToOne = result?.[6] ?? !set;
  return setofMember(row?.origin.name ?? "*", relation, { isToOne, isSet: set });
}

function setofMember(
  from: string,
  { name }: QualifiedName,
  { isToOne, isSet }: { readonly isToOne: boolean; readonly isSet: boolean },
): TypeMember {
  const type = objectType([
    { name: "from", type: textType(from) },
    { name: "to", type: textType(name) },
    { name: "isOneToOne", type: String(isToOne) },
    { name: "isSetofReturn", type: String(isSet) },
  ]);
  return { name: "SetofOptions", type };
}
