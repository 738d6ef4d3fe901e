/** The generic cell rate algorithm (GCRA, ITU-T I.371), by which policies admit requests, and the theoretical
 * arrival time of each key. @module */

/** A policy in microseconds. */
export interface Rate {
  /** Time between two requests at the steady rate. */
  readonly interval: number;
  /** How far ahead of time a request may arrive: the time of `burst - 1` requests. */
  readonly tolerance: number;
}

export interface Decision {
  readonly isAdmitted: boolean;
  /**
   * The theoretical arrival time to store if the request is charged. Also stored for a refused request
   * if it is earlier than the current one, which a previous rate has set.
   */
  readonly arrival: number;
  /** How many further requests are admitted at this moment, once this one is charged. */
  readonly remaining: number;
  /** Microseconds until one more than those is admitted. */
  readonly wait: number;
}

export function rateOf(
  { count, windowSeconds, burst }: {
    readonly count: number;
    readonly windowSeconds: number;
    readonly burst: number;
  },
): Rate {
  const interval = Math.max(1, Math.floor(windowSeconds * 1e6 / count));
  return { interval, tolerance: (burst - 1) * interval };
}

/** Decides about a request at `now`, of a key with this theoretical arrival time (0 for a new key). */
export function decide({ interval, tolerance }: Rate, arrival: number, now: number): Decision {
  // A reload may have made the window shorter: no key waits longer than after its whole burst.
  const earliest = Math.min(Math.max(arrival, now), now + tolerance + interval);
  const isAdmitted = earliest - now <= tolerance;
  const next = isAdmitted ? earliest + interval : earliest;
  const slack = tolerance + now - next;
  const remaining = slack < 0 ? 0 : Math.floor(slack / interval) + 1;
  return {
    isAdmitted,
    arrival: next,
    remaining,
    wait: next + remaining * interval - tolerance - now,
  };
}

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

  /** Returns the arrival time of a key, or 0. */
  get(key: string): number {
    return this.#times.get(key) ?? this.#earlier.get(key) ?? 0;
  }

  /** Sets the arrival time of a key. The oldest keys give way to a new one. */
  set(key: string, time: number): void {
    if (!this.#times.has(key)) this.#makeRoom(key.length);
    this.#times.set(key, time);
  }

  /** V8 searches for the first key of a map after all deleted keys, so no key is deleted. */
  #makeRoom(characters: number): void {
    this.#characters += characters;
    if (this.#times.size < maxKeys && this.#characters <= maxKeyCharacters) return;
    this.#earlier = this.#times;
    this.#times = new Map();
    this.#characters = characters;
  }
}
