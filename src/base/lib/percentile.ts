/** Percentiles of sorted numbers. @module */

/** Returns the value at a rank (nearest rank); null for an empty list. */
export function percentile(sorted: readonly number[], share: number): number | null {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  return value === undefined ? null : Math.round(value * 100) / 100;
}
