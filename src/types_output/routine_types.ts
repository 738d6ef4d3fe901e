/** Writes the types of functions. @module */
import type { TypeCatalogue } from "../schema_cache/queries/type_catalogue.ts";
import type { QualifiedName, Routine, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { RoutineResult, RowFunction, RowFunctions } from "./row_functions.ts";
import type { TypeNames } from "./type_names.ts";
import { arrayType, objectType, textType, type TypeMember, union } from "./type_text.ts";

/** Returns the result type of a function, and the columns of its OUT and TABLE parameters. */
export type ResultLookup = (routine: Routine) => RoutineResult | undefined;

export function resultLookup({ results }: TypeCatalogue): ResultLookup {
  const byKey = new Map(
    results.map((result) => [JSON.stringify(result.slice(0, 3)), result]),
  );
  return ({ schema, name, parameters }) =>
    byKey.get(JSON.stringify([schema, name, parameters.map(({ type }) => type)]));
}

export interface RoutineTypeContext {
  readonly cache: SchemaCache;
  readonly names: TypeNames;
  readonly resultOf: ResultLookup;
  readonly rowFunctions: RowFunctions;
}

/** A union over the overloads, and over functions that requests can only embed or select. */
export function routineType(
  overloads: readonly Routine[],
  uncallable: readonly RowFunction[],
  context: RoutineTypeContext,
): string {
  return union([
    ...overloads.map((routine) => callableType(routine, context)),
    ...uncallable.map((each) => uncallableType(each, context)),
  ]);
}

function callableType(routine: Routine, context: RoutineTypeContext): string {
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

/** Clients embed the result of a function without a named parameter, and leave it out of `*`. */
function uncallableType(row: RowFunction, { names }: RoutineTypeContext): string {
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

/** Types of arguments include `null`: PostgreSQL accepts NULL for any argument. */
function argumentsType({ parameters }: Routine, names: TypeNames): string {
  const members = parameters.map(({ name, type, required }): TypeMember => {
    const tsType = names.of(type);
    return { name, type: tsType === "unknown" ? tsType : `${tsType} | null`, optional: !required };
  });
  return objectType(members, "never");
}

/** A set that `SetofOptions` marks as to-one is written as one row; clients make a list of it. */
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

/** Options to embed a function or in its result; null without a relation's rows. */
function setofOptions(
  { schema, returns: { relation, set } }: Routine,
  result: RoutineResult | undefined,
  row: RowFunction | undefined,
  { cache }: RoutineTypeContext,
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
