/**
 * Bookmarks: what a client has written or seen, as a text that it sends with its next read.
 *
 * ```abnf
 * Bookmark = Position / Time
 * Position = 1*8HEXDIG "-" 16HEXDIG   ; timeline and position in the write-ahead log
 * Time     = "t-" 1*15DIGIT           ; epoch milliseconds, where positions cannot be read
 * ```
 *
 * @module
 */

/** A decoded bookmark. */
export type Bookmark =
  | { readonly kind: "position"; readonly timeline: number; readonly lsn: bigint }
  | { readonly kind: "time"; readonly epochMs: number };

/**
 * Returns the latest of the bookmarks in a text, which commas separate. Returns null for another text, and for
 * bookmarks that cannot be compared: those of two timelines, or positions beside times.
 */
export function latestBookmark(text: string | null): Bookmark | null {
  let latest: Bookmark | null = null;
  for (const each of text?.split(",") ?? []) {
    const bookmark = parseBookmark(each);
    if (bookmark === null) return null;
    if (latest !== null && !isComparable(latest, bookmark)) return null;
    if (latest === null || placeOf(latest) < placeOf(bookmark)) latest = bookmark;
  }
  return latest;
}

function isComparable(one: Bookmark, other: Bookmark): boolean {
  if (one.kind === "time" || other.kind === "time") return one.kind === other.kind;
  return one.timeline === other.timeline;
}

function placeOf(bookmark: Bookmark): bigint | number {
  return bookmark.kind === "time" ? bookmark.epochMs : bookmark.lsn;
}

/** Returns the bookmark in a text; null for another text. */
export function parseBookmark(text: string): Bookmark | null {
  const [, timeline, lsn, epochMs] =
    /^(?:([0-9a-f]{1,8})-([0-9a-f]{16})|t-([0-9]{1,15}))$/i.exec(text) ?? [];
  if (epochMs !== undefined) return { kind: "time", epochMs: Number(epochMs) };
  if (timeline === undefined) return null;
  return { kind: "position", timeline: parseInt(timeline, 16), lsn: BigInt(`0x${lsn}`) };
}

/** Returns the text of a bookmark. */
export function bookmarkText(bookmark: Bookmark): string {
  if (bookmark.kind === "time") return `t-${bookmark.epochMs}`;
  const { timeline, lsn } = bookmark;
  return `${hex(timeline)}-${hex(lsn).padStart(16, "0")}`;
}

function hex(number: number | bigint): string {
  return number.toString(16).toUpperCase();
}
