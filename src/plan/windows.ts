/**
 * Windows of levels, with the configured maximum of rows.
 *
 * @module
 */
import type { Window } from "../request/query_types.ts";
import type { RowWindow } from "./read_node.ts";

/** All rows. */
export const everything: RowWindow = { limit: null, offset: null, asked: false };

/** The root's window: never more than `maxRows` rows, counted from its first. */
export function rootWindow({ first, last }: Window, maxRows: number | null): RowWindow {
  const limit = last === null ? null : last - first + 1n;
  return windowOf({ limit, offset: first > 0n ? first : null }, maxRows);
}

/** An embedded level's window. Values that make no sense are PostgreSQL's to refuse. */
export function windowOf(
  { limit, offset }: { readonly limit: bigint | null; readonly offset: bigint | null },
  maxRows: number | null,
): RowWindow {
  return {
    limit: capped(limit, maxRows)?.toString() ?? null,
    offset: offset?.toString() ?? null,
    asked: limit !== null || offset !== null,
  };
}

/** The lower of both; null is no limit. */
function capped(limit: bigint | null, maxRows: number | null): bigint | number | null {
  return maxRows === null || (limit !== null && limit < maxRows) ? limit : maxRows;
}
