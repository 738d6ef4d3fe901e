/**
 * Finds the name that a misspelt one probably means, for the hints of errors: candidates that share
 * letter groups are ranked by them, the best are compared by edit distance.
 *
 * @module
 */
import { distance } from "fastest-levenshtein";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";

/**
 * Finds the candidate that is most similar to a query, in its original spelling; null when none
 * scores `minimum` (between 0 and 1) or more. A candidate that differs only in case scores 1.
 */
export type Suggester = (query: string, minimum: number) => string | null;

/** Searches a list once. Where a list is searched again and again, keep a {@linkcode makeSuggester}. */
export function suggest(
  query: string,
  candidates: readonly string[],
  minimum: number,
): string | null {
  return makeSuggester(candidates)(query, minimum);
}

/** Makes a search over a list; indexes are built when a query first needs them. */
export function makeSuggester(candidates: readonly string[]): Suggester {
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

/** Searches over the names of one schema. */
export interface NameSuggesters {
  readonly relations: (schema: string) => Suggester;
  readonly routines: (schema: string) => Suggester;
  /** Relations that have relationships. */
  readonly relatedOrigins: (schema: string) => Suggester;
}

/**
 * Makes searches over the names in a schema cache, with indexes that live as long as it does: to be
 * asked for as `cache.derived(nameSuggesters)`.
 */
export function nameSuggesters(cache: SchemaCache): NameSuggesters {
  return {
    relations: oncePerSchema(cache.relationNames),
    routines: oncePerSchema(cache.routineNames),
    relatedOrigins: oncePerSchema(cache.relatedOrigins),
  };
}

function oncePerSchema(
  names: (schema: string) => readonly string[],
): (schema: string) => Suggester {
  const suggesters = new Map<string, Suggester>();
  return (schema) => {
    const suggester = suggesters.get(schema) ?? makeSuggester(names(schema));
    suggesters.set(schema, suggester);
    return suggester;
  };
}

/** Tried in this order; the first that gives a result decides. */
const gramSizes = [3, 2] as const;

/** How many of the candidates with the most alike letter groups are compared by edit distance. */
const maxCompared = 50;

interface CandidateIndex {
  readonly lower: readonly string[];
  /** Original spelling by lower case; the first of several. */
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

/** Which candidates hold a group of letters how often. */
interface GramIndex {
  readonly postings: ReadonlyMap<string, readonly Posting[]>;
  /** Length of each candidate's vector of counts. */
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

/** Counts the substrings of one length, with only letters, digits, white space and commas kept. */
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
 * Ranks the candidates that share a group with the query by the cosine of the angle between their
 * vectors of counts, and returns the best. (The query's own magnitude divides all of them alike.)
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

/** The candidate with the highest score, the earlier of equals; undefined if all are below. */
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

/** One minus the share of letters to change; texts too unlike in length to reach `minimum` score 0. */
function similarity(a: string, b: string, minimum: number): number {
  const longer = Math.max(a.length, b.length);
  if (Math.min(a.length, b.length) < minimum * longer) return 0;
  return 1 - distance(a, b) / longer;
}
