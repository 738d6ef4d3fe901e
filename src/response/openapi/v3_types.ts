/** Maps PostgreSQL's types to JSON Schemas of the values in responses
 * (https://json-schema.org/draft/2020-12). @module */
import type { Column } from "../../schema_cache/schema_cache.ts";
import { elementType } from "./types.ts";

/** A JSON Schema; an empty one accepts any value. */
export type Schema = Readonly<Record<string, unknown>>;

/** Schemas of types by their `format_type` text. */
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

/** `format_type` texts of types with another name in `pg_type`. */
const longNames: ReadonlyMap<string, string> = new Map([
  ["bool", "boolean"],
  ["int2", "smallint"],
  ["int4", "integer"],
  ["int8", "bigint"],
  ["float4", "real"],
  ["float8", "double precision"],
  ["varchar", "character varying"],
  ["bpchar", "character"],
  ["timestamptz", "timestamp with time zone"],
]);

/** Returns the schema of a type by its `format_type` text. Composites accept any value. */
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
  return typeSchema(schema === "pg_catalog" ? longNames.get(name) ?? name : `${schema}.${name}`);
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

/** Returns a column's default if it is a constant, otherwise undefined. */
export function constantDefault(column: Column): unknown {
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
