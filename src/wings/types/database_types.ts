/** Writes the `Database` type for typed clients: tables, views, functions, enums and composite
 * types of the exposed schemas. @module */
import { metadataTransaction, type Statement } from "../../database/transaction.ts";
import type { Database } from "../../database/database.ts";
import { typeCatalogueQueries } from "../../state/schema_cache/load.ts";
import { indexSchemaCache } from "../../state/schema_cache/lookups.ts";
import type { TypeCatalogue } from "../../state/schema_cache/queries/type_catalogue.ts";
import type { Relation, SchemaCacheData } from "../../state/schema_cache/schema_cache.ts";
import { type MemberTypeContext, relationType, resultLookup, routineType } from "./member_types.ts";
import { rowFunctions } from "./row_functions.ts";
import { memberName, objectType, textType, type TypeMember, union } from "./type_text.ts";
import { typeNames } from "./type_names.ts";

/** Reads the types that are not in the schema cache. */
export async function readTypeCatalogue(
  database: Database,
  config: { readonly dbSchemas: readonly string[] },
): Promise<TypeCatalogue> {
  const statements = typeCatalogueQueries(config)
    .map((query): Statement => ({ ...query, use: "rows" }));
  const { rows } = await database.transaction(metadataTransaction(statements));
  return JSON.parse(rows.at(-1)?.[0]?.[0] ?? "null");
}

/** Writes a TypeScript module with `Database`, `Json`, look-up types, and `Constants`. */
export function databaseTypes(
  data: SchemaCacheData,
  catalogue: TypeCatalogue,
  { dbSchemas }: { readonly dbSchemas: readonly string[] },
): string {
  const cache = indexSchemaCache(data);
  const ofRows = rowFunctions(catalogue, cache);
  const context: MemberTypeContext = {
    cache,
    catalogue,
    rowFunctions: ofRows,
    names: typeNames(catalogue, { schemas: dbSchemas, cache, rowFunctions: ofRows }),
    resultOf: resultLookup(catalogue),
    readOnlyColumns: readOnlyLookup(catalogue),
  };
  const schemas = dbSchemas.map((name): TypeMember => ({ name, type: schemaType(name, context) }));
  return [
    jsonType,
    `export type Database = ${objectType([clientOptions, ...schemas])};\n`,
    'type Schemas = Omit<Database, "__InternalSupabase">;\n',
    `type DefaultSchema = ${textType(dbSchemas[0]!)};\n`,
    lookupTypes,
    enumConstants(catalogue, dbSchemas),
  ].join("\n");
}

function readOnlyLookup(
  { readOnlyColumns }: TypeCatalogue,
): MemberTypeContext["readOnlyColumns"] {
  const byName = new Map(
    readOnlyColumns.map(([schema, view, columns]) => [
      JSON.stringify([schema, view]),
      new Set(columns),
    ]),
  );
  return ({ schema, name }: Relation) => byName.get(JSON.stringify([schema, name])) ?? noColumns;
}

const noColumns: ReadonlySet<string> = new Set();

const jsonType = `export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[];
`;

/** The version of PostgREST whose features typed clients can rely on. */
const clientOptions: TypeMember = {
  name: "__InternalSupabase",
  type: objectType([{ name: "PostgrestVersion", type: textType("13") }]),
};

