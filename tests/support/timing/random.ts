/** Random numbers that a seed determines, so that a run with random choices can be repeated.
 * @module */

/** A source of random choices. */
export interface Random {
  /** Returns an integer from 0 to `end - 1`. */
  below(end: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** Returns a source whose choices depend on the seed alone (the generator is mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return { below, pick: (items) => items[below(items.length)]! };
}
