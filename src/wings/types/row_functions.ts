/** Finds the functions whose only argument is a row of an exposed relation: computed columns and
 * computed relationships. PostgreSQL and requests use them as `row.function`. @module */
import type { TypeCatalogue } from "../../state/schema_cache/queries/type_catalogue.ts";
import type {
  ComputedRelationship,
  QualifiedName,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";

/** The result of a function, from the catalogue. */
export type RoutineResult = TypeCatalogue["results"][number];

export interface RowFunction extends QualifiedName {
  /** The relation whose rows are the argument. */
  readonly origin: QualifiedName;
  readonly result: RoutineResult;
  /** The relationship to the returned rows; null for a computed column. */
  readonly relationship: ComputedRelationship | null;
}

export interface RowFunctions {
  /** Returns the computed columns of a relation, by name. */
  readonly columnsOf: (relation: QualifiedName) => readonly RowFunction[];
  /** Returns the row function for a result; undefined if the argument is not a row. */
  readonly of: (result: RoutineResult) => RowFunction | undefined;
  /** Functions of a schema that cannot be called, because their parameter has no name. */
  readonly uncallable: (schema: string) => readonly RowFunction[];
}

/** Finds the row functions in the exposed schemas. */
export function rowFunctions(catalogue: TypeCatalogue, cache: SchemaCache): RowFunctions {
  const relations = relationsByType(catalogue, cache);
  const all = catalogue.results.flatMap((result) => rowFunction(result, relations, cache) ?? []);
  const byResult = new Map(all.map((each) => [each.result, each]));
  return {
    columnsOf: (relation) =>
      all.filter((each) => isSame(each.origin, relation) && isComputedColumn(each, cache)),
    of: (result) => byResult.get(result),
    uncallable: (schema) =>
      all.filter((each) => each.schema === schema && !isCallable(each, cache)),
  };
}

function relationsByType(
  { composites }: TypeCatalogue,
  cache: SchemaCache,
): ReadonlyMap<string, QualifiedName> {
  return new Map(composites.flatMap(([schema, name, text, isRelation]) => {
    const isExposed = isRelation && cache.relation({ schema, name }) !== undefined;
    return isExposed ? [[text, { schema, name }] as const] : [];
  }));
}

/** Returns the row function; null for other functions, and for rows of relations in other schemas. */
function rowFunction(
  result: RoutineResult,
  relations: ReadonlyMap<string, QualifiedName>,
  cache: SchemaCache,
): RowFunction | null {
  const [schema, name, [type, ...others]] = result;
  const origin = type === undefined ? undefined : relations.get(type);
  if (origin === undefined || others.length > 0 || origin.schema !== schema) return null;
  const relationship = cache.relationships(origin, schema)
    .filter((each) => each.kind === "computed")
    .find((each) => each.function.name === name);
  return { schema, name, origin, result, relationship: relationship ?? null };
}

/** Returns whether a function is a computed column. A table column of the same name hides it. */
function isComputedColumn(
  { name, origin, relationship, result: [, , , type, , isSet] }: RowFunction,
  cache: SchemaCache,
): boolean {
  return relationship === null && !isSet && type !== "void" &&
    cache.column(origin, name) === undefined;
}

function isCallable({ schema, name, result: [, , types] }: RowFunction, cache: SchemaCache) {
  return cache.routines({ schema, name }).some(({ parameters }) =>
    parameters.length === 1 && parameters[0]!.type === types[0]
  );
}

function isSame(one: QualifiedName, other: QualifiedName): boolean {
  return one.schema === other.schema && one.name === other.name;
}
