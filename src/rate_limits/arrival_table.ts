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

/** Dependencies of an {@linkcode ArrivalTable}. */
export interface ArrivalTableOptions {
  /** Milliseconds since any start; never goes back. */
  readonly now: () => number;
  /** Default: a random one. */
  readonly hashKey?: HashKey;
}

/** The table. Times are in whole microseconds since its start. */
export class ArrivalTable {
  /** Two words for each slot: fingerprint and high part of the time, low part of the time. */
  readonly #words = new Uint32Array(2 * slots);
  readonly #hash: SeededHash;
  readonly #now: () => number;
  #start: number;

  constructor({ now, hashKey = randomHashKey() }: ArrivalTableOptions) {
    this.#now = now;
    this.#hash = new SeededHash(hashKey);
    this.#start = now();
  }

  /** Returns the time, from 1 on. Clears the table when its times run out. */
  now(): number {
    const time = Math.floor((this.#now() - this.#start) * 1000) + 1;
    if (time < maxTime - maxAhead) return time;
    this.#words.fill(0);
    this.#start = this.#now();
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
