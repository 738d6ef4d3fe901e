/** Arithmetic of the benchmark's figures. @module */

/** The middle of some numbers; of an even count, the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The mean of ratios: half as much and twice as much make 1. */
export function geometricMean(ratios: readonly number[]): number {
  const logarithms = ratios.map(Math.log).reduce((sum, each) => sum + each, 0);
  return Math.exp(logarithms / ratios.length);
}

/** One record for several of the same fields: medians, but of some fields the highest number. */
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
