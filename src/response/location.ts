/**
 * The URL of an inserted row.
 *
 * @module
 */
import { headerValue } from "../errors/http_text.ts";
import type { Relation } from "../schema_cache/schema_cache.ts";

/**
 * Returns `/relation?key=eq.value&…`. `key` is the JSON object of the primary key's values as text.
 * The function escapes only characters of the relation's name that would end the path or the header.
 */
export function locationOf({ name }: Relation, key: string): string {
  const values: Readonly<Record<string, string | null>> = JSON.parse(key);
  const filters = Object.entries(values).map(([column, value]) =>
    `${encode(column)}=${value === null ? "is.null" : `eq.${encode(value)}`}`
  );
  const path = headerValue(name.replace(notInPath, encode)) ?? encode(name);
  return `/${path}?${filters.join("&")}`;
}

/** ASCII characters that a path cannot contain or that delimit it (RFC 3986 section 3.3). */
const notInPath = /[^\x80-\u{10ffff}A-Za-z0-9\-_.~!$&'()*+,;=:@]/gu;

/** Percent-encodes all but ASCII letters, digits and `-_.~`. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
