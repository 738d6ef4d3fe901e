/** Cuts the text of a JSON array of rows into arrays of about 1 MiB. @module */

/** An array is cut behind the first row that ends beyond this many bytes. */
const pieceBytes = 1024 * 1024;
/** Two arrays are on their way to PostgreSQL while the next one is made. */
const buffers = 3;
/** Buffers that a long row has enlarged beyond this are dropped after use. */
const maxKeptBytes = 4 * pieceBytes;

const [openBracket, closeBracket, comma] = [0x5b, 0x5d, 0x2c];

/** Cuts one text. An array that it returns stays unchanged until the second one behind it is made. */
export class RowCutter {
  /** The buffer in use is the last. */
  readonly #buffers: Uint8Array[] = Array.from({ length: buffers }, () => noBytes);
  #length = 0;
  /** Position behind the last row; -1 before the first row has ended. */
  #rowEnd = -1;
  /** Whether the comma between two arrays is still to come. */
  #isBetween = false;

  /**
   * Adds text; `rowEnd` is the position behind the last row that ends in it, or -1. Returns an array if
   * enough rows have come, else null.
   */
  add(bytes: Uint8Array, rowEnd: number): Uint8Array | null {
    const start = this.#isBetween ? afterComma(bytes) : 0;
    if (start < 0) return null;
    if (this.#isBetween) {
      this.#isBetween = false;
      this.#append(beginArray);
    }
    if (rowEnd >= 0) this.#rowEnd = this.#length + rowEnd - start;
    this.#append(bytes.subarray(start));
    return this.#length >= pieceBytes && this.#rowEnd >= 0 ? this.#cut() : null;
  }

  /** Returns the last array, which the text itself has closed; null if no row is left. */
  end(): Uint8Array | null {
    return this.#length === 0 ? null : this.#buffer.subarray(0, this.#length);
  }

  get #buffer(): Uint8Array {
    return this.#buffers[buffers - 1]!;
  }

  #cut(): Uint8Array {
    const end = this.#rowEnd;
    const text = this.#buffer;
    const rest = text.subarray(end, this.#length);
    this.#takeNextBuffer();
    this.#isBetween = true;
    this.#rowEnd = -1;
    this.add(rest, -1);
    if (end < text.length) {
      text[end] = closeBracket;
      return text.subarray(0, end + 1);
    }
    const closed = enlarged(text, end, end + 1);
    closed[end] = closeBracket;
    return closed;
  }

  #takeNextBuffer(): void {
    const next = this.#buffers.shift()!;
    this.#buffers.push(next.length > maxKeptBytes ? noBytes : next);
    this.#length = 0;
  }

  #append(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#buffer.length) {
      const capacity = Math.max(
        needed + pieceBytes / 4,
        2 * this.#length,
        pieceBytes + pieceBytes / 4,
      );
      this.#buffers[buffers - 1] = enlarged(this.#buffer, this.#length, capacity);
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = needed;
  }
}

const noBytes = new Uint8Array(0);
const beginArray = Uint8Array.of(openBracket);

function enlarged(bytes: Uint8Array, length: number, capacity: number): Uint8Array {
  const larger = new Uint8Array(capacity);
  larger.set(bytes.subarray(0, length));
  return larger;
}

/** Returns the position behind the comma that the text begins with; -1 if only blanks or `]` come. */
function afterComma(bytes: Uint8Array): number {
  return bytes.indexOf(comma) + 1 || -1;
}
