/** Finds the most similar name for the hints of errors. Shared letter groups (n-grams) rank the
 * candidates; edit distance compares the best ones. @module */
import { distance } from "fastest-levenshtein";

/**
 * Finds the candidate most similar to a query and returns it in its original spelling. Returns null
 * when no candidate scores `minimum` (0 to 1) or more. A candidate that differs only in case scores
 * 1.
 */
type Suggester = (query: string, minimum: number) => string | null;

/** Searches by list, whose indexes live as long as the list. */
const suggesters = new WeakMap<readonly string[], Suggester>();

/** Searches a list, such as one of a schema cache. */
export function suggest(
  query: string,
  candidates: readonly string[],
  minimum: number,
): string | null {
  const suggester = suggesters.get(candidates) ?? makeSuggester(candidates);
  suggesters.set(candidates, suggester);
  return suggester(query, minimum);
}

/** The first query that needs an index builds it. */
function makeSuggester(candidates: readonly string[]): Suggester {
  let entries: CandidateIndex | undefined;
  const indexes = new Map<number, GramIndex>();
  return (query, minimum) => {
    entries ??= indexCandidates(candidates);
    const lowerQuery = query.toLowerCase();
    const exact = entries.exact.get(lowerQuery);
    if (exact !== undefined) return exact;
    if (entries.maxLength < lowerQuery.length * minimum) return null;
    for (const size of gramSizes) {
      const index = indexes.get(size) ?? indexGrams(entries.lower, size);
      indexes.set(size, index);
      const found = mostSimilar(
        lowerQuery,
        minimum,
        entries.lower,
        rankByGrams(gramsOf(lowerQuery, size), index),
      );
      if (found !== undefined) return candidates[found]!;
    }
    return null;
  };
}

/** Lengths of letter groups. The search tries them in this order until one gives a result. */
const gramSizes = [3, 2] as const;

/** Maximum candidates that are compared by edit distance, which is the expensive step. */
const maxCompared = 50;

interface CandidateIndex {
  readonly lower: readonly string[];
  /** Original spelling by lower case; the first one of duplicates. */
  readonly exact: ReadonlyMap<string, string>;
  /** Length of the longest candidate. */
  readonly maxLength: number;
}

function indexCandidates(candidates: readonly string[]): CandidateIndex {
  const lower = candidates.map((candidate) => candidate.toLowerCase());
  const exact = new Map<string, string>();
  lower.forEach((text, index) => {
    if (!exact.has(text)) exact.set(text, candidates[index]!);
  });
  return {
    lower,
    exact,
    maxLength: lower.reduce((max, { length }) => Math.max(max, length), 0),
  };
}

/** An inverted index: the candidates that contain each letter group, and how often. */
interface GramIndex {
  readonly postings: ReadonlyMap<string, readonly Posting[]>;
  /** Euclidean length of each candidate's vector of counts. */
  readonly magnitudes: readonly number[];
}

interface Posting {
  readonly candidate: number;
  readonly count: number;
}

function indexGrams(texts: readonly string[], size: number): GramIndex {
  const postings = new Map<string, Posting[]>();
  const magnitudes = texts.map((text, candidate) => {
    const grams = gramsOf(text, size);
    for (const [gram, count] of grams) {
      const list = postings.get(gram);
      if (list === undefined) postings.set(gram, [{ candidate, count }]);
      else list.push({ candidate, count });
    }
    return magnitude(grams);
  });
  return { postings, magnitudes };
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

function magnitude(grams: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of grams.values()) sum += count * count;
  return Math.sqrt(sum);
}

/**
 * Ranks the candidates by cosine similarity of their counts and returns the best. The query's own
 * length scales all scores equally, so it is left out.
 */
function rankByGrams(grams: ReadonlyMap<string, number>, index: GramIndex): readonly number[] {
  const products = new Map<number, number>();
  for (const [gram, queryCount] of grams) {
    for (const { candidate, count } of index.postings.get(gram) ?? []) {
      products.set(candidate, (products.get(candidate) ?? 0) + queryCount * count);
    }
  }
  return Array.from(
    products,
    ([candidate, product]) => ({ candidate, cosine: product / index.magnitudes[candidate]! }),
  )
    .sort((a, b) => b.cosine - a.cosine)
    .slice(0, maxCompared)
    .map(({ candidate }) => candidate);
}

/**
 * Returns the candidate with the highest score, the first of equals; undefined if all score below
 * `minimum`.
 */
function mostSimilar(
  lowerQuery: string,
  minimum: number,
  texts: readonly string[],
  candidates: readonly number[],
): number | undefined {
  let best: number | undefined;
  let bestScore = -1;
  for (const candidate of candidates) {
    const score = similarity(lowerQuery, texts[candidate]!, minimum);
    if (score >= minimum && score > bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

/**
 * Returns one minus the share of letters that differ. Texts whose lengths rule out `minimum` score
 * 0.
 */
function similarity(a: string, b: string, minimum: number): number {
  const longer = Math.max(a.length, b.length);
  if (Math.min(a.length, b.length) < minimum * longer) return 0;
  return 1 - distance(a, b) / longer;
}
