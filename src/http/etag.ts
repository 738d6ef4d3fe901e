/**
 * Entity tags of coded responses (RFC 9110, section 8.8.3): each coding is a representation of its own, so
 * its tag has a suffix.
 *
 * @module
 */
import type { ResponseCoding } from "./accept_encoding.ts";

/** Returns the tag of a coded representation: `"a"` becomes `"a-gzip"`. */
export function codedTag(tag: string, coding: ResponseCoding): string {
  return tag.endsWith('"') ? `${tag.slice(0, -1)}-${coding}"` : tag;
}

/** Returns the form of a tag that a condition names: that of a coded representation, or the tag itself. */
export function namedTag(tag: string, condition: string): string {
  const coded = codings.map((coding) => codedTag(tag, coding));
  return coded.find((each) => condition.includes(each)) ?? tag;
}

const codings: readonly ResponseCoding[] = ["zstd", "br", "gzip"];

/** Returns `If-Match` or `If-None-Match` with the tags of the uncoded representations. */
export function uncodedTags(value: string): string {
  return value.replace(/-(?:zstd|br|gzip)"/g, '"');
}
