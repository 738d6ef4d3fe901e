/** The theoretical arrival time of each key of the generic cell rate algorithm. @module */

/** Keys of one generation, of which there are two. */
const maxKeys = 32_768;

/** Characters of the keys of one generation: tokens may be long. */
const maxKeyCharacters = 8 * 1024 * 1024;

/**
 * Holds the times of the keys that were set last: at least 32,768 and at most 65,536. Times are in whole
 * microseconds since its start.
 */
export class ArrivalTable {
  readonly #now: () => number;
  readonly #start: number;
  #times = new Map<string, number>();
  /** Times of keys that were set before those. */
  #earlier: ReadonlyMap<string, number> = new Map();
  #characters = 0;

  /** `now` returns milliseconds since any start, and never goes back. */
  constructor(now: () => number) {
    this.#now = now;
    this.#start = now();
  }

  /** Returns the time, from 1 on. */
  now(): number {
    return Math.floor((this.#now() - this.#start) * 1000) + 1;
  }

  /** Returns the arrival time of a key; 0 without one. */
  get(key: string): number {
    return this.#times.get(key) ?? this.#earlier.get(key) ?? 0;
  }

  /** Sets the arrival time of a key. The oldest keys give way to a new one. */
  set(key: string, time: number): void {
    if (!this.#times.has(key)) this.#makeRoom(key.length);
    this.#times.set(key, time);
  }

  /** V8 looks for the first key of a map behind all that were deleted, so that none is deleted. */
  #makeRoom(characters: number): void {
    this.#characters += characters;
    if (this.#times.size < maxKeys && this.#characters <= maxKeyCharacters) return;
    this.#earlier = this.#times;
    this.#times = new Map();
    this.#characters = characters;
  }
}
