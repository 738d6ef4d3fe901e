/**
 * The port of decoders, which turn the bytes of a body into those of a payload, piece by piece.
 *
 * @module
 */
import type { Payload } from "./api_request.ts";

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
}

/**
 * Receives a payload without bytes, once. The decoder calls it when it has read the body's keys, or more
 * keys than a relation or a function can have. An error that it throws ends the reading.
 */
export type OnKeys = (payload: Payload) => void;

/** Rows of a relation, or arguments of a function. */
export type PayloadUse = "rows" | "arguments";

/** No bytes. */
export const noBytes: Uint8Array = new Uint8Array(0);
