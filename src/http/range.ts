/**
 * The `Range` request header, whose unit is rows.
 *
 * @module
 */

/** Rows `first` to `last`, both counted; `last` is null when the range is open. */
export interface RangeHeader {
  readonly first: bigint;
  readonly last: bigint | null;
}

/** Reads `0-9` or `10-`; null for anything else, which is ignored. `last` may be below `first`. */
export function parseRange(header: string | null): RangeHeader | null {
  if (header === null) return null;
  const [whole, first, last] = /^([0-9]+)-([0-9]*)$/.exec(header) ?? [];
  if (whole === undefined || first === undefined) return null;
  return { first: BigInt(first), last: last ? BigInt(last) : null };
}

/** A decimal integer as a number; where it would not be exact, the nearest that is. */
export function exactInteger(digits: string): number {
  const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
  return Math.min(Math.max(Number(digits), MIN_SAFE_INTEGER), MAX_SAFE_INTEGER) + 0;
}
