/** Bytes that are written one after the other, outside of the heap. @module */

const quote = 0x22;
const backslash = 0x5c;
const initialCapacity = 1024;
/** A byte of a string takes at most six in JSON: `\u001f`. */
const maxEscapeBytes = 6;
/** Up to this many bytes are copied one by one, which is faster. */
const shortCopy = 64;

/** Collects bytes until they are taken. */
export class ByteWriter {
  #bytes = new Uint8Array(initialCapacity);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Gives what was written since the last call; valid until something is written again. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }

  byte(code: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = code;
  }

  /** Writes the bytes between two positions as they are. */
  bytes(source: Uint8Array, start = 0, end = source.length): void {
    this.#reserve(end - start);
    if (end - start > shortCopy) {
      this.#bytes.set(source.subarray(start, end), this.#length);
      this.#length += end - start;
    } else {
      const bytes = this.#bytes;
      let length = this.#length;
      for (let at = start; at < end; at++) bytes[length++] = source[at]!;
      this.#length = length;
    }
  }

  /** Writes the UTF-8 between two positions as it stands inside of a JSON string. */
  jsonText(source: Uint8Array, start: number, end: number): void {
    this.#reserve((end - start) * maxEscapeBytes);
    const bytes = this.#bytes;
    let length = this.#length;
    for (let at = start; at < end; at++) {
      const code = source[at]!;
      if (isLiteral[code] === 1) bytes[length++] = code;
      else length = writeEscape(bytes, length, code);
    }
    this.#length = length;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** 1 for bytes that stand for themselves in a JSON string. */
const isLiteral = Uint8Array.from(
  { length: 256 },
  (_, code) => code >= 0x20 && code !== quote && code !== backslash ? 1 : 0,
);

/** Characters with a letter escape in JSON: backspace, tab, line feed, form feed, carriage return. */
const letters: ReadonlyMap<number, number> = new Map([
  [quote, quote],
  [backslash, backslash],
  [0x08, 0x62],
  [0x09, 0x74],
  [0x0a, 0x6e],
  [0x0c, 0x66],
  [0x0d, 0x72],
]);

/** Writes a character below U+0080 as an escape; returns where it ends. */
function writeEscape(bytes: Uint8Array, start: number, code: number): number {
  let at = start;
  bytes[at++] = backslash;
  const letter = letters.get(code);
  if (letter !== undefined) {
    bytes[at++] = letter;
    return at;
  }
  for (const digit of [0x75, 0x30, 0x30, hexDigit(code >> 4), hexDigit(code & 15)]) {
    bytes[at++] = digit;
  }
  return at;
}

function hexDigit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value;
}
