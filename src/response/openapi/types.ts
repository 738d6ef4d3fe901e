/**
 * PostgreSQL's types as types of a document.
 *
 * @module
 */
import type { Column } from "../../schema_cache/schema_cache.ts";

/** The type of a value; absent for JSON, which may be anything. */
export type ValueType = "string" | "boolean" | "integer" | "number" | "array";

/** How a type is described. */
export interface TypeFacts {
  readonly type?: ValueType;
  readonly format: string;
  /** Of arrays only. */
  readonly items?: { readonly type?: ValueType };
}

/** Types that are not strings with their own name for a format. */
const known: ReadonlyMap<string, TypeFacts> = new Map<string, TypeFacts>([
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

/** Describes a type by its `format_type` text. */
export function typeFacts(name: string): TypeFacts {
  const element = elementType(name);
  if (element !== null) return { type: "array", format: name, items: typeOnly(typeFacts(element)) };
  return known.get(name) ?? { type: "string", format: name };
}

/** The type of an array's elements, null when a type is no array. */
export function elementType(name: string): string | null {
  return name.endsWith("[]") ? name.slice(0, -2) : null;
}

function typeOnly({ type }: TypeFacts): { readonly type?: ValueType } {
  return type === undefined ? {} : { type };
}

/** Describes the type of a column, below its domains where those stand on a system type. */
export function columnType({ baseType }: Pick<Column, "baseType">): TypeFacts {
  return typeFacts(baseType);
}

/**
 * The default of a column as a value: the expression where it is a JSON literal, its text for
 * strings; undefined for what is neither.
 */
export function defaultValue({ default: expression, baseType }: Column): unknown {
  if (expression === null) return undefined;
  const text = typeFacts(baseType).type === "string" ? asString(expression, baseType) : expression;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `'x'::text` → `"x"`; without the cast the whole expression in quotes. */
function asString(expression: string, type: string): string {
  const cast = `::${type}`;
  if (!expression.endsWith(cast)) return `"${expression}"`;
  const literal = expression.slice(0, -cast.length);
  return `"${literal.replace(/^'/, "").replace(/'$/, "")}"`;
}
