/** The JSON Schemas of an OpenAPI 3.1 document (https://json-schema.org/draft/2020-12): rows that
 * requests read or write, errors, and values by PostgreSQL's types. @module */
import { componentKey, described, objectSchema, reference } from "./names.ts";
import type { DescribedColumn, DescribedRelation } from "./model.ts";
import type { Column } from "../../../state/schema_cache/schema_cache.ts";
import { printedType } from "../../plan/values/type_names.ts";
import { elementType } from "./types.ts";

type SchemaEntry = readonly [key: string, schema: Schema];

type RowUse = "read" | "insert" | "update";

/** Suffixes of component keys. They contain a dot, so the keys differ from keys of relations. */
const keySuffixes: Readonly<Record<RowUse, string>> = {
  read: "",
  insert: ".insert",
  update: ".update",
};

export function rowReference(relation: string, use: RowUse): Schema {
  return reference("components", "schemas", componentKey(relation) + keySuffixes[use]);
}

export const errorReference: Schema = reference("components", "schemas", "error.body");

export const errorSchema: SchemaEntry = ["error.body", {
  type: "object",
  description: "What went wrong",
  required: ["code", "message"],
  properties: {
    code: {
      type: "string",
      description: "SQLSTATE of the database's error, or code of the service's own",
    },
    message: { type: "string" },
    details: { type: ["string", "null"] },
    hint: { type: ["string", "null"] },
  },
}];

/** Returns the schemas of rows to which the operations on a relation refer. */
export function relationSchemas(described: DescribedRelation): readonly SchemaEntry[] {
  const { relation: { name }, methods } = described;
  const uses: readonly RowUse[] = [
    "read",
    ...(methods.includes("post") || methods.includes("put") ? ["insert"] as const : []),
    ...(methods.includes("patch") ? ["update"] as const : []),
  ];
  return uses.map((use) => [componentKey(name) + keySuffixes[use], rowSchema(described, use)]);
}

function rowSchema({ relation, columns }: DescribedRelation, use: RowUse): Schema {
  const written = use === "read" ? columns : columns.filter(({ column }) => !column.generated);
  return objectSchema(
    relation.comment,
    written.map((column) => [column.column.name, property(column, use)]),
    written.flatMap(({ column }) => isRequired(column, use) ? [column.name] : []),
  );
}

/** Returns whether rows always contain the column. A row that is read has all selected columns. */
function isRequired(column: DescribedColumn["column"], use: RowUse): boolean {
  if (use === "insert") return !column.nullable && column.default === null;
  return use === "read";
}

function property({ column, description, hasCustomJson }: DescribedColumn, use: RowUse): Schema {
  const fallback = use === "update" || hasCustomJson ? undefined : constantDefault(column);
  const isOptional = use === "insert" && fallback !== undefined;
  return {
    ...(hasCustomJson ? {} : columnSchema(column)),
    ...described(isOptional ? withDefaultNote(description, fallback) : description),
    ...(use === "read" && column.generated ? { readOnly: true } : {}),
    ...(use === "read" && fallback !== undefined ? { default: fallback } : {}),
  };
}

/** Returns the description with the default. The keyword `default` is not used, because client
 * generators make properties with this keyword required. */
function withDefaultNote(description: string | null, fallback: unknown): string {
  const note = `Default: \`${JSON.stringify(fallback)}\``;
  return description === null ? note : `${description}\n\n${note}`;
}

/** A JSON Schema; an empty one accepts any value. */
export type Schema = Readonly<Record<string, unknown>>;

/** Schemas by the `format_type` text of the type. */
const schemasByType: ReadonlyMap<string, Schema> = new Map<string, Schema>([
  ["boolean", { type: "boolean" }],
  ["smallint", { type: "integer", format: "int32" }],
  ["integer", { type: "integer", format: "int32" }],
  ["bigint", { type: "integer", format: "int64" }],
  ["numeric", { type: "number" }],
  ["real", { type: "number", format: "float" }],
  ["double precision", { type: "number", format: "double" }],
  ["json", {}],
  ["jsonb", {}],
  ["text", { type: "string" }],
  ["character varying", { type: "string" }],
  ["character", { type: "string" }],
  ["date", { type: "string", format: "date" }],
  ["timestamp with time zone", { type: "string", format: "date-time" }],
  ["uuid", { type: "string", format: "uuid" }],
  ["record", { type: "object" }],
]);

/** Returns the schema of a type by its `format_type` text. For composite types, it accepts any value. */
export function typeSchema(name: string): Schema {
  const element = elementType(name);
  if (element !== null) return { type: "array", items: nullable(typeSchema(element)) };
  return schemasByType.get(name) ??
    (name.includes(".") ? { format: name } : { type: "string", format: name });
}

/** Returns the schema of a type by its schema and its name in `pg_type`. */
export function namedTypeSchema(schema: string, name: string): Schema {
  if (name.startsWith("_")) {
    return { type: "array", items: nullable(namedTypeSchema(schema, name.slice(1))) };
  }
  return typeSchema(schema === "pg_catalog" ? printedType(name) : `${schema}.${name}`);
}

/** Returns a schema that also accepts null. */
export function nullable(schema: Schema): Schema {
  const { type, enum: labels } = schema;
  if (type === undefined) return schema;
  const values = Array.isArray(labels) ? { enum: [...labels, null] } : {};
  return { ...schema, type: [type, "null"], ...values };
}

/** Returns the schema of a column's values, without description and default. */
export function columnSchema(column: Column): Schema {
  const { baseType, enumLabels, maxLength } = column;
  const type = enumLabels.length > 0
    ? { type: "string", enum: enumLabels }
    : { ...typeSchema(baseType), ...(maxLength === null ? {} : { maxLength }) };
  return column.nullable ? nullable(type) : type;
}

/** Returns a column's default if it is a constant; otherwise undefined. */
function constantDefault(column: Column): unknown {
  const { default: expression, baseType, enumLabels } = column;
  if (expression === null) return undefined;
  const quoted = /^'((?:[^']|'')*)'::[^']+$/.exec(expression)?.[1]?.replaceAll("''", "'");
  const { type } = typeSchema(baseType);
  if (type === "string" || enumLabels.length > 0) return quoted;
  if (type === "array" || baseType.includes(".")) return undefined;
  try {
    return JSON.parse(quoted ?? expression);
  } catch {
    return undefined;
  }
}
