/** Maps PostgreSQL's types to types of an OpenAPI 2.0 document. @module */
import type { Column } from "../../../state/schema_cache/schema_cache.ts";

export type ValueType = "string" | "boolean" | "integer" | "number" | "array";

/** Description of a type. `type` is absent for JSON, which can be any value. */
export interface TypeSpec {
  readonly type?: ValueType;
  readonly format: string;
  readonly items?: { readonly type?: ValueType };
}

/** Types other than strings. All further types are strings whose format is the name of the type. */
const typesByName: ReadonlyMap<string, TypeSpec> = new Map<string, TypeSpec>([
  ["boolean", { type: "boolean", format: "boolean" }],
  ["smallint", { type: "integer", format: "int32" }],
  ["integer", { type: "integer", format: "int32" }],
  ["bigint", { type: "integer", format: "int64" }],
  ["numeric", { type: "number", format: "numeric" }],
  ["real", { type: "number", format: "real" }],
  ["double precision", { type: "number", format: "double precision" }],
  ["json", { format: "json" }],
  ["jsonb", { format: "jsonb" }],
]);

/** Returns the description of a type; `name` is its `format_type` text. */
export function typeSpec(name: string): TypeSpec {
  const element = elementType(name);
  if (element !== null) {
    const { type } = typeSpec(element);
    return { type: "array", format: name, items: type === undefined ? {} : { type } };
  }
  return typesByName.get(name) ?? { type: "string", format: name };
}

/** Returns the element type of an array; null for other types. */
export function elementType(name: string): string | null {
  return name.endsWith("[]") ? name.slice(0, -2) : null;
}

/** Returns a JSON literal, or text for strings; undefined for other expressions. */
export function defaultValue({ default: expression, baseType }: Column): unknown {
  if (expression === null) return undefined;
  const text = typeSpec(baseType).type === "string" ? asString(expression, baseType) : expression;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts `'x'::text` to `"x"`. An expression without the cast is put in quotes as a whole. */
function asString(expression: string, type: string): string {
  const cast = `::${type}`;
  if (!expression.endsWith(cast)) return `"${expression}"`;
  const literal = expression.slice(0, -cast.length);
  return `"${literal.replace(/^'/, "").replace(/'$/, "")}"`;
}
