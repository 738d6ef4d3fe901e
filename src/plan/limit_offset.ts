/**
 * Row ranges (LIMIT and OFFSET) of nodes, within `db-max-rows`.
 *
 * @module
 */
import type { RowBounds } from "../request/query_types.ts";
import type { RowRange } from "./read_node.ts";

/** All rows. */
export const unlimited: RowRange = { limit: null, offset: null, isRequested: false };

/** Returns the range of the root, limited to `maxRows` rows. */
export function rootRange({ first, last }: RowBounds, maxRows: number | null): RowRange {
  const limit = last === null ? null : last - first + 1n;
  return embedRange({ limit, offset: first > 0n ? first : null }, maxRows);
}

/** Returns the range of an embed, limited to `maxRows` rows. PostgreSQL reports invalid values. */
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

/** Returns the lower limit; null means no limit. */
function lowerLimit(limit: bigint | null, maxRows: number | null): bigint | number | null {
  return maxRows === null || (limit !== null && limit < maxRows) ? limit : maxRows;
}
