/**
 * Suggests a valid name for a misspelt one.
 *
 * @module
 */
import { distance } from "fastest-levenshtein";

/** In characters. Longer words get no suggestion, which bounds the time. */
const maxWordLength = 64;

/**
 * Returns the candidate with the smallest edit distance to `word`, or null if the
 * smallest exceeds two edits and a third of the word. Letter case decides between equal candidates.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > maxWordLength) return null;
  const target = word.toLowerCase();
  let best: string | null = null;
  let fewest = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = distance(target, candidate.toLowerCase());
    const isNearer = edits < fewest ||
      edits === fewest && best !== null && distance(word, candidate) < distance(word, best);
    if (isNearer) [best, fewest] = [candidate, edits];
  }
  return best;
}
