/** Arithmetic of the benchmark's figures. @module */

/** Returns the median; for an even count, the mean of the two middle numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Returns the geometric mean of ratios: the mean of 0.5 and 2 is 1. */
export function geometricMean(ratios: readonly number[]): number {
  const logarithms = ratios.map(Math.log).reduce((sum, each) => sum + each, 0);
  return Math.exp(logarithms / ratios.length);
}

/** Combines records of the same fields: takes the highest number of some fields, otherwise medians. */
export function summarize<Field extends string>(
  records: readonly Readonly<Record<Field, number>>[],
  highest: readonly Field[],
): Readonly<Record<Field, number>> {
  const fields = Object.keys(records[0]!) as Field[];
  const summary = fields.map((field) => {
    const numbers = records.map((record) => record[field]);
    return [field, highest.includes(field) ? Math.max(...numbers) : median(numbers)] as const;
  });
  return Object.fromEntries(summary) as Record<Field, number>;
}
