/** What the scan of rows should say of a value that `JSON.parse` has read. @module */
import { isDeepStrictEqual } from "node:util";
import type { JsonRows } from "../../../../src/api/request/body/json_rows.ts";

/** Returns the content of a value's text. */
export function expectedRows(value: unknown): JsonRows {
  if (typeof value !== "object" || value === null) return { kind: "none", isScalar: true };
  if (!Array.isArray(value)) return rows("object", Object.keys(value).sort());
  if (value.length === 0) return { kind: "none", isScalar: false };
  const keys = sortedKeys(value[0]);
  const uniform = value.every((row) => isDeepStrictEqual(sortedKeys(row), keys));
  return keys === null || !uniform ? { kind: "mixed" } : rows("array", keys);
}

function sortedKeys(row: unknown): string[] | null {
  if (typeof row !== "object" || row === null || Array.isArray(row)) return null;
  return Object.keys(row).sort();
}

function rows(shape: "object" | "array", keys: readonly string[]): JsonRows {
  return { kind: "rows", shape, keys, moreKeys: 0 };
}
