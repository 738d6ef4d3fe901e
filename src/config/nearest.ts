/**
 * Finds the known name that a misspelt one was probably meant to be.
 *
 * @module
 */
import { distance } from "fastest-levenshtein";

/** Longer words are no slip of the finger. */
const maxWordLength = 64;

/**
 * Returns the candidate with the smallest edit distance to `word`, or null when none is near: more
 * than two edits and more than a third of the word away. Letter case does not count.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > maxWordLength) return null;
  const target = word.toLowerCase();
  let best: string | null = null;
  let fewest = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = distance(target, candidate.toLowerCase());
    if (edits < fewest) [best, fewest] = [candidate, edits];
  }
  return best;
}
