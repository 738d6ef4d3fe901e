/**
 * What turns the bytes of a body into those of a payload, piece by piece.
 *
 * @module
 */
import type { Payload } from "./api_request.ts";

/** Decodes one body. Its methods throw `102` for a body that cannot be read. */
export interface BodyDecoder {
  /** What is done with each byte: nothing, it is looked at and passed on, or it becomes others. */
  readonly work: "none" | "reads" | "converts";
  /** Decodes the next piece. Returns bytes of the payload, which are valid until the next call. */
  write(piece: Uint8Array): Uint8Array;
  /** Takes the end of the body. Returns the last bytes, of which there are none unless it converts. */
  end(): Uint8Array;
  /** Makes the payload of all bytes that were returned. */
  payload(bytes: Uint8Array): Payload;
}

/**
 * Called once with a payload without bytes, when the body's keys are known or are too many to be those of
 * a relation or a function. What it throws ends the reading.
 */
export type OnKeys = (payload: Payload) => void;

/** What the body is for. */
export type PayloadUse = "rows" | "arguments";

/** No bytes. */
export const noBytes: Uint8Array = new Uint8Array(0);
