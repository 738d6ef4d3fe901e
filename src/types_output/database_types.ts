/**
 * The `Database` type that typed clients take: tables, views, functions, enums and composite types of
 * the exposed schemas.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import { typeCatalogueQueries } from "../schema_cache/load.ts";
import { indexSchemaCache } from "../schema_cache/lookups.ts";
import type { TypeCatalogue } from "../schema_cache/queries/type_catalogue.ts";
import type { SchemaCache, SchemaCacheData } from "../schema_cache/schema_cache.ts";
import { relationType } from "./relation_types.ts";
import { type ResultLookup, resultLookup, routineType } from "./routine_types.ts";
import { type Member, objectType, textType, union } from "./type_text.ts";
import { type TypeNames, typeNames } from "./type_names.ts";

/** Reads what the types need beside the schema cache. */
export async function readTypeCatalogue(
  database: Database,
  config: { readonly dbSchemas: readonly string[] },
): Promise<TypeCatalogue> {
  const { rows } = await database.transaction({
    access: "read only",
    isolation: "read committed",
    statements: typeCatalogueQueries(config).map((query) => ({ ...query, use: "rows" })),
    end: "commit",
    stream: false,
  });
  return JSON.parse(rows[1]?.[0]?.[0] ?? "null");
}

/** Writes a TypeScript module that exports `Database` and `Json`. */
export function databaseTypes(
  data: SchemaCacheData,
  catalogue: TypeCatalogue,
  { dbSchemas }: { readonly dbSchemas: readonly string[] },
): string {
  const cache = indexSchemaCache(data);
  const isView = (schema: string, name: string) => cache.relation({ schema, name })?.isView;
  const context: Context = {
    cache,
    catalogue,
    names: typeNames(catalogue, { schemas: dbSchemas, isView }),
    resultOf: resultLookup(catalogue),
  };
  const schemas = dbSchemas.map((name): Member => ({ name, type: schemaType(name, context) }));
  return `${jsonType}\nexport type Database = ${objectType([clientOptions, ...schemas])};\n`;
}

const jsonType = `export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[];
`;

/** What of the interface a client can rely on. */
const clientOptions: Member = {
  name: "__InternalSupabase",
  type: objectType([{ name: "PostgrestVersion", type: textType("13") }]),
};

interface Context {
  readonly cache: SchemaCache;
  readonly catalogue: TypeCatalogue;
  readonly names: TypeNames;
  readonly resultOf: ResultLookup;
}

function schemaType(schema: string, context: Context): string {
  const { cache, catalogue, names } = context;
  const relations = cache.relationNames(schema).map((name) => cache.relation({ schema, name })!);
  const members = (views: boolean) =>
    objectType(
      relations.filter(({ isView }) => isView === views).map((relation) => ({
        name: relation.name,
        type: relationType(relation, cache, names),
        comment: relation.comment,
      })),
    );
  const enums = catalogue.enums.filter(([of]) => of === schema)
    .map(([, name, , labels]): Member => ({ name, type: union(labels.map(textType)) }));
  const composites = catalogue.composites
    .filter(([of, , , isRelation]) => of === schema && !isRelation)
    .map(([, name, , , attributes]): Member => ({
      name,
      type: objectType(
        attributes.map(([attribute, type]) => ({ name: attribute, type: `${names(type)} | null` })),
      ),
    }));
  return objectType([
    { name: "Tables", type: members(false) },
    { name: "Views", type: members(true) },
    { name: "Functions", type: objectType(routineMembers(schema, context)) },
    { name: "Enums", type: objectType(enums) },
    { name: "CompositeTypes", type: objectType(composites) },
  ]);
}

function routineMembers(schema: string, context: Context): readonly Member[] {
  return context.cache.routineNames(schema).map((name) => {
    const overloads = context.cache.routines({ schema, name });
    const comment = overloads.at(-1)?.comment ?? null;
    return { name, type: routineType(overloads, context), comment };
  });
}
