/** Positions in the write-ahead log, and the SQL that reads them. Source: PostgreSQL documentation,
 * "Backup Control Functions" and "WAL Internals". @module */
import type { ResultColumns, Statement, WalPosition } from "./transaction.ts";
import { compile, param, sql } from "../base/sql/fragment.ts";
import { raise } from "../base/sql/raise.ts";

/**
 * Reads the end of the WAL on a primary; on a standby, the positions of replay and of receipt.
 *
 * On a primary, a commit is in the WAL before other transactions see it, so the position covers
 * every earlier snapshot. A standby shows a commit during its replay, slightly before its replay
 * position covers it.
 */
export const positionStatement: Statement = {
  text:
    "select case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn() " +
    "else pg_catalog.pg_current_wal_insert_lsn() end, " +
    "case when not pg_catalog.pg_is_in_recovery() " +
    "then pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) end, " +
    "pg_catalog.current_setting('wal_block_size'), " +
    "pg_catalog.pg_size_bytes(pg_catalog.current_setting('wal_segment_size')), " +
    "pg_catalog.pg_last_wal_receive_lsn()",
  params: [],
  use: "rows",
  isShared: true,
};

const isReplayed = sql`case when pg_catalog.pg_is_in_recovery()
then coalesce(pg_catalog.pg_last_wal_replay_lsn() >= ${param("")}::pg_catalog.pg_lsn, false)
else true end`;

const checkText = compile(
  sql`select case when not (${isReplayed}) then ${raise(sql`'position'`)} end`,
).text;

/** Returns a statement that fails with the error `position` if a standby has not replayed the
 * minimum. A promoted server passes, because it has replayed everything. */
export function positionCheck(min: bigint): Statement {
  return { text: checkText, params: [lsnText(min)], use: "none", isShared: true };
}

/** Returns the position in a row of {@linkcode positionStatement}; null if the server has no
 * position. */
export function readPosition(row: ResultColumns): WalPosition | null {
  const [lsnText = null, file = null, blockSize = null, segmentSize = null, received = null] = row;
  const lsn = lsnText === null ? null : parseLsn(lsnText);
  if (lsn === null) return null;
  if (file === null) return { lsn, shownLsn: shownBy(lsn, received), timeline: null };
  const end = recordEnd(lsn, { block: sizeOf(blockSize), segment: sizeOf(segmentSize) });
  return { lsn: end, shownLsn: end, timeline: timelineOf(file) };
}

/** Returns a position that covers everything that a standby shows. While the standby has more to
 * replay, the position is within the next record. */
function shownBy(replayed: bigint, receivedText: string | null): bigint {
  const received = receivedText === null ? null : parseLsn(receivedText);
  return received !== null && received > replayed ? replayed + 1n : replayed;
}

/** Parses `0/47BFAF8`, two numbers of 32 bits. Returns null for other texts. */
export function parseLsn(text: string): bigint | null {
  const [, high, low] = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text) ?? [];
  if (high === undefined) return null;
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

export function lsnText(lsn: bigint): string {
  const hex = (part: bigint) => part.toString(16).toUpperCase();
  return `${hex(lsn >> 32n)}/${hex(lsn & 0xffff_ffffn)}`;
}

/** Bytes of the header of a page, and of the longer header of a segment's first page. */
const [pageHeaderBytes, segmentHeaderBytes] = [24n, 40n] as const;

/** Returns the end of the last record before a position. No record ends in a page header, so an
 * idle standby never reaches a position there. */
export function recordEnd(
  lsn: bigint,
  { block, segment }: { readonly block: bigint; readonly segment: bigint },
): bigint {
  if (lsn % segment === segmentHeaderBytes) return lsn - segmentHeaderBytes;
  return lsn % block === pageHeaderBytes ? lsn - pageHeaderBytes : lsn;
}

/** Parses a size in bytes. Returns a size above any position for an unreadable text. */
function sizeOf(text: string | null): bigint {
  return text !== null && /^[1-9]\d*$/.test(text) ? BigInt(text) : 1n << 64n;
}

/** Returns the timeline, which is the first eight digits of the name of a WAL file. */
function timelineOf(file: string): number | null {
  return /^[0-9A-F]{24}$/i.test(file) ? parseInt(file.slice(0, 8), 16) : null;
}

/**
 * A position that a client has written or seen. The client sends its text with its next read.
 *
 * ```abnf
 * Bookmark = 1*8HEXDIG "-" 16HEXDIG   ; timeline and position in the write-ahead log
 * ```
 */
export interface Bookmark {
  readonly timeline: number;
  readonly lsn: bigint;
}

/** Returns the bookmark in a text; null for another text. */
export function parseBookmark(text: string): Bookmark | null {
  const [, timeline, lsn] = /^([0-9a-f]{1,8})-([0-9a-f]{16})$/i.exec(text) ?? [];
  if (timeline === undefined) return null;
  return { timeline: parseInt(timeline, 16), lsn: BigInt(`0x${lsn}`) };
}

/** Returns the highest bookmark of a list; null if one is malformed, or if timelines differ. */
export function readBookmarks(text: string): Bookmark | null {
  let highest: Bookmark | null = null;
  for (const item of text.split(",")) {
    const bookmark = parseBookmark(item);
    if (bookmark === null || (highest ?? bookmark).timeline !== bookmark.timeline) return null;
    if (highest === null || highest.lsn < bookmark.lsn) highest = bookmark;
  }
  return highest;
}

export function bookmarkText({ timeline, lsn }: Bookmark): string {
  const hex = (number: number | bigint) => number.toString(16).toUpperCase();
  return `${hex(timeline)}-${hex(lsn).padStart(16, "0")}`;
}
