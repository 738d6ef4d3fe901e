/** Receives long arrays of rows in pieces, of which three are in memory at most. @module */
import { errors } from "../../errors/catalogue.ts";
import { type SpoolFile, SpoolFullError } from "../../lib/spool_file.ts";
import type { Payload, PayloadPieces } from "../api_request.ts";
import type { BodyDecoder, RowCuts } from "./body_decoder.ts";
import type { MinRate } from "../../lib/time_limits.ts";
import { RowCutter } from "./row_cutter.ts";

/** Bodies of up to this many decoded bytes are sent to PostgreSQL whole. */
export const maxWholeBytes = 4 * 1024 * 1024;

/** How long bodies are divided. */
export interface DivisionOptions {
  /**
   * Whether the rows of a payload, which has no bytes yet, may be inserted by several statements; of null
   * whether those of some payload may. Throws the errors of planning.
   */
  readonly isDivisible: (payload: Payload | null) => boolean;
  /** Creates a file to store the rows in; null where the runtime has none. */
  readonly openSpool: () => Pick<SpoolFile, "append" | "close" | "pieces"> | null;
  /** Watches the client from the division on. */
  readonly minRate: MinRate;
}

/** A payload of rows. */
export type JsonPayload = Extract<Payload, { readonly kind: "json" }>;

/** Rows of a body that is being received. */
export interface ArrivingRows {
  readonly arrays: AsyncGenerator<Uint8Array>;
  /** Leaves the rest of the body to others. */
  readonly release: () => void;
}

/** The part of a body that was decoded before its division. */
export interface BodyStart {
  readonly bytes: Uint8Array;
  /** Position behind the last row. */
  readonly rowEnd: number;
}

/**
 * Returns the payload of a body with its rows in pieces. Stores them in a file up to the body's end, so
 * that no connection waits for the client. Without files the pieces arrive while they are read.
 *
 * Throws `102`, `133` and `135`. Pieces that are not stored throw `102` and `133`.
 */
export async function divideBody(
  payload: JsonPayload,
  { arrays, release }: ArrivingRows,
  { openSpool, minRate }: DivisionOptions,
): Promise<JsonPayload> {
  const spool = openSpool();
  minRate.start();
  if (spool === null) return { ...payload, pieces: arrivingPieces(arrays, release) };
  try {
    for await (const piece of arrays) spool.append(piece);
  } catch (error) {
    spool.close();
    throw error instanceof SpoolFullError ? errors.spoolFull() : error;
  }
  const stored = {
    arrays: spool.pieces(),
    areStored: true,
    close: () => Promise.resolve(spool.close()),
  };
  return { ...payload, pieces: stored };
}

function arrivingPieces(arrays: AsyncGenerator<Uint8Array>, release: () => void): PayloadPieces {
  return {
    arrays,
    areStored: false,
    // Ends a read that waits for the client.
    close: () => {
      release();
      return Promise.resolve(void arrays.return(undefined).catch(() => {}));
    },
  };
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

function checkRows({ firstMixed, malformed }: RowCuts): void {
  if (malformed !== null) throw errors.malformedJson(malformed);
  if (firstMixed === null) return;
  throw errors.invalidBody(
    "All object keys must match",
    `Element ${firstMixed} has other keys than the first element`,
  );
}
