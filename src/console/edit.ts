/** Requests that change rows, and values of forms as JSON. @module */
import type { ConsoleColumn, ConsoleRelation } from "../admin/console_schema.ts";
import type { ApiCall } from "./code.ts";
import { encode, fieldName, typeKind } from "./filters.ts";

export type GridRow = Readonly<Record<string, unknown>>;

/** How a request that writes ends. */
export interface WriteOptions {
  /** Header that selects the schema. */
  readonly profile: ApiCall["headers"];
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
  profile: WriteOptions["profile"],
): ApiCall {
  return {
    method: "POST",
    path: encodeURIComponent(relation.name),
    query: "",
    headers: [json, prefer("return=representation"), ...profile],
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
    prefer("return=representation, handling=strict, max-affected=1"),
    ...(options.tag === null ? [] : [["If-Match", options.tag] as const]),
    ...options.profile,
  ];
}

function prefer(preferences: string): readonly [name: string, value: string] {
  return ["Prefer", preferences];
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

const integerBounds: ReadonlyMap<string, bigint> = new Map([
  ["smallint", 1n << 15n],
  ["integer", 1n << 31n],
  ["bigint", 1n << 63n],
]);

/** Words that PostgreSQL takes in place of a date or a time. */
const timeWords = /^(?:now|today|tomorrow|yesterday|epoch|allballs|-?infinity)$/i;

/** Returns why a column's type refuses a text; null if it may take it. */
export function problemOf(
  column: Pick<ConsoleColumn, "type" | "baseType" | "enumLabels" | "maxLength">,
  text: string,
): string | null {
  const { type, baseType, enumLabels, maxLength } = column;
  if (enumLabels.length > 0) {
    return enumLabels.includes(text) ? null : `Expected one of ${enumLabels.join(", ")}`;
  }
  if (maxLength !== null && [...text].length > maxLength) {
    return `Expected at most ${maxLength} characters`;
  }
  switch (typeKind(baseType)) {
    case "number":
      return numberProblem(baseType, type, text.trim());
    case "uuid":
      return /^\{?(?:[0-9a-f]{4}-?){8}\}?$/i.test(text.trim()) ? null : "Expected a UUID";
    case "time":
      return timeProblem(baseType, text.trim());
    case "json":
      return isJson(text) ? null : "Expected JSON";
    case "array":
      return /^\s*\{/s.test(text) || isJson(text) ? null : "Expected a list such as {a,b}";
    case "binary":
      return /^\\x(?:[0-9a-f]{2})*$/i.test(text)
        ? null
        : "Expected pairs of digits such as \\x00ff";
    default:
      return null;
  }
}

/** Returns whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function numberProblem(baseType: string, type: string, text: string): string | null {
  const bound = integerBounds.get(baseType);
  if (bound !== undefined) {
    if (!/^[+-]?[0-9]+$/.test(text)) return "Expected a whole number";
    const value = BigInt(text.replace("+", ""));
    return value >= -bound && value < bound ? null : `Expected ${-bound} to ${bound - 1n}`;
  }
  if (baseType === "money" || baseType === "oid") return null;
  const isNumber = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?$/i.test(text) ||
    /^(?:nan|[+-]?infinity)$/i.test(text);
  if (!isNumber) return "Expected a number";
  const [, precision, scale] = /^numeric\((\d+),(\d+)\)/.exec(type) ?? [];
  const limit = 10 ** (Number(precision) - Number(scale));
  return Math.abs(Number(text)) >= limit ? `Expected less than ${limit}` : null;
}

function timeProblem(baseType: string, text: string): string | null {
  if (baseType === "interval") return /[0-9]/.test(text) ? null : "Expected a duration: 2 days";
  if (timeWords.test(text)) return null;
  if (baseType.startsWith("time ")) return /^\d{1,2}/.test(text) ? null : "Expected a time: 13:30";
  const [, year, month, day] = /^(\d{4,})-(\d{1,2})-(\d{1,2})/.exec(text) ?? [];
  // PostgreSQL reads other forms of dates, too.
  if (year === undefined) return /\d/.test(text) ? null : "Expected a date: 2026-01-31";
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 ? null : "There is no such day";
}
