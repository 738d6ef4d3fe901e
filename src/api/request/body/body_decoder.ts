/** The port of decoders, which turn the bytes of a body into those of a payload, piece by piece.
 * @module */
import type { Payload } from "../api_request.ts";

/** Decodes one body. Its methods throw `102` for a malformed body. */
export interface BodyDecoder {
  /** `none`: passes bytes on unread. `reads`: reads them and passes them on. `converts`: replaces them. */
  readonly work: "none" | "reads" | "converts";
  /** Decodes the next piece. Returns bytes of the payload, which are valid until the next call. */
  write(piece: Uint8Array): Uint8Array;
  /** Ends the body. Returns the last bytes of the payload: none, unless the decoder converts. */
  end(): Uint8Array;
  /** Returns the payload. `bytes` are all that `write` and `end` returned. */
  payload(bytes: Uint8Array): Payload;
  /** Present if the payload is an array of rows, whose text can be cut between them. */
  readonly cuts?: RowCuts;
}

/** Where an array of rows can be cut. */
export interface RowCuts {
  /** Position behind the last row that ended in the bytes returned last; -1 without one. */
  readonly lastRowEnd: number;
  /** Whether the payload's keys are known; true if they do not matter. */
  readonly areKeysKnown: boolean;
  /** Whether an element has other keys than the first, which refuses the body. */
  readonly isMixed: boolean;
  /** Whether the text is malformed, which PostgreSQL tells if it is not cut. */
  readonly isMalformed: boolean;
}

/** Called once, when keys are known or too many. An error that it throws ends the reading. */
export type OnKeys = (payload: Payload) => void;

/** Rows of a relation, or arguments of a function. */
export type PayloadUse = "rows" | "arguments";

export const noBytes: Uint8Array = new Uint8Array(0);
