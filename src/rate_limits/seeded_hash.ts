/**
 * HalfSipHash-1-3 with 64 bits of output: a keyed hash of texts. Without the key, a client cannot find
 * texts that collide.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, and its 32-bit variant
 * HalfSipHash in the reference implementation (https://github.com/veorq/SipHash).
 *
 * @module
 */

/** 64 bits as two whole numbers of 32 bits. */
export interface Hash64 {
  high: number;
  low: number;
}

/** The key of the hash. */
export type HashKey = readonly [one: number, two: number];

/** Returns a random key. */
export function randomHashKey(): HashKey {
  const [one = 0, two = 0] = crypto.getRandomValues(new Uint32Array(2));
  return [one, two];
}

/** Hashes texts with one key. Its methods reuse their state, so that a hash allocates no memory. */
export class SeededHash {
  readonly #one: number;
  readonly #two: number;
  #a = 0;
  #b = 0;
  #c = 0;
  #d = 0;

  constructor([one, two]: HashKey) {
    this.#one = one | 0;
    this.#two = two | 0;
  }

  /** Writes the hash of a text to `result`. Two UTF-16 units make one word. */
  hash(text: string, result: Hash64): void {
    const { length } = text;
    this.#a = this.#one;
    this.#b = this.#two ^ 0xee;
    this.#c = 0x6c796765 ^ this.#one;
    this.#d = 0x74656462 ^ this.#two;
    const even = length & ~1;
    for (let at = 0; at < even; at += 2) {
      this.#absorb(text.charCodeAt(at) | text.charCodeAt(at + 1) << 16);
    }
    // The last word holds the length, so that no text is the beginning of another.
    const last = even === length ? 0 : text.charCodeAt(even);
    this.#absorb(last | length << 16);
    if (length > 0xffff) this.#absorb(length >>> 16);
    this.#c ^= 0xee;
    for (let round = 0; round < 3; round++) this.#round();
    result.high = (this.#b ^ this.#d) >>> 0;
    this.#b ^= 0xdd;
    for (let round = 0; round < 3; round++) this.#round();
    result.low = (this.#b ^ this.#d) >>> 0;
  }

  #absorb(word: number): void {
    this.#d ^= word;
    this.#round();
    this.#a ^= word;
  }

  #round(): void {
    let [a, b, c, d] = [this.#a, this.#b, this.#c, this.#d];
    a = a + b | 0;
    b = (b << 5 | b >>> 27) ^ a;
    a = a << 16 | a >>> 16;
    c = c + d | 0;
    d = (d << 8 | d >>> 24) ^ c;
    a = a + d | 0;
    d = (d << 7 | d >>> 25) ^ a;
    c = c + b | 0;
    b = (b << 13 | b >>> 19) ^ c;
    c = c << 16 | c >>> 16;
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
  }
}
