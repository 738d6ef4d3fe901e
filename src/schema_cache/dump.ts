/**
 * The schema cache as operators see it.
 *
 * @module
 */
import { indexSchemaCache } from "./lookups.ts";
import type { Relation, SchemaCache, SchemaCacheData } from "./schema_cache.ts";

/**
 * Writes the schema cache as one line of JSON. Its members are known to tools; what is inside of them is
 * for people.
 */
export function dumpSchemaCache(data: SchemaCacheData): string {
  const { relations, relationships, routines, representations, mediaHandlers, volatileFunctions } =
    data;
  return JSON.stringify({
    dbMediaHandlers: mediaHandlers,
    dbRelationships: relationships,
    dbRepresentations: representations,
    dbRoutines: routines,
    dbTables: relations.map((relation) => [
      { qiName: relation.name, qiSchema: relation.schema },
      relation,
    ]),
    dbVolatileFunctions: volatileFunctions,
  });
}

/** A dump as JSON has it. What is inside of the lists is what the same version wrote. */
export interface SchemaCacheDump {
  /** Ways to render rows as a media type. */
  readonly dbMediaHandlers: readonly unknown[];
  /** Foreign keys and what follows from them. */
  readonly dbRelationships: readonly unknown[];
  /** Casts that the service applies itself. */
  readonly dbRepresentations: readonly unknown[];
  /** Functions. */
  readonly dbRoutines: readonly unknown[];
  /** Tables and views, each with its name. */
  readonly dbTables: readonly unknown[];
  /** Names of functions; older dumps have no such member. */
  readonly dbVolatileFunctions?: readonly unknown[] | null;
}

/** Reads a dump back. Raises an `Error` for what is none. */
export function readSchemaCache(dump: SchemaCacheDump): SchemaCache {
  try {
    const { dbTables, dbRelationships, dbRoutines, dbRepresentations, dbMediaHandlers } = dump;
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
      } as SchemaCacheData,
    );
  } catch (cause) {
    throw new Error("not a schema cache as it was dumped", { cause });
  }
}

/** Older dumps do not say whether a relation is volatile. */
function readRelation(relation: Relation): Relation {
  return "volatile" in relation ? relation : { ...(relation as Relation), volatile: true };
}
