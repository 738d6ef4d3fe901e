/** The JSON dump of the schema cache, for operators. @module */
import { indexSchemaCache } from "./lookups.ts";
import type { Relation, SchemaCache, SchemaCacheData } from "./schema_cache.ts";

/** Members of the dump with their stable names, and the members of the data that they contain. */
const members = {
  dbMediaHandlers: "mediaHandlers",
  dbRelationships: "relationships",
  dbRepresentations: "representations",
  dbRoutines: "routines",
  dbTables: "relations",
  dbRowFunctions: "rowFunctions",
  dbSearchOperators: "searchOperators",
  dbVolatileFunctions: "volatileFunctions",
  dbSessionFunctions: "sessionFunctions",
  dbStableWithoutArguments: "stableWithoutArguments",
  dbPrimaryFunctions: "primaryFunctions",
  dbFallbacks: "fallbacks",
  dbDeprecatedSchemas: "deprecatedSchemas",
} as const satisfies Readonly<Record<string, keyof SchemaCacheData>>;

const names = Object.keys(members) as (keyof typeof members)[];

/** Writes one line of JSON. The contents of its members may change between versions. */
export function dumpSchemaCache(data: SchemaCacheData): string {
  const tables = data.relations.map((relation) => [
    { qiName: relation.name, qiSchema: relation.schema },
    relation,
  ]);
  return JSON.stringify(Object.fromEntries(
    names.map((name) => [name, name === "dbTables" ? tables : data[members[name]]]),
  ));
}

/**
 * A parsed dump. Its form depends on the version that wrote it, because later versions add members.
 */
export type SchemaCacheDump = Readonly<Partial<Record<keyof typeof members, unknown>>>;

/** Reads a dump. Throws an `Error` if the value is not a dump. */
export function readSchemaCache(dump: SchemaCacheDump): SchemaCache {
  try {
    const data = Object.fromEntries(
      names.filter((name) => dump[name] !== undefined).map((name) => [members[name], dump[name]]),
    );
    const tables = dump.dbTables as readonly (readonly [name: unknown, relation: Relation])[];
    return indexSchemaCache({
      volatileFunctions: null,
      ...data,
      // The member `volatile` is added, because dumps of older versions lack it.
      relations: tables.map(([, relation]) => ({
        ...relation,
        volatile: relation.volatile ?? true,
      })),
    } as unknown as SchemaCacheData);
  } catch (cause) {
    throw new Error("not a schema cache dump of this version", { cause });
  }
}
