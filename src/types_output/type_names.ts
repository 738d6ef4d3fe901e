/**
 * PostgreSQL's types as TypeScript's.
 *
 * @module
 */
import type { TypeCatalogue } from "../schema_cache/queries/type_catalogue.ts";
import { arrayType, textType, union } from "./type_text.ts";

/** Gives the TypeScript type of a PostgreSQL type by its `format_type` text. */
export type TypeNames = (type: string) => string;

/** Types that JSON does not show as strings. */
const known: ReadonlyMap<string, string> = new Map([
  ["boolean", "boolean"],
  ["smallint", "number"],
  ["integer", "number"],
  ["bigint", "number"],
  ["real", "number"],
  ["double precision", "number"],
  ["numeric", "number"],
  ["json", "Json"],
  ["jsonb", "Json"],
  ["void", "undefined"],
  ["record", "Record<string, unknown>"],
]);

/** Pseudo-types, and types of extensions or of schemas that are not exposed: nothing is known. */
const unknown = "unknown";

/** Makes the look-up. `isView` tells views from tables. */
export function typeNames(
  { enums, composites, domains }: TypeCatalogue,
  { schemas, isView }: {
    readonly schemas: readonly string[];
    readonly isView: (schema: string, name: string) => boolean | undefined;
  },
): TypeNames {
  const exposed = new Set(schemas);
  const types = new Map(known);
  for (const [schema, name, text, labels] of enums) {
    const type = exposed.has(schema)
      ? member(schema, "Enums", name)
      : union(labels.map((label) => textType(label)));
    types.set(text, type);
  }
  for (const [schema, name, text, isRelation] of composites) {
    const view = isView(schema, name);
    if (!isRelation) types.set(text, member(schema, "CompositeTypes", name));
    else if (view !== undefined) types.set(text, rowOf(schema, view, name));
  }
  const bases = new Map(domains);
  const nameOf = (type: string): string => {
    if (type.endsWith("[]")) return arrayType(nameOf(type.slice(0, -2)));
    const base = bases.get(type);
    if (base !== undefined) return nameOf(base.replace(/\([^)]*\)/, ""));
    return types.get(type) ?? (type.includes(".") || type.startsWith("any") ? unknown : "string");
  };
  return nameOf;
}

function member(schema: string, kind: string, name: string): string {
  return `Database[${textType(schema)}]["${kind}"][${textType(name)}]`;
}

function rowOf(schema: string, isView: boolean, name: string): string {
  return `${member(schema, isView ? "Views" : "Tables", name)}["Row"]`;
}
