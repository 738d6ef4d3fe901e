/**
 * The keys of the objects at the levels of a nested insert, for `*` in `columns`.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { Payload } from "../request/api_request.ts";
import type { ColumnItem } from "../request/query_types.ts";

/** The longest body whose keys are read, in bytes: other requests wait meanwhile. */
export const maxBodyLength = 4 * 1024 * 1024;

/** Returns the values of a body: the object, or the elements of the array. */
export function valuesOfBody(payload: Payload | null): readonly unknown[] {
  if (payload?.kind !== "json" || payload.text.length === 0) return [];
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(payload.text));
    return Array.isArray(body) ? body : [body];
  } catch {
    // PostgreSQL refuses the text.
    return [];
  }
}

/** Returns the values that objects have under a key: each value, or the elements of each array. */
export function valuesUnder(key: string, values: readonly unknown[]): readonly unknown[] {
  return values.flatMap((value) => {
    const member = isObject(value) && Object.hasOwn(value, key) ? value[key] : [];
    return member === null ? [] : member;
  });
}

/** Returns the columns that a level writes, sorted. */
export function columnNames(
  items: readonly ColumnItem[],
  values: readonly unknown[] | null,
  nested: ReadonlySet<string>,
): readonly string[] {
  const names = new Set(items.flatMap((item) => item.kind === "column" ? [item.name] : []));
  if (items.some(({ kind }) => kind === "all")) {
    keysOf(values ?? [], nested).forEach((key) => names.add(key));
  }
  return [...names].sort();
}

/** Returns the keys that all objects have, without `others`. Throws `102` if they differ. */
function keysOf(values: readonly unknown[], others: ReadonlySet<string>): readonly string[] {
  let keys: ReadonlySet<string> | null = null;
  // PostgreSQL refuses other values.
  for (const value of values) {
    if (!isObject(value)) continue;
    const own = Object.keys(value).filter((key) => !others.has(key));
    if (keys === null) keys = new Set(own);
    else if (own.length !== keys.size || !isSubset(own, keys)) {
      throw errors.invalidBody("All object keys must match");
    }
  }
  return [...keys ?? []].sort();
}

function isSubset(names: readonly string[], all: ReadonlySet<string>): boolean {
  return names.every((name) => all.has(name));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
