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

/** Returns the bookmark in a text; null for another text. */
export function parseBookmark(text: string): Bookmark | null {
  const [, timeline, lsn, epochMs] =
    /^(?:([0-9a-f]{1,8})-([0-9a-f]{16})|t-([0-9]{1,15}))$/i.exec(text) ?? [];
  if (epochMs !== undefined) return { kind: "time", epochMs: Number(epochMs) };
  if (timeline === undefined) return null;
  return { kind: "position", timeline: parseInt(timeline, 16), lsn: BigInt(`0x${lsn}`) };
}

/** All that the bookmarks of a client stand for. */
export interface ClientState {
  /** The highest position; null for none. */
  readonly position: { readonly timeline: number; readonly lsn: bigint } | null;
  /** The latest time; null for none. */
  readonly epochMs: number | null;
}

/** State of a client without bookmarks. */
const unknownState: ClientState = { position: null, epochMs: null };

/**
 * Returns the state that bookmarks stand for, which commas separate; null stands for no bookmark. Returns null
 * if one is malformed, or if they have several timelines.
 */
export function readBookmarks(text: string | null): ClientState | null {
  if (text === null) return unknownState;
  let { position, epochMs } = unknownState;
  for (const item of text.split(",")) {
    const bookmark = parseBookmark(item);
    if (bookmark === null) return null;
    if (bookmark.kind === "time") {
      epochMs = Math.max(epochMs ?? 0, bookmark.epochMs);
      continue;
    }
    if (position !== null && position.timeline !== bookmark.timeline) return null;
    if (position === null || position.lsn < bookmark.lsn) position = bookmark;
  }
  return { position, epochMs };
}

/** Returns the text of a bookmark. */
export function bookmarkText(bookmark: Bookmark): string {
  if (bookmark.kind === "time") return `t-${bookmark.epochMs}`;
  const { timeline, lsn } = bookmark;
  return `${hex(timeline)}-${hex(lsn).padStart(16, "0")}`;
}

/** Returns the bookmark of a time; null without one. */
export function timeText(epochMs: number | null): string | null {
  return epochMs === null ? null : bookmarkText({ kind: "time", epochMs });
}

function hex(number: number | bigint): string {
  return number.toString(16).toUpperCase();
}
