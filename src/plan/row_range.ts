/**
 * Windows of levels, with the configured maximum of rows.
 *
 * @module
 */
import type { Window } from "../request/query_types.ts";
import type { RowRange } from "./read_node.ts";

/** All rows. */
export const unlimited: RowRange = { limit: null, offset: null, isRequested: false };

/** The root's window: never more than `maxRows` rows, counted from its first. */
export function rootRange({ first, last }: Window, maxRows: number | null): RowRange {
  const limit = last === null ? null : last - first + 1n;
  return embedRange({ limit, offset: first > 0n ? first : null }, maxRows);
}

/** An embedded level's window. Values that make no sense are PostgreSQL's to refuse. */
export function embedRange(
  { limit, offset }: { readonly limit: bigint | null; readonly offset: bigint | null },
  maxRows: number | null,
): RowRange {
  return {
    limit: lowerLimit(limit, maxRows)?.toString() ?? null,
    offset: offset?.toString() ?? null,
    isRequested: limit !== null || offset !== null,
  };
}

/** The lower of both; null is no limit. */
function lowerLimit(limit: bigint | null, maxRows: number | null): bigint | number | null {
  return maxRows === null || (limit !== null && limit < maxRows) ? limit : maxRows;
}
