/** Suggests a valid name for a misspelt one. @module */
import { distance } from "fastest-levenshtein";

/** In characters. Longer words get no suggestion, which bounds the time. */
const maxWordLength = 64;

/**
 * Returns the candidate with the smallest edit distance to `word`. Returns null if the distance
 * exceeds both two edits and a third of the word. Letter case decides between equal candidates.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > maxWordLength) return null;
  const target = word.toLowerCase();
  let best: string | null = null;
  let fewest = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = editsBetween(target, candidate.toLowerCase());
    const isNearer = edits < fewest ||
      edits === fewest && best !== null && editsBetween(word, candidate) < editsBetween(word, best);
    if (isNearer) [best, fewest] = [candidate, edits];
  }
  return best;
}

/** Returns the edit distance. A swap of two adjacent letters is one edit. */
function editsBetween(word: string, candidate: string): number {
  const edits = distance(word, candidate);
  if (edits !== 2 || word.length !== candidate.length) return edits;
  const at = Array.from(word).findIndex((letter, index) => letter !== candidate[index]);
  const swapped = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2);
  return swapped === candidate ? 1 : edits;
}
