/** Entity tags (RFC 9110, section 8.8.3): the lists in `If-Match` and `If-None-Match`, and the tags
 * of coded responses. Each coding is a separate representation, so its tag has a suffix. @module
 */
import { type ResponseCoding, responseCodings } from "./accept_encoding.ts";

export interface EntityTag {
  readonly isWeak: boolean;
  readonly opaque: string;
}

/** The value of a precondition: tags, or `*` for any representation. */
export type TagList = readonly EntityTag[] | "*";

/** Returns the tags of a precondition; null if it is malformed or lists more than `maxTags`. */
export function readTagList(value: string, maxTags: number): TagList | null {
  const text = value.trim();
  if (text === "*") return text;
  const tags: EntityTag[] = [];
  let at = 0;
  while (at < text.length) {
    listedTag.lastIndex = at;
    const match = listedTag.exec(text);
    if (match === null || tags.length === maxTags) return null;
    tags.push({ isWeak: match[1] !== undefined, opaque: match[2]! });
    at = listedTag.lastIndex;
  }
  // A comma at the end is malformed, because a tag is missing after it.
  return tags.length === 0 || text.endsWith(",") ? null : tags;
}

/** Matches a tag and the comma after it. Tags contain no quotes, blanks and control characters. */
const listedTag = /(W\/)?"([!#-~\u0080-\uffff]*)"[ \t]*(?:,[ \t]*|$)/y;

/** Reads one tag; null if it is malformed. */
export function readTag(text: string): EntityTag | null {
  const tags = readTagList(text, 1);
  return tags === null || tags === "*" ? null : tags[0]!;
}

/** Compares tags as `If-None-Match` does (section 8.8.3.2): weak tags match, too. */
export function matchesWeakly(list: TagList, tag: EntityTag | null): boolean {
  return list === "*" || list.some(({ opaque }) => opaque === tag?.opaque);
}

/** Compares tags as `If-Match` does: weak tags never match. */
export function matchesStrongly(list: TagList, tag: EntityTag | null): boolean {
  if (list === "*") return true;
  return list.some(({ isWeak, opaque }) =>
    !isWeak && tag?.isWeak === false && opaque === tag.opaque
  );
}

/** Returns the tag of a coded representation: `"a"` becomes `"a-gzip"`. */
export function codedTag(tag: string, coding: ResponseCoding): string {
  return tag.endsWith('"') ? `${tag.slice(0, -1)}-${coding}"` : tag;
}

/** Returns a tag with the suffix of a coding, if a condition contains this form. Otherwise returns
 * the tag. */
export function namedTag(tag: string, condition: string): string {
  const coded = responseCodings.map((coding) => codedTag(tag, coding));
  return coded.find((each) => condition.includes(each)) ?? tag;
}

/** Returns `If-Match` or `If-None-Match` with the tags of the uncoded representations. */
export function uncodedTags(value: string): string {
  return value.replace(/-(?:zstd|br|gzip)"/g, '"');
}
