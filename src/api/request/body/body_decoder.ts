/** The port of decoders, which turn the bytes of a body into a payload, chunk by chunk. @module */
import type { PatchDocument } from "./patch_document.ts";

/** Decodes one body. Its methods throw `102` for a malformed body. */
export interface BodyDecoder {
  /** `none`: passes bytes on unread. `reads`: reads them and passes them on. `converts`: replaces them. */
  readonly work: "none" | "reads" | "converts";
  /** Decodes the next chunk. Returns bytes of the payload, which are valid until the next call. */
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
  /** Position after the last row that ended in the bytes returned last; -1 if no row ended. */
  readonly lastRowEnd: number;
  /** Whether the payload's keys are known; true if they do not matter. */
  readonly areKeysKnown: boolean;
  /** Whether an element has other keys than the first, which refuses the body. */
  readonly isMixed: boolean;
  /** Why the text is malformed, or null. PostgreSQL tells it if the text is not cut. */
  readonly problem: string | null;
}

/** Called once, when keys are known or too many. An error that it throws ends the reading. */
export type OnKeys = (payload: Payload) => void;

/** Rows of a relation, or arguments of a function. */
export type PayloadUse = "rows" | "arguments";

/** A request body after its content type was understood. */
export type Payload =
  | {
    /** JSON text of an object or an array, handed to PostgreSQL as it is. */
    readonly kind: "json";
    /** As sent; `{}` for the empty body of a call, and `[]` for rows that are a scalar. */
    readonly text: Uint8Array;
    /**
     * A body of a call that holds no arguments: a scalar, or an array with other elements than objects of
     * the same keys. Default: an object, or objects of the same keys.
     */
    readonly value?: "scalar" | "mixed";
    readonly shape: "object" | "array";
    /** Keys of the row(s), sorted; null when `columns` made looking unnecessary. */
    readonly keys: readonly string[] | null;
    /** How many more keys there are: no more are listed than can matter. */
    readonly moreKeys: number;
    /** Whether rows lack some of the keys. Default: all rows have all keys, or `keys` is null. */
    readonly keysVary?: true;
    /**
     * Arrays of about 1 MiB each, instead of `text`, which is empty then. To be read once: each
     * stays unchanged until the next one is requested. Default: none.
     */
    readonly pieces?: Iterable<Uint8Array>;
    /** A single unnamed parameter takes the JSON that CSV was converted to. */
    readonly source: "json" | "csv" | "row text" | "form";
  }
  | {
    /** Arguments by name, in the order sent. */
    readonly kind: "form";
    readonly fields: readonly (readonly [name: string, value: string])[];
    /** Names, sorted. */
    readonly keys: readonly string[];
    /** How many fields have other names: no more are listed than can matter. */
    readonly moreKeys: number;
  }
  | {
    /** A patch document, and its text as it was sent. */
    readonly kind: "patch";
    readonly document: PatchDocument;
    readonly text: Uint8Array;
  }
  | {
    /** A raw body for a single unnamed parameter. */
    readonly kind: "raw";
    readonly type: "text" | "xml" | "bytea";
    readonly bytes: Uint8Array;
  };

export const noBytes: Uint8Array = new Uint8Array(0);
