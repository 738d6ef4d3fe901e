/** Indexes the schema cache for constant-time look-ups. @module */
import { getOrMake, groupBy } from "../../base/lib/group_by.ts";
import { foreignSchemaOf } from "./relationship_order.ts";
import type {
  Column,
  MediaHandler,
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
  SchemaCacheData,
} from "./schema_cache.ts";

/** Indexes the data, which must have the order of `buildSchemaCache`. */
export function indexSchemaCache(data: SchemaCacheData): SchemaCache {
  const relations = indexByName(data.relations);
  const relationships = indexRelationships(data.relationships);
  const routines = groupByName(data.routines);
  const deprecated = new Map(data.deprecatedSchemas);
  const fallbacks = new Map(data.fallbacks);
  for (const [schema, others] of fallbacks) {
    addMissing(relations, schema, others);
    addMissing(routines, schema, others);
    addFallbackRelationships(relationships, { schema, others, relations });
  }
  const representations = new Map(
    data.representations.map((r) => [pairKey(r.source, r.target), r.function]),
  );
  const mediaHandlers = indexHandlers(data.mediaHandlers);
  const columns = new Map<Relation, ReadonlyMap<string, Column>>();
  const derivations = new Map<unknown, unknown>();
  const cache: SchemaCache = {
    data,
    relation: ({ schema, name }) => relations.get(schema)?.get(name),
    column: (name, column) => {
      const relation = cache.relation(name);
      return relation && getOrMake(columns, relation, columnsByName).get(column);
    },
    fallbacks: (schema) => fallbacks.get(schema) ?? [],
    deprecation: (schema) => deprecated.get(schema),
    relationNames: namesBySchema(relations),
    relationships: (origin, foreignSchema) =>
      relationships.get(origin.schema)?.get(origin.name)?.get(foreignSchema) ?? [],
    relatedOrigins: namesBySchema(withinSchema(relationships)),
    routines: (name) => routines.get(name.schema)?.get(name.name) ?? [],
    routineNames: namesBySchema(routines),
    representation: (source, target) => representations.get(pairKey(source, target)),
    mediaHandler: (target, mediaType, kind) =>
      mediaHandlers.get(handlerKey(target, mediaType))
        ?.find((handler) => kind === undefined || handler.kind === kind),
    derived: (derive) => getOrMake(derivations, derive, () => derive(cache)) as never,
  };
  return cache;
}

/** Values by schema, then by name. With two levels, a look-up need not build a joined key. */
type ByName<Value> = ReadonlyMap<string, ReadonlyMap<string, Value>>;
type IndexByName<Value> = Map<string, Map<string, Value>>;

/**
 * Adds the names that a schema lacks and its fallbacks have. The first fallback takes precedence.
 */
function addMissing<Value>(
  index: IndexByName<Value>,
  schema: string,
  others: readonly string[],
): void {
  const names = getOrMake(index, schema, () => new Map());
  for (const [name, value] of others.flatMap((other) => [...index.get(other) ?? []])) {
    if (!names.has(name)) names.set(name, value);
  }
}

/**
 * Adds the relationships of objects in the fallbacks of a schema. An object of the schema hides
 * objects of the same name in its fallbacks: relations, junctions, and computed relationships of
 * the same origin.
 */
function addFallbackRelationships(
  relationships: IndexByName<Map<string, readonly Relationship[]>>,
  { schema, others, relations }: {
    readonly schema: string;
    readonly others: readonly string[];
    readonly relations: ByName<Relation>;
  },
): void {
  const order = [schema, ...others];
  const isHidden = ({ schema: origin, name }: QualifiedName) =>
    order.includes(origin) && relations.get(schema)?.get(name)?.schema !== origin;
  const isReached = (each: Relationship) =>
    each.kind === "computed" ||
    !isHidden(each.foreign) && !(each.kind === "many-to-many" && isHidden(each.junction));
  for (const bySchema of [...relationships.values()].flatMap((names) => [...names.values()])) {
    const reached = order.flatMap((other) => bySchema.get(other)?.filter(isReached) ?? []);
    // The function of the first schema in `order` hides other functions of its name.
    const functions = reached.flatMap((each) => each.kind === "computed" ? [each.function] : []);
    const hiding = new Map(functions.reverse().map((each) => [each.name, each.schema]));
    const result = reached.filter((each) =>
      each.kind !== "computed" || hiding.get(each.function.name) === each.function.schema
    );
    if (result.length > 0) bySchema.set(schema, result);
  }
  addMissing(relationships, schema, others);
}

function indexByName(relations: readonly Relation[]): IndexByName<Relation> {
  const schemas = new Map<string, Map<string, Relation>>();
  for (const relation of relations) {
    getOrMake(schemas, relation.schema, () => new Map()).set(relation.name, relation);
  }
  return schemas;
}

function groupByName(routines: readonly Routine[]): IndexByName<readonly Routine[]> {
  const schemas = new Map<string, Map<string, Routine[]>>();
  for (const routine of routines) {
    const names = getOrMake(schemas, routine.schema, () => new Map<string, Routine[]>());
    getOrMake(names, routine.name, () => []).push(routine);
  }
  return schemas;
}

function indexRelationships(
  relationships: readonly Relationship[],
): IndexByName<Map<string, readonly Relationship[]>> {
  const schemas = new Map<string, Map<string, Map<string, Relationship[]>>>();
  for (const relationship of relationships) {
    const { schema, name } = relationship.origin;
    const names = getOrMake(schemas, schema, () => new Map<string, Map<string, Relationship[]>>());
    const origin = getOrMake(names, name, () => new Map<string, Relationship[]>());
    getOrMake(origin, foreignSchemaOf(relationship), () => []).push(relationship);
  }
  return schemas;
}

/** Removes origins whose relationships all lead to other schemas: requests cannot use them. */
function withinSchema(
  relationships: ByName<ReadonlyMap<string, readonly Relationship[]>>,
): ByName<unknown> {
  return new Map(
    Array.from(relationships, ([schema, names]) => [
      schema,
      new Map([...names].filter(([, bySchema]) => bySchema.has(schema))),
    ]),
  );
}

/** Returns the sorted names of a schema. Each call for a schema returns the same array. */
function namesBySchema(index: ByName<unknown>): (schema: string) => readonly string[] {
  const lists = new Map(
    Array.from(index, ([schema, names]) => [schema, [...names.keys()].sort()] as const),
  );
  return (schema) => lists.get(schema) ?? [];
}

function columnsByName(relation: Relation): ReadonlyMap<string, Column> {
  return new Map(relation.columns.map((column) => [column.name, column]));
}

/** Groups handlers by their target and media type. */
function indexHandlers(handlers: readonly MediaHandler[]) {
  return groupBy(
    handlers,
    ({ target, mediaType }) => handlerKey(target, mediaType.toLowerCase()),
  );
}

function handlerKey(target: QualifiedName | null, mediaType: string): string {
  return target === null ? mediaType : `${pairKey(target.schema, target.name)}\0${mediaType}`;
}

/** Joins two names by NUL, which PostgreSQL does not allow in names. */
function pairKey(first: string, second: string): string {
  return `${first}\0${second}`;
}
