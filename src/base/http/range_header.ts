/** The `Range` request header, whose unit is rows. @module */

/** Rows `first` to `last`, inclusive, counted from 0; `last` is null for an open range. */
export interface RangeHeader {
  readonly first: bigint;
  readonly last: bigint | null;
}

/**
 * Parses `0-9` or `10-`. Returns null for any other text, which the service ignores. `last` may be
 * below `first`.
 */
export function parseRange(header: string | null): RangeHeader | null {
  if (header === null) return null;
  const [whole, first, last] = /^([0-9]+)-([0-9]*)$/.exec(header) ?? [];
  if (whole === undefined || first === undefined) return null;
  return { first: BigInt(first), last: last ? BigInt(last) : null };
}

/** Returns a decimal integer as a number, limited to the safe integers. */
export function exactInteger(digits: string): number {
  const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
  return Math.min(Math.max(Number(digits), MIN_SAFE_INTEGER), MAX_SAFE_INTEGER) + 0;
}
