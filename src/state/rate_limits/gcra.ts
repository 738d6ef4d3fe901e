/** The generic cell rate algorithm (GCRA, ITU-T I.371), by which policies admit requests. It stores
 * a theoretical arrival time for each key. @module */

/** A policy in microseconds. */
export interface Rate {
  /** Time between two requests at the steady rate. */
  readonly interval: number;
  /** How far ahead of schedule a request may arrive: the time of `burst - 1` requests. */
  readonly tolerance: number;
}

export interface Decision {
  readonly isAdmitted: boolean;
  /** The theoretical arrival time to store if the request is charged. After a change of the rate, it
   * can be earlier than the stored time. Then a refused request stores it, too. */
  readonly arrival: number;
  /** How many further requests would be admitted now, after this one. */
  readonly remaining: number;
  /** Microseconds until `remaining` is higher by one. */
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

/** Decides about a request at the time `now`. `arrival` is the stored time of the key; 0 for a new key. */
export function decide({ interval, tolerance }: Rate, arrival: number, now: number): Decision {
  // After a reload with a shorter window, no key waits longer than after a whole burst.
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

/** Maximum number of keys in a generation. There are two generations. */
const maxKeys = 32_768;

/** Maximum characters of all keys in a generation. Keys can be long, because tokens are keys. */
const maxKeyCharacters = 8 * 1024 * 1024;

/** Stores arrival times of the most recently set keys: at least 32,768 and at most 65,536. Times
 * are in whole microseconds since its start. */
export class ArrivalTable {
  readonly #now: () => number;
  readonly #start: number;
  #times = new Map<string, number>();
  /** The previous generation of keys. */
  #earlier: ReadonlyMap<string, number> = new Map();
  #characters = 0;

  /** `now` returns milliseconds since any start, and never goes back. */
  constructor(now: () => number) {
    this.#now = now;
    this.#start = now();
  }

  /** Returns the microseconds since the start of the table, at least 1. */
  now(): number {
    return Math.floor((this.#now() - this.#start) * 1000) + 1;
  }

  /** Returns the arrival time of a key, or 0. */
  get(key: string): number {
    return this.#times.get(key) ?? this.#earlier.get(key) ?? 0;
  }

  /** Sets the arrival time of a key. The oldest keys are dropped if there is no room. */
  set(key: string, time: number): void {
    if (!this.#times.has(key)) this.#makeRoom(key.length);
    this.#times.set(key, time);
  }

  /** Starts a new generation. Keys are not deleted singly, because V8 searches past all deleted
   * keys of a map for the first one. */
  #makeRoom(characters: number): void {
    this.#characters += characters;
    if (this.#times.size < maxKeys && this.#characters <= maxKeyCharacters) return;
    this.#earlier = this.#times;
    this.#times = new Map();
    this.#characters = characters;
  }
}
