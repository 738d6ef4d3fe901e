/**
 * Functions whose only argument is a row of an exposed relation: computed columns and computed
 * relationships, as PostgreSQL and requests address them (`row.function`).
 *
 * @module
 */
import type { TypeCatalogue } from "../schema_cache/queries/type_catalogue.ts";
import type {
  ComputedRelationship,
  QualifiedName,
  Relationship,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";

/** What the catalogue tells of a function's result. */
export type RoutineResult = TypeCatalogue["results"][number];

/** A function of a row. */
export interface RowFunction extends QualifiedName {
  /** The relation whose rows it takes. */
  readonly origin: QualifiedName;
  readonly result: RoutineResult;
  /** The rows that it leads to; null for a computed column. */
  readonly relationship: ComputedRelationship | null;
}

/** Look-ups of functions of rows. */
export interface RowFunctions {
  /** Columns of a relation that are computed, by name. */
  readonly columnsOf: (relation: QualifiedName) => readonly RowFunction[];
  /** The function of a result, if it is one of a row. */
  readonly of: (result: RoutineResult) => RowFunction | undefined;
  /** Functions of a schema that calls cannot reach, as their parameter has no name. */
  readonly uncallable: (schema: string) => readonly RowFunction[];
}

/** Finds them among the functions of the exposed schemas. */
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

/** Requests see functions of the relation's own schema. */
function rowFunction(
  result: RoutineResult,
  relations: ReadonlyMap<string, QualifiedName>,
  cache: SchemaCache,
): RowFunction | null {
  const [schema, name, [type, ...others]] = result;
  const origin = type === undefined ? undefined : relations.get(type);
  if (origin === undefined || others.length > 0 || origin.schema !== schema) return null;
  const relationship = cache.relationships(origin, schema).filter(isComputed)
    .find((each) => each.function.name === name);
  return { schema, name, origin, result, relationship: relationship ?? null };
}

function isComputed(relationship: Relationship): relationship is ComputedRelationship {
  return relationship.kind === "computed";
}

/** A column of the table goes before a function of its name. */
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
