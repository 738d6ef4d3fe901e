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
  const limit = last === null ? null : last - first + 1;
  return windowOf({ limit, offset: first > 0 ? first : null }, maxRows);
}

/** An embedded level's window. Values that make no sense are PostgreSQL's to refuse. */
export function windowOf(
  { limit, offset }: { readonly limit: number | null; readonly offset: number | null },
  maxRows: number | null,
): RowWindow {
  return {
    limit: integerText(maxRows === null ? limit : Math.min(limit ?? Infinity, maxRows)),
    offset: integerText(offset),
    asked: limit !== null || offset !== null,
  };
}

/** Digits, also where a number would print an exponent. */
function integerText(value: number | null): string | null {
  if (value === null) return null;
  return Number.isFinite(value) ? BigInt(Math.trunc(value)).toString() : beyondBigint(value);
}

function beyondBigint(value: number): string {
  return value < 0 ? "-9223372036854775809" : "9223372036854775808";
}
