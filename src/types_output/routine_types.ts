/**
 * Functions as types of a client.
 *
 * @module
 */
import type { TypeCatalogue } from "../schema_cache/queries/type_catalogue.ts";
import type { Routine, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { TypeNames } from "./type_names.ts";
import { arrayType, type Member, objectType, textType, union } from "./type_text.ts";

/** Gives the text of a function's result type and the columns of its OUT and TABLE parameters. */
export type ResultLookup = (routine: Routine) => TypeCatalogue["results"][number] | undefined;

/** Makes the look-up. */
export function resultLookup({ results }: TypeCatalogue): ResultLookup {
  const byKey = new Map(
    results.map((result) => [JSON.stringify(result.slice(0, 3)), result]),
  );
  return ({ schema, name, parameters }) =>
    byKey.get(JSON.stringify([schema, name, parameters.map(({ type }) => type)]));
}

/** `Args` and `Returns`; a union over overloads. */
export function routineType(
  overloads: readonly Routine[],
  { cache, names, resultOf }: {
    readonly cache: SchemaCache;
    readonly names: TypeNames;
    readonly resultOf: ResultLookup;
  },
): string {
  return union(overloads.map((routine) =>
    objectType([
      { name: "Args", type: argumentsType(routine, names) },
      { name: "Returns", type: returnedType(routine, resultOf(routine), names) },
      ...setofOptions(routine, cache),
    ])
  ));
}

/** PostgreSQL takes NULL for any argument. */
function argumentsType({ parameters }: Routine, names: TypeNames): string {
  const members = parameters.map(({ name, type, required }): Member => {
    const known = names(type);
    return { name, type: known === "unknown" ? known : `${known} | null`, optional: !required };
  });
  return objectType(members, "never");
}

function returnedType(
  { returns }: Routine,
  result: ReturnType<ResultLookup>,
  names: TypeNames,
): string {
  const [, , , type = "record", columns = []] = result ?? [];
  const one = columns.length > 1 || columns.length === 1 && returns.composite
    ? objectType(columns.map(([name, column]) => ({ name, type: names(column) })))
    : names(type);
  return returns.set ? arrayType(one) : one;
}

/** What clients need to embed in the result of a function that returns rows of a relation. */
function setofOptions({ returns: { relation, set } }: Routine, cache: SchemaCache): Member[] {
  if (relation === null || cache.relation(relation) === undefined) return [];
  const type = objectType([
    { name: "from", type: textType("*") },
    { name: "to", type: textType(relation.name) },
    { name: "isOneToOne", type: String(!set) },
    { name: "isSetofReturn", type: String(set) },
  ]);
  return [{ name: "SetofOptions", type }];
}
