/**
 * Interface of decoders, which convert the bytes of a body to a payload, chunk by chunk. @module
 */
import type { PatchDocument } from "./patch_document.ts";

/** Decodes one body. Its methods throw `102` for a malformed body. */
export interface BodyDecoder {
  /** `none`: passes bytes on unread. `reads`: parses bytes and passes them on. `converts`: produces
   * other bytes. */
  readonly work: "none" | "reads" | "converts";
  /** Decodes the next chunk. Returns bytes of the payload, which are valid until the next call. */
  write(chunk: Uint8Array): Uint8Array;
  /** Ends the body. Returns the last bytes of the payload; only a converting decoder has any. */
  end(): Uint8Array;
  /** Returns the payload. `bytes` are all bytes that `write` and `end` returned. */
  payload(bytes: Uint8Array): Payload;
  /** Present if the payload is an array of rows that can be divided between rows. */
  readonly cuts?: RowCuts;
}

/** Positions at which an array of rows can be divided. */
export interface RowCuts {
  /** Position after the last row that ended in the most recent output; -1 if none did. */
  readonly lastRowEnd: number;
  /** Whether the keys of the payload are known, or not needed. */
  readonly areKeysKnown: boolean;
  /** Whether an element has other keys than the first element. Such a body is rejected. */
  readonly isMixed: boolean;
  /** Why the text is malformed, or null. If the text is not divided, PostgreSQL reports the reason. */
  readonly problem: string | null;
}

/** Called once, when the keys are known, or are too many. Parsing ends if the callback throws. */
export type OnKeys = (payload: Payload) => void;

/** Rows of a relation, or arguments of a function. */
export type PayloadUse = "rows" | "arguments";

/** A request body, decoded by its content type. */
export type Payload =
  | {
    /** JSON text of an object or an array, which is sent to PostgreSQL unchanged. */
    readonly kind: "json";
    /** The text as received; `{}` for the empty body of a call, `[]` for a scalar in place of
     * rows. */
    readonly text: Uint8Array;
    /** Set for a call whose body contains no arguments: a scalar, or an array with elements other
     * than objects of the same keys. Default: an object, or objects of the same keys. */
    readonly value?: "scalar" | "mixed";
    readonly shape: "object" | "array";
    /** Keys of the rows, sorted; null if they were not read, because `columns` replaces them. */
    readonly keys: readonly string[] | null;
    /** Number of keys that `keys` does not list, because they exceed the maximum. */
    readonly moreKeys: number;
    /**
     * Whether rows may lack some of the keys. Default: all rows have all keys, or `keys` is null.
     */
    readonly keysVary?: true;
    /** Arrays of about 1 MiB each, in place of `text`, which is then empty. They can be read once,
     * and each is valid until the next one is requested. Default: none. */
    readonly chunks?: Iterable<Uint8Array>;
    /** Format of the body as received. A single unnamed parameter receives the JSON converted from it. */
    readonly source: "json" | "csv" | "row text" | "form";
  }
  | {
    /** Arguments by name, in the order received. */
    readonly kind: "form";
    readonly fields: readonly (readonly [name: string, value: string])[];
    /** Names, sorted. */
    readonly keys: readonly string[];
    /** Number of fields whose names `keys` does not list, because they exceed the maximum. */
    readonly moreKeys: number;
  }
  | {
    /** A patch document, and its text as received. */
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
