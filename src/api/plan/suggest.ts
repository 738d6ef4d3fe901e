/** Finds the most similar name for a hint, by edit distance. Among equal distances, shared letter
 * groups (n-grams) decide. @module */
import { distance } from "fastest-levenshtein";

/** Lengths of letter groups. The search tries them in this order until one has a result. */
const gramSizes = [3, 2] as const;

/**
 * Returns the candidate most similar to a query, in its original spelling; null if none scores
 * `minimum` (0 to 1) or more. A candidate that differs only in case scores 1. Other names must
 * share a letter group with the query.
 */
export function suggest(
  query: string,
  candidates: readonly string[],
  minimum: number,
): string | null {
  const lower = query.toLowerCase();
  const similar = candidates
    .map((name) => ({ name, lower: name.toLowerCase() }))
    .map((each) => ({ ...each, score: similarity(lower, each.lower, minimum) }))
    .filter(({ score }) => score > 0 && score >= minimum)
    .sort((a, b) => b.score - a.score);
  if (similar[0]?.score === 1) return similar[0].name;
  for (const size of gramSizes) {
    const grams = gramsOf(lower, size);
    let best: { readonly name: string; readonly score: number; readonly cosine: number } | null =
      null;
    for (const { name, lower, score } of similar) {
      if (best !== null && score < best.score) break;
      const alike = cosine(grams, gramsOf(lower, size));
      if (alike > (best?.cosine ?? 0)) best = { name, score, cosine: alike };
    }
    if (best !== null) return best.name;
  }
  return null;
}

/** Returns one minus the share of differing letters. Returns 0 if the lengths alone exclude `minimum`. */
function similarity(a: string, b: string, minimum: number): number {
  const longer = Math.max(a.length, b.length);
  if (Math.min(a.length, b.length) < minimum * longer) return 0;
  return a === b ? 1 : 1 - distance(a, b) / longer;
}

/** Counts the substrings of one length. Only letters, digits, white space and commas are kept. */
function gramsOf(lower: string, size: number): ReadonlyMap<string, number> {
  const text = `-${lower.replaceAll(/[^\p{L}\p{N}\s,]+/gu, "")}-`;
  const counts = new Map<string, number>();
  for (let start = 0; start + size <= text.length; start++) {
    const gram = text.slice(start, start + size);
    counts.set(gram, (counts.get(gram) ?? 0) + 1);
  }
  return counts;
}

/** Returns the cosine of two vectors, not divided by the length of the query's vector. That length
 * is the same for all candidates. */
function cosine(query: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  let product = 0;
  let squares = 0;
  for (const [gram, count] of other) {
    product += count * (query.get(gram) ?? 0);
    squares += count * count;
  }
  return product / Math.sqrt(squares);
}