function schemaType(schema: string, context: MemberTypeContext): string {
  const { cache, catalogue, names } = context;
  const relations = cache.relationNames(schema).map((name) => cache.relation({ schema, name })!);
  const members = (views: boolean) =>
    objectType(
      relations.filter(({ isView }) => isView === views).map((relation) => ({
        name: relation.name,
        type: relationType(relation, schema, context),
        comment: relation.comment,
      })),
    );
  const enums = catalogue.enums.filter(([of]) => of === schema)
    .map(([, name, , labels]): TypeMember => ({ name, type: union(labels.map(textType)) }));
  const composites = catalogue.composites
    .filter(([of, , , isRelation]) => of === schema && !isRelation)
    .map(([, name, , , attributes]): TypeMember => ({
      name,
      type: objectType(
        attributes.map(([attribute, type]) => ({
          name: attribute,
          type: `${names.of(type)} | null`,
        })),
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

function routineMembers(schema: string, context: MemberTypeContext): readonly TypeMember[] {
  const uncallable = context.rowFunctions.uncallable(schema);
  const names = [...context.cache.routineNames(schema), ...uncallable.map(({ name }) => name)];
  return [...new Set(names)].sort().map((name) => {
    const overloads = context.cache.routines({ schema, name });
    const others = uncallable.filter((each) => each.name === name);
    const comment = overloads.at(-1)?.comment ?? null;
    return { name, type: routineType(overloads, others, context), comment };
  });
}

/** `Tables`, `TablesInsert`, `TablesUpdate`, `Enums` and `CompositeTypes`. Each accepts a name in
 * the default schema, or `{ schema: "other" }` and a name in that schema. */
const lookupTypes = `/** A name of the default schema, or the choice of another schema. */
type NameOrSchema<Kind extends Kinds> =
  | keyof Members<DefaultSchema, Kind>
  | { schema: keyof Schemas };

/** The names to choose from when another schema was chosen. */
type NameInSchema<Choice, Kind extends Kinds> = Choice extends { schema: infer Name }
  ? Name extends keyof Schemas ? keyof Members<Name, Kind> : never
  : never;

type Kinds = "Relations" | "Tables" | "Enums" | "CompositeTypes";

type Members<Name extends keyof Schemas, Kind extends Kinds> = Kind extends keyof Schemas[Name]
  ? Schemas[Name][Kind]
  : Schemas[Name]["Tables"] & Schemas[Name]["Views"];

type Chosen<Choice, Name, Kind extends Kinds> = Choice extends { schema: infer Schema }
  ? Schema extends keyof Schemas ? Member<Members<Schema, Kind>, Name> : never
  : Member<Members<DefaultSchema, Kind>, Choice>;

type Member<Of, Name> = Name extends keyof Of ? Of[Name] : never;

export type Tables<
  Choice extends NameOrSchema<"Relations">,
  Name extends NameInSchema<Choice, "Relations"> = never,
> = Member<Chosen<Choice, Name, "Relations">, "Row">;

export type TablesInsert<
  Choice extends NameOrSchema<"Tables">,
  Name extends NameInSchema<Choice, "Tables"> = never,
> = Member<Chosen<Choice, Name, "Tables">, "Insert">;

export type TablesUpdate<
  Choice extends NameOrSchema<"Tables">,
  Name extends NameInSchema<Choice, "Tables"> = never,
> = Member<Chosen<Choice, Name, "Tables">, "Update">;

export type Enums<
  Choice extends NameOrSchema<"Enums">,
  Name extends NameInSchema<Choice, "Enums"> = never,
> = Chosen<Choice, Name, "Enums">;

export type CompositeTypes<
  Choice extends NameOrSchema<"CompositeTypes">,
  Name extends NameInSchema<Choice, "CompositeTypes"> = never,
> = Chosen<Choice, Name, "CompositeTypes">;
`;

/** Writes `Constants`: the labels of each enum, in order. */
function enumConstants(
  { enums }: TypeCatalogue,
  schemas: readonly string[],
): string {
  const lists = schemas.map((schema) => {
    const labels = enums.filter(([of]) => of === schema).map(([, name, , labels]) =>
      `      ${key(name)}: [${labels.map(textType).join(", ")}],\n`
    );
    const members = labels.length === 0 ? "{}" : `{\n${labels.join("")}    }`;
    return `  ${key(schema)}: {\n    Enums: ${members},\n  },\n`;
  });
  return `export const Constants = {\n${lists.join("")}} as const;\n`;
}

/** Returns a member name for an object literal. A plain `__proto__` would set the prototype. */
function key(name: string): string {
  return name === "__proto__" ? '["__proto__"]' : memberName(name);
}
