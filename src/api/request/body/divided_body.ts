/** Receives a long array of rows, and stores it in a file in chunks. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { type SpoolFile, SpoolFullError } from "../../../base/lib/spool_file.ts";
import type { BodyDecoder, Payload, RowCuts } from "./body_decoder.ts";
import type { MinRate } from "../../../base/lib/time_limits.ts";

/** Bodies up to this decoded size are sent to PostgreSQL as a whole. */
export const maxWholeBytes = 4 * 1024 * 1024;

/** Options for the division of a long body. */
export interface DivisionOptions {
  /** Creates a file to store the rows in; null in runtimes without files, where the body is not divided. */
  readonly openSpool: () => BodyFile | null;
  /** Limits how slowly the client may send after the division began. */
  readonly minRate: MinRate;
}

/** A file that stores rows. */
type BodyFile = Pick<SpoolFile, "append" | "close" | "endChunk" | "chunks">;

/** A payload of rows. */
export type JsonPayload = Extract<Payload, { readonly kind: "json" }>;

/** The part of a body that was decoded before it was divided. */
export interface BodyStart {
  readonly bytes: Uint8Array;
  /** Position after the last row. */
  readonly rowEnd: number;
}

/**
 * Returns the payload of a body with its rows in chunks: the rows in `start`, and the rows that the
 * decoder returns later. A file stores the rows until the body ends, so that no connection waits
 * for the client. Throws `102`, `133` and `135`.
 */
export async function divideBody(
  payload: JsonPayload,
  { bytes, rowEnd }: BodyStart,
  { rest, decoder, spool }: {
    readonly rest: AsyncGenerator<Uint8Array>;
    readonly decoder: BodyDecoder;
    readonly spool: BodyFile;
  },
): Promise<JsonPayload> {
  const cutter = new RowCutter(spool);
  try {
    cutter.add(bytes, rowEnd);
    for await (const decoded of rest) {
      const cuts = decoder.cuts!;
      checkRows(cuts);
      cutter.add(decoded, decoded.length > 0 ? cuts.lastRowEnd : -1);
    }
    cutter.end();
  } catch (error) {
    spool.close();
    throw error instanceof SpoolFullError ? errors.spoolFull() : error;
  } finally {
    await rest.return(undefined);
  }
  return { ...payload, chunks: spool.chunks() };
}

function checkRows({ isMixed, problem }: RowCuts): void {
  if (problem !== null) throw errors.invalidJson(problem);
  if (isMixed) throw errors.mixedKeys();
}

/** An array is divided after the first row that ends beyond this size. */
const chunkBytes = 1024 * 1024;

const comma = 0x2c;
const [beginArray, endArray] = [Uint8Array.of(0x5b), Uint8Array.of(0x5d)];

/** Divides the text of an array into arrays of whole rows, and stores each as a chunk. */
export class RowCutter {
  readonly #spool: Pick<BodyFile, "append" | "endChunk">;
  /** Bytes of the array that is being stored. */
  #length = 0;
  /** Whether an array has ended, and the comma before the next row has not arrived. */
  #isBetween = false;

  constructor(spool: Pick<BodyFile, "append" | "endChunk">) {
    this.#spool = spool;
  }

  /** Adds text. `rowEnd` is the position after the last row that ends in it, or -1. */
  add(bytes: Uint8Array, rowEnd: number): void {
    let start = 0;
    if (this.#isBetween) {
      start = bytes.indexOf(comma) + 1;
      // Without a comma, the text has only blanks or the end of the array, which are dropped.
      if (start === 0) return;
      this.#isBetween = false;
      this.#append(beginArray);
    }
    if (rowEnd < 0 || this.#length + rowEnd - start < chunkBytes) {
      return this.#append(bytes.subarray(start));
    }
    this.#append(bytes.subarray(start, rowEnd));
    this.#append(endArray);
    this.end();
    this.#isBetween = true;
    this.add(bytes.subarray(rowEnd), -1);
  }

  /** Ends the array that is being stored, if there is one. Its closing bracket is already stored. */
  end(): void {
    if (this.#length > 0) this.#spool.endChunk();
    this.#length = 0;
  }

  #append(bytes: Uint8Array): void {
    this.#spool.append(bytes);
    this.#length += bytes.length;
  }
}
