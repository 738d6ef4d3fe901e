/** Maps PostgreSQL types to TypeScript types. @module */
import type { TypeCatalogue } from "../../state/schema_cache/queries/type_catalogue.ts";
import type {
  QualifiedName,
  Relation,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import type { RowFunctions } from "./row_functions.ts";
import { arrayType, textType, union } from "./type_text.ts";

export interface TypeNames {
  /** Returns the TypeScript type for the `format_type` text of a PostgreSQL type. */
  readonly of: (type: string) => string;
  /** Returns the `Row` type of an exposed relation, with its computed columns. */
  readonly row: (relation: QualifiedName) => string;
}

/** Built-in types whose JSON is not a string. */
const builtInTypes: ReadonlyMap<string, string> = new Map([
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

/** Type for pseudo-types, and for types of extensions or unexposed schemas. */
const unknown = "unknown";

export function typeNames(
  { enums, composites, domains }: TypeCatalogue,
  { schemas, cache, rowFunctions }: {
    readonly schemas: readonly string[];
    readonly cache: SchemaCache;
    readonly rowFunctions: RowFunctions;
  },
): TypeNames {
  const exposed = new Set(schemas);
  const types = new Map(builtInTypes);
  for (const [schema, name, text, labels] of enums) {
    const type = exposed.has(schema)
      ? member(schema, "Enums", name)
      : union(labels.map((label) => textType(label)));
    types.set(text, type);
  }
  for (const [schema, name, text, isRelation] of composites) {
    const relation = isRelation ? cache.relation({ schema, name }) : undefined;
    if (!isRelation) types.set(text, member(schema, "CompositeTypes", name));
    else if (relation !== undefined) {
      const computed = rowFunctions.columnsOf(relation).map((each) => textType(each.name));
      const row = rowOf(relation);
      types.set(text, computed.length === 0 ? row : `Omit<${row}, ${union(computed)}>`);
    }
  }
  const bases = new Map(domains);
  const nameOf = (type: string): string => {
    if (type.endsWith("[]")) return arrayType(nameOf(type.slice(0, -2)));
    const base = bases.get(type);
    if (base !== undefined) return nameOf(base.replace(/\([^)]*\)/, ""));
    return types.get(type) ?? (type.includes(".") || type.startsWith("any") ? unknown : "string");
  };
  return {
    of: nameOf,
    row: (name) => rowOf(cache.relation(name)!),
  };
}

function member(schema: string, kind: string, name: string): string {
  return `Database[${textType(schema)}]["${kind}"][${textType(name)}]`;
}

function rowOf({ schema, isView, name }: Relation): string {
  return `${member(schema, isView ? "Views" : "Tables", name)}["Row"]`;
}
