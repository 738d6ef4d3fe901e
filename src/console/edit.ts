/**
 * Requests that change rows, and values of forms as JSON.
 *
 * @module
 */
import type { ConsoleColumn, ConsoleRelation } from "../admin/console_data.ts";
import type { ApiCall } from "./code.ts";
import { encode, fieldName, typeKind } from "./filters.ts";

export type GridRow = Readonly<Record<string, unknown>>;

/** How a request that writes ends. */
export interface WriteOptions {
  /** Header that selects the schema. */
  readonly profile: ApiCall["headers"];
  /** Rolls the transaction back, to try the request. */
  readonly isTry: boolean;
  /** Value of `If-Match`; null for none. */
  readonly tag: string | null;
}

const json = ["Content-Type", "application/json"] as const;

/** Returns the request that changes columns of one row. */
export function updateCall(
  relation: ConsoleRelation,
  { row, changes }: { readonly row: GridRow; readonly changes: GridRow },
  options: WriteOptions,
): ApiCall {
  return {
    method: "PATCH",
    path: encodeURIComponent(relation.name),
    query: keyQuery(relation, row),
    headers: [json, ...oneRowHeaders(options)],
    body: JSON.stringify(changes),
  };
}

/** Returns the request that inserts a row. */
export function insertCall(
  relation: ConsoleRelation,
  row: GridRow,
  options: Omit<WriteOptions, "tag">,
): ApiCall {
  return {
    method: "POST",
    path: encodeURIComponent(relation.name),
    query: "",
    headers: [json, prefer(["return=representation"], options), ...options.profile],
    body: JSON.stringify(row),
  };
}

/** Returns the request that deletes one row. */
export function deleteCall(
  relation: ConsoleRelation,
  row: GridRow,
  options: WriteOptions,
): ApiCall {
  return {
    method: "DELETE",
    path: encodeURIComponent(relation.name),
    query: keyQuery(relation, row),
    headers: [...oneRowHeaders(options)],
    body: null,
  };
}

/** Returns headers that fail the request if it would change more than one row, or a changed one. */
function oneRowHeaders(options: WriteOptions): ApiCall["headers"] {
  return [
    prefer(["return=representation", "handling=strict", "max-affected=1"], options),
    ...(options.tag === null ? [] : [["If-Match", options.tag] as const]),
    ...options.profile,
  ];
}

function prefer(
  preferences: readonly string[],
  { isTry }: Pick<WriteOptions, "isTry">,
): readonly [name: string, value: string] {
  return ["Prefer", [...preferences, ...(isTry ? ["tx=rollback"] : [])].join(", ")];
}

/** Returns the filters that select a row by its key. */
export function keyQuery({ primaryKey }: ConsoleRelation, row: GridRow): string {
  return primaryKey.map((name) => `${encode(fieldName(name))}=${encode(equalTo(row[name]))}`)
    .join("&");
}

/** Returns the filter of a value. */
export function equalTo(value: unknown): string {
  if (value === null || value === undefined) return "is.null";
  return `eq.${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
}

/** Returns whether a row has its whole key. */
export function hasKey({ primaryKey }: ConsoleRelation, row: GridRow): boolean {
  return primaryKey.length > 0 && primaryKey.every((name) => row[name] !== undefined);
}

/** Returns the JSON value of a form's text. Throws an `Error` if the text is not JSON where it must be. */
export function valueOf({ baseType }: Pick<ConsoleColumn, "baseType">, text: string): unknown {
  switch (typeKind(baseType)) {
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new Error("This is not JSON");
      }
    case "boolean":
      return text === "true";
    case "number":
      // The digits of a number that JavaScript cannot hold travel as a text.
      return /^-?[0-9]+(?:\.[0-9]+)?$/.test(text) && String(Number(text)) === text
        ? Number(text)
        : text;
    case "array":
      return text.trimStart().startsWith("[") ? JSON.parse(text) : text;
    default:
      return text;
  }
}

/** Returns the text that a form shows for a value. */
export function formText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}
