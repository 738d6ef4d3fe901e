/** The text of values in cells, and of signatures. @module */
import type { ConsoleFunction } from "../server/console_schema.ts";

/** Maximum characters of a value in a cell. */
const maxCellLength = 200;

/** Returns the text of a value for a cell: on one line, and cut. */
export function cellText(value: unknown, baseType = ""): string {
  const text = valueText(value, baseType).slice(0, maxCellLength + 1).replace(/\s+/g, " ");
  return text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text;
}

/** Returns the complete text of a value; JSON has line breaks. */
export function valueText(value: unknown, baseType = ""): string {
  if (value === null || value === undefined) return "null";
  if (baseType === "bytea" && typeof value === "string" && value.startsWith("\\x")) {
    return `${(value.length - 2) / 2} bytes`;
  }
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

/** Returns rows as CSV (RFC 4180). An apostrophe precedes cells that spreadsheets would execute as formulas. */
export function csvText(
  rows: readonly Readonly<Record<string, unknown>>[],
  columns: readonly string[],
): string {
  const field = (value: unknown) => {
    const text = value === null || value === undefined ? "" : valueText(value);
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [columns, ...rows.map((row) => columns.map((name) => row[name]))];
  return lines.map((line) => line.map(field).join(",") + "\r\n").join("");
}

/** Returns the signature of a function: `add(a integer, b integer) returns integer`. */
export function signature({ name, parameters, returns }: ConsoleFunction): string {
  const list = parameters.map((each) => {
    const words = [each.variadic && "variadic", each.name, each.type, each.required || "= default"];
    return words.filter((word) => typeof word === "string" && word !== "").join(" ");
  });
  return `${name}(${list.join(", ")}) returns ${returns}`;
}
