/** The JSON dump of the schema cache, for operators. @module */
import { indexSchemaCache } from "./lookups.ts";
import type { Relation, SchemaCache, SchemaCacheData } from "./schema_cache.ts";

/**
 * Writes the schema cache as one line of JSON. The names of the top-level members are stable; their
 * contents may change between versions.
 */
export function dumpSchemaCache(data: SchemaCacheData): string {
  const { relations, relationships, routines, representations, mediaHandlers } = data;
  return JSON.stringify({
    dbMediaHandlers: mediaHandlers,
    dbRelationships: relationships,
    dbRepresentations: representations,
    dbRoutines: routines,
    dbTables: relations.map((relation) => [
      { qiName: relation.name, qiSchema: relation.schema },
      relation,
    ]),
    dbRowFunctions: data.rowFunctions,
    dbSearchOperators: data.searchOperators,
    dbVolatileFunctions: data.volatileFunctions,
    dbStableWithoutArguments: data.stableWithoutArguments,
    dbPrimaryFunctions: data.primaryFunctions,
    dbFallbacks: data.fallbacks,
    dbDeprecatedSchemas: data.deprecatedSchemas,
  });
}

/** A parsed dump. Its lists hold data of the version that wrote it. */
export interface SchemaCacheDump {
  /** User-defined media type handlers. */
  readonly dbMediaHandlers: readonly unknown[];
  readonly dbRelationships: readonly unknown[];
  /** Casts that the service applies itself. */
  readonly dbRepresentations: readonly unknown[];
  readonly dbRoutines: readonly unknown[];
  /** Tables and views, each with its name. */
  readonly dbTables: readonly unknown[];
  /** Names of functions of rows; absent in dumps of older versions. */
  readonly dbRowFunctions?: readonly unknown[];
  /** Operators of distances and similarity; absent in dumps of older versions. */
  readonly dbSearchOperators?: unknown;
  /** Names of volatile functions; absent in dumps of older versions. */
  readonly dbVolatileFunctions?: readonly unknown[] | null;
  /** Functions without arguments that run no volatile function; absent in dumps of older versions. */
  readonly dbStableWithoutArguments?: readonly unknown[];
  /** Names of functions with the tag `@primary`; absent without one. */
  readonly dbPrimaryFunctions?: readonly unknown[];
  /** Schemas that serve what others lack; absent without one. */
  readonly dbFallbacks?: readonly unknown[];
  /** Schemas with the tag `@deprecated`; absent without one. */
  readonly dbDeprecatedSchemas?: readonly unknown[];
}

/** Reads a dump. Throws an `Error` if the value is not a dump. */
export function readSchemaCache(dump: SchemaCacheDump): SchemaCache {
  try {
    const { dbTables, dbRelationships, dbRoutines, dbRepresentations, dbMediaHandlers } = dump;
    const optional = {
      rowFunctions: dump.dbRowFunctions,
      searchOperators: dump.dbSearchOperators,
      stableWithoutArguments: dump.dbStableWithoutArguments,
      primaryFunctions: dump.dbPrimaryFunctions,
      fallbacks: dump.dbFallbacks,
      deprecatedSchemas: dump.dbDeprecatedSchemas,
    };
    return indexSchemaCache(
      {
        relations: dbTables.map((pair) =>
          readRelation((pair as readonly unknown[])[1] as Relation)
        ),
        relationships: dbRelationships,
        routines: dbRoutines,
        representations: dbRepresentations,
        mediaHandlers: dbMediaHandlers,
        volatileFunctions: dump.dbVolatileFunctions ?? null,
        ...Object.fromEntries(
          Object.entries(optional).filter(([, list]) => list !== undefined),
        ),
      } as SchemaCacheData,
    );
  } catch (cause) {
    throw new Error("not a schema cache dump of this version", { cause });
  }
}

/** Adds `volatile` to relations of older dumps, which lack it. */
function readRelation(relation: Relation): Relation {
  return "volatile" in relation ? relation : { ...(relation as Relation), volatile: true };
}
