/** Requests that change rows, and JSON values of forms. @module */
import { queryName } from "../../../api/request/url/filter_param.ts";
import type { ConsoleColumn, ConsoleRelation } from "../server/console_schema.ts";
import type { ApiCall } from "./code.ts";
import { parseJson } from "../../../base/lib/json_text.ts";
import { encode, typeKind } from "./filters.ts";

export type GridRow = Readonly<Record<string, unknown>>;

export interface RowChange {
  /** The row before the change; null for an insert. */
  readonly row: GridRow | null;
  /** Values to write; null to delete the row. */
  readonly changes: GridRow | null;
  /** Header that selects the schema. */
  readonly profile: ApiCall["headers"];
  /** Value of `If-Match`, or null. */
  readonly tag: string | null;
}

/** Returns the request of a change. The request fails if it would change several rows, or a row that
 * has changed since it was read. */
export function writeCall(
  relation: ConsoleRelation,
  { row, changes, profile, tag }: RowChange,
): ApiCall {
  const preferences = row === null ? [] : ["handling=strict", "max-affected=1"];
  return {
    method: row === null ? "POST" : changes === null ? "DELETE" : "PATCH",
    path: encodeURIComponent(relation.name),
    query: row === null ? "" : keyQuery(relation, row),
    headers: [
      ...(changes === null ? [] : [["Content-Type", "application/json"] as const]),
      ["Prefer", ["return=representation", ...preferences].join(", ")],
      ...(tag === null ? [] : [["If-Match", tag] as const]),
      ...profile,
    ],
    body: changes === null ? null : JSON.stringify(changes),
  };
}

/** Returns the filters that select a row by its key. */
export function keyQuery({ primaryKey }: ConsoleRelation, row: GridRow): string {
  return filtersText(primaryKey.map((name) => [name, row[name]]));
}

export function filtersText(
  values: readonly (readonly [column: string, value: unknown])[],
): string {
  return values.map(([name, value]) => `${encode(queryName(name))}=${encode(equalTo(value))}`)
    .join("&");
}

function equalTo(value: unknown): string {
  if (value === null || value === undefined) return "is.null";
  return `eq.${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
}

/** Returns whether a row contains its whole key. */
export function hasKey({ primaryKey }: ConsoleRelation, row: GridRow): boolean {
  return primaryKey.length > 0 && primaryKey.every((name) => row[name] !== undefined);
}

/** Returns the JSON value of a text in a form. Throws a `SyntaxError` if it is not JSON. */
export function valueOf({ baseType }: Pick<ConsoleColumn, "baseType">, text: string): unknown {
  switch (typeKind(baseType)) {
    case "json":
      return parseJson(text);
    case "boolean":
      return text === "true";
    case "number":
      // If JavaScript would change the number, the request contains the digits as a text.
      return /^-?[0-9]+(?:\.[0-9]+)?$/.test(text) && String(Number(text)) === text
        ? Number(text)
        : text;
    case "array":
      return isJson(text) ? parseJson(text) : text;
    default:
      return text;
  }
}

/** Returns the text of a value in a form. */
export function formText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

/** Formats of texts, with names for messages. Bounds and times are left to PostgreSQL. */
const formats: Partial<Record<string, readonly [pattern: RegExp, name: string]>> = {
  integer: [/^[+-]?[0-9]+$/, "a whole number"],
  number: [
    /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?$|^[+-]?(?:nan|infinity)$/i,
    "a number",
  ],
  uuid: [/^\{?(?:[0-9a-f]{4}-?){8}\}?$/i, "a UUID"],
  array: [/^[{[]/, "a list such as {a,b}"],
  binary: [/^\\x(?:[0-9a-f]{2})*$/i, "pairs of digits such as \\x00ff"],
};

/** Returns why a column's type rejects a text; null if it might accept it. */
export function problemOf(
  { baseType, enumLabels, maxLength }: Pick<ConsoleColumn, "baseType" | "enumLabels" | "maxLength">,
  text: string,
): string | null {
  if (enumLabels.length > 0) {
    return enumLabels.includes(text) ? null : `Expected one of ${enumLabels.join(", ")}`;
  }
  if (maxLength !== null && [...text].length > maxLength) {
    return `Expected at most ${maxLength} characters`;
  }
  const kind = typeKind(baseType);
  if (kind === "json") return isJson(text) ? null : "Expected JSON";
  const format = formats[/^(?:smallint|integer|bigint)$/.test(baseType) ? "integer" : kind];
  const isFit = format === undefined || baseType === "money" || format[0].test(text.trim());
  return isFit ? null : `Expected ${format[1]}`;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
