/**
 * The URL of a row that was created.
 *
 * @module
 */
import type { Relation } from "../schema_cache/schema_cache.ts";

/** `/relation?key=eq.value&…`; `key` is the JSON object of the primary key's values as text. */
export function locationOf({ name }: Relation, key: string): string {
  const values: Readonly<Record<string, string | null>> = JSON.parse(key);
  const filters = Object.entries(values).map(([column, value]) =>
    `${encode(column)}=${value === null ? "is.null" : `eq.${encode(value)}`}`
  );
  return `/${encodeURIComponent(name)}?${filters.join("&")}`;
}

/** Percent-encodes all but ASCII letters, digits and `-_.~`. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
