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
  readonly high: number;
  readonly low: number;
}

/** The key of the hash. */
export type HashKey = readonly [one: number, two: number];

/** Returns a random key. */
export function randomHashKey(): HashKey {
  const [one = 0, two = 0] = crypto.getRandomValues(new Uint32Array(2));
  return [one, two];
}

const noSalt: Hash64 = { high: 0, low: 0 };

/** Hashes texts with one key. */
export class SeededHash {
  readonly #one: number;
  readonly #two: number;

  constructor([one, two]: HashKey) {
    this.#one = one | 0;
    this.#two = two | 0;
  }

  /**
   * Returns the hash of a text behind a salt, which is the hash of another text. Two UTF-16 units make one
   * word. The words behind the text are its length, so that no text is the beginning of another.
   */
  hash(text: string, salt: Hash64 = noSalt): Hash64 {
    const { length } = text;
    let a = this.#one;
    let b = this.#two ^ 0xee;
    let c = 0x6c796765 ^ this.#one;
    let d = 0x74656462 ^ this.#two;
    let high = 0;
    // The words: salt, text, length; then the rounds of both halves of the result, without words.
    const textWords = length + 1 >>> 1;
    const lengthAt = 2 + textWords;
    const end = lengthAt + 1;
    for (let step = 0; step < end + 6; step++) {
      let word = 0;
      if (step < 2) word = step === 0 ? salt.high : salt.low;
      else if (step < lengthAt) {
        const at = 2 * (step - 2);
        word = text.charCodeAt(at) | (at + 1 < length ? text.charCodeAt(at + 1) << 16 : 0);
      } else if (step === lengthAt) word = length;
      else if (step === end) c ^= 0xee;
      else if (step === end + 3) {
        high = b ^ d;
        b ^= 0xdd;
      }
      d ^= word;
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
      a ^= word;
    }
    return { high: high >>> 0, low: (b ^ d) >>> 0 };
  }
}
