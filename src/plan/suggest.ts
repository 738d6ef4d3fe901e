/** Finds the most similar name for the hints of errors. @module */
import { distance } from "fastest-levenshtein";

/**
 * Returns the candidate most similar to a query, the first of equals; null if none scores `minimum` (0 to 1).
 * The score is one minus the share of letters that differ, and 0 for texts that share no pair of letters.
 * Upper and lower case count as equal.
 */
export function suggest(
  query: string,
  candidates: readonly string[],
  minimum: number,
): string | null {
  const lower = query.toLowerCase();
  let pairs: ReadonlySet<string> | undefined;
  let best: string | null = null;
  let bestScore = -1;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    const score = similarity(lower, other, minimum);
    if (score < minimum || score <= bestScore) continue;
    pairs ??= pairsOf(lower);
    if (pairs.isDisjointFrom(pairsOf(other))) continue;
    [best, bestScore] = [candidate, score];
  }
  return best;
}

/** Texts whose lengths rule out `minimum` score 0, so a long query takes no time. */
function similarity(a: string, b: string, minimum: number): number {
  const longer = Math.max(a.length, b.length);
  if (Math.min(a.length, b.length) < minimum * longer) return 0;
  return 1 - distance(a, b) / longer;
}

/** Counts letters, digits, white space and commas only, between hyphens. */
function pairsOf(lower: string): ReadonlySet<string> {
  const text = `-${lower.replaceAll(/[^\p{L}\p{N}\s,]+/gu, "")}-`;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}
