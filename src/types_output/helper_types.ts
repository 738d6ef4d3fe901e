/**
 * Writes the types that pick a member of `Database` by name, and the labels of enums as values.
 *
 * @module
 */
import type { TypeCatalogue } from "../schema_cache/queries/type_catalogue.ts";
import { memberName, textType } from "./type_text.ts";

/**
 * Writes `Tables`, `TablesInsert`, `TablesUpdate`, `Enums` and `CompositeTypes`. Each takes a name
 * of the default schema, or `{ schema: "other" }` and a name of that schema.
 */
export function helperTypes(defaultSchema: string): string {
  return `type Schemas = Omit<Database, "__InternalSupabase">;

type DefaultSchema = ${textType(defaultSchema)};

/** A name of the default schema, or the choice of another schema. */
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
}

/** Writes `Constants`: the labels of each enum, in their order. */
export function enumConstants(
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

/** Returns a member's name for an object literal. A plain `__proto__` would set the prototype. */
function key(name: string): string {
  return name === "__proto__" ? '["__proto__"]' : memberName(name);
}
