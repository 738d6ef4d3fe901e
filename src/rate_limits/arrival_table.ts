/**
 * A table of fixed size that holds the theoretical arrival time (TAT) of each key of the generic cell
 * rate algorithm (GCRA, ITU-T I.371).
 *
 * A key has two slots of 8 bytes: 20 bits of fingerprint and 44 bits of time. If both are taken, the
 * earlier time gives way. So a flood of keys can only loosen the limits of keys that gave way, and the
 * memory never grows.
 *
 * @module
 */
import { ThreadLock } from "../lib/thread_lock.ts";
import { type Hash64, type HashKey, randomHashKey, SeededHash } from "./seeded_hash.ts";

const slots = 65_536;
const slotMask = slots - 1;
const fingerprintBits = 20;
const fingerprintMask = 2 ** fingerprintBits - 1;
const timeHighBits = 32 - fingerprintBits;
const timeHighMask = 2 ** timeHighBits - 1;
const two32 = 2 ** 32;

/** Times from this one on do not fit. It is 203 days. */
const maxTime = 2 ** 44;

/** Longest time that an arrival may lie ahead: see `maxWindowSeconds` of the grammar, and one more. */
const maxAhead = 2 * 30 * 86_400 * 1e6;

/** Memory that the tables of several threads share. */
export interface SharedArrivals {
  readonly buffer: SharedArrayBuffer;
  readonly hashKey: HashKey;
}

/** Bytes before the slots: the lock, and two times. */
const headBytes = 24;

/** Makes memory for tables that count together. */
export function shareArrivals(): SharedArrivals {
  const bytes = headBytes + 2 * slots * Uint32Array.BYTES_PER_ELEMENT;
  return { buffer: new SharedArrayBuffer(bytes), hashKey: randomHashKey() };
}

/** Returns the word of the lock of shared memory. */
export function arrivalLock({ buffer }: SharedArrivals): Int32Array {
  return new Int32Array(buffer, 0, 1);
}

/** Dependencies of an {@linkcode ArrivalTable}. */
export interface ArrivalTableOptions {
  /** Milliseconds since any start; never goes back. With shared memory, all threads have one start. */
  readonly now: () => number;
  /** Default: a random one, or that of the shared memory. */
  readonly hashKey?: HashKey;
  /** Memory that other threads use, too, and a number above 0 of this thread. Default: none. */
  readonly shared?: { readonly arrivals: SharedArrivals; readonly thread: number } | null;
}

/** The table. Times are in whole microseconds since its start. */
export class ArrivalTable {
  /** Two words for each slot: fingerprint and high part of the time, low part of the time. */
  readonly #words: Uint32Array;
  /** Start of the times, and the latest time, in milliseconds. The clocks of threads differ a little. */
  readonly #times: Float64Array;
  readonly #hash: SeededHash;
  readonly #now: () => number;
  readonly #lock: ThreadLock | null;

  constructor({ now, hashKey, shared = null }: ArrivalTableOptions) {
    this.#now = now;
    this.#hash = new SeededHash(hashKey ?? shared?.arrivals.hashKey ?? randomHashKey());
    if (shared === null) {
      this.#words = new Uint32Array(2 * slots);
      this.#times = Float64Array.of(now(), now());
      this.#lock = null;
    } else {
      const { arrivals: { buffer }, thread } = shared;
      this.#words = new Uint32Array(buffer, headBytes);
      this.#times = new Float64Array(buffer, 8, 2);
      this.#lock = new ThreadLock(arrivalLock(shared.arrivals), thread);
    }
  }

  /** Keeps other threads from the table until {@linkcode unlock}; nothing may wait in between. */
  lock(): void {
    this.#lock?.take();
  }

  unlock(): void {
    this.#lock?.release();
  }

  /** Returns the time, from 1 on. Clears the table when its times run out. */
  now(): number {
    const latest = this.#times[1] = Math.max(this.#now(), this.#times[1]!);
    const time = Math.floor((latest - this.#times[0]!) * 1000) + 1;
    if (time < maxTime - maxAhead) return time;
    this.#words.fill(0);
    this.#times[0] = latest;
    return 1;
  }

  /** Returns the hash that stands for a text in the methods below. `salt` is the hash of another text. */
  hash(text: string, salt?: Hash64): Hash64 {
    return this.#hash.hash(text, salt);
  }

  /** Returns the arrival time of a key; 0 without one. */
  get(key: Hash64): number {
    const slot = this.#slotOf(key);
    return slot < 0 ? 0 : this.#timeAt(slot);
  }

  /** Sets the arrival time of a key. */
  set(key: Hash64, time: number): void {
    const found = this.#slotOf(key);
    const slot = found >= 0 ? found : this.#earlierSlot(key);
    const high = Math.floor(time / two32) & timeHighMask;
    this.#words[2 * slot] = ((key.high & fingerprintMask) << timeHighBits | high) >>> 0;
    this.#words[2 * slot + 1] = time % two32;
  }

  /** Returns the slot that holds a key; -1 if none does. */
  #slotOf({ high, low }: Hash64): number {
    const fingerprint = high & fingerprintMask;
    const one = low & slotMask;
    if (this.#holds(one, fingerprint)) return one;
    const two = low >>> 16;
    return this.#holds(two, fingerprint) ? two : -1;
  }

  #holds(slot: number, fingerprint: number): boolean {
    return this.#words[2 * slot]! >>> timeHighBits === fingerprint && this.#timeAt(slot) > 0;
  }

  #earlierSlot({ low }: Hash64): number {
    const [one, two] = [low & slotMask, low >>> 16];
    return this.#timeAt(two) < this.#timeAt(one) ? two : one;
  }

  #timeAt(slot: number): number {
    const high = this.#words[2 * slot]! & timeHighMask;
    return high * two32 + this.#words[2 * slot + 1]!;
  }
}
