/** Receives long arrays of rows in pieces, of which three are in memory at most. @module */
import { errors } from "../../errors/catalogue.ts";
import { type SpoolFile, SpoolFullError } from "../../lib/spool_file.ts";
import type { Payload } from "../api_request.ts";
import type { BodyDecoder, RowCuts } from "./body_decoder.ts";
import type { MinRate } from "../../lib/time_limits.ts";

/** Bodies of up to this many decoded bytes are sent to PostgreSQL whole. */
export const maxWholeBytes = 4 * 1024 * 1024;

/** How long bodies are divided. */
export interface DivisionOptions {
  /** Whether several statements may insert the rows; of null whether those of some payload may. */
  readonly isDivisible: (payload: Payload | null) => boolean;
  /** Creates a file to store the rows in; null where the runtime has none: the body stays whole. */
  readonly openSpool: () => BodyFile | null;
  /** Watches the client from the division on. */
  readonly minRate: MinRate;
}

/** Stores rows. */
type BodyFile = Pick<SpoolFile, "append" | "close" | "pieces">;

/** A payload of rows. */
export type JsonPayload = Extract<Payload, { readonly kind: "json" }>;

/** The part of a body that was decoded before its division. */
export interface BodyStart {
  readonly bytes: Uint8Array;
  /** Position behind the last row. */
  readonly rowEnd: number;
}

/**
 * Returns the payload of a body with its rows in pieces. Stores them in a file up to the body's end, so
 * that no connection waits for the client. Throws `102`, `133` and `135`.
 */
export async function divideBody(
  payload: JsonPayload,
  arrays: AsyncGenerator<Uint8Array>,
  spool: BodyFile,
): Promise<JsonPayload> {
  try {
    for await (const piece of arrays) spool.append(piece);
  } catch (error) {
    spool.close();
    throw error instanceof SpoolFullError ? errors.spoolFull() : error;
  }
  return { ...payload, pieces: spool.pieces() };
}

/** Yields arrays of the rows in `start` and in the rest that a decoder returns. Throws `102`. */
export async function* cutRows(
  { bytes, rowEnd }: BodyStart,
  rest: AsyncGenerator<Uint8Array>,
  decoder: BodyDecoder,
): AsyncGenerator<Uint8Array> {
  const cutter = new RowCutter();
  try {
    const first = cutter.add(bytes, rowEnd);
    if (first !== null) yield first;
    for await (const decoded of rest) {
      const cuts = decoder.cuts!;
      checkRows(cuts);
      const piece = cutter.add(decoded, decoded.length > 0 ? cuts.lastRowEnd : -1);
      if (piece !== null) yield piece;
    }
    const last = cutter.end();
    if (last !== null) yield last;
  } finally {
    await rest.return(undefined);
  }
}

function checkRows({ isMixed, isMalformed }: RowCuts): void {
  if (isMalformed) throw errors.invalidJson();
  if (isMixed) throw errors.mixedKeys();
}

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

  /** Adds text, with the position behind its last row or -1. Returns an array if it is full. */
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
