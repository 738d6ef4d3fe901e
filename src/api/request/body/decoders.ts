/** The decoders of bodies, one for each content type and use. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ServiceError } from "../../../base/errors/service_error.ts";
import {
  type BodyDecoder,
  noBytes,
  type OnKeys,
  type Payload,
  type PayloadUse,
  type RowCuts,
} from "./body_decoder.ts";
import { type JsonRows, JsonRowsScan } from "./json_rows.ts";
import { type PatchFormat, readPatch } from "./patch_document.ts";
import { MarkSkipper, nextText, utf8Decoder } from "../utf8.ts";

const ascii = new TextEncoder();
const noRows = ascii.encode("[]");
const noArguments = ascii.encode("{}");

/** JSON whose keys are columns or arguments: an object, objects of the same keys, or no rows. */
export class JsonDecoder implements BodyDecoder {
  readonly work = "reads";
  readonly #takes: PayloadUse;
  readonly #onKeys: OnKeys;
  readonly #mark = new MarkSkipper();
  readonly #scan: JsonRowsScan;
  #areKeysKnown = false;
  #length = 0;

  constructor(takes: PayloadUse, onKeys: OnKeys, scan = new JsonRowsScan()) {
    this.#scan = scan;
    this.#takes = takes;
    this.#onKeys = onKeys;
  }

  write(chunk: Uint8Array): Uint8Array {
    const text = this.#mark.skip(chunk);
    this.#length += text.length;
    if (!this.#scan.push(text)) throw errors.invalidJson(this.#scan.problem);
    if (!this.#areKeysKnown && this.#scan.areKeysKnown) {
      this.#areKeysKnown = true;
      const rows = this.#scan.rows();
      if (rows.kind === "rows") this.#onKeys(rowsPayload(rows, noBytes));
    }
    return text;
  }

  end(): Uint8Array {
    if (this.#isEmptyCall) return noBytes;
    const { kind } = this.#scan.end();
    if (kind === "malformed") throw errors.invalidJson(this.#scan.problem);
    // Only rows must have the same keys: a function may take any value as a whole.
    if (kind === "mixed" && this.#takes === "rows") throw errors.mixedKeys();
    return noBytes;
  }

  payload(bytes: Uint8Array): Payload {
    if (this.#isEmptyCall) return rowsPayload(emptyObject, noArguments);
    const rows = this.#scan.rows();
    if (rows.kind === "rows") return rowsPayload(rows, bytes);
    if (this.#takes === "rows") return rowsPayload(emptyArray, noRows);
    const isScalar = rows.kind === "none" && rows.isScalar;
    const value = isScalar ? "scalar" : rows.kind === "mixed" ? "mixed" : null;
    return { ...rowsPayload(emptyArray, bytes), ...value && { value } };
  }

  get cuts(): RowCuts {
    const { lastRowEnd, areKeysKnown, isMixed } = this.#scan;
    return { lastRowEnd, areKeysKnown, isMixed, problem: null };
  }

  /** Whether the body has no bytes, and so calls a function without arguments. */
  get #isEmptyCall(): boolean {
    return this.#length === 0 && this.#takes === "arguments";
  }
}

type Rows = Extract<JsonRows, { readonly kind: "rows" }>;

const emptyObject: Rows = { kind: "rows", shape: "object", keys: [], moreKeys: 0 };
const emptyArray: Rows = { ...emptyObject, shape: "array" };

function rowsPayload(rows: Rows, text: Uint8Array): Payload {
  return { ...rows, kind: "json", source: "json", text };
}

export interface DecoderOptions {
  /** Whether the payload may be divided between rows. */
  readonly isCut: boolean;
}

/** JSON for columns named in the query string. PostgreSQL parses it. */
export class ColumnsJsonDecoder implements BodyDecoder {
  readonly work: "none" | "reads";
  readonly #takes: PayloadUse;
  /** Finds the ends of rows, so that the text can be divided; null if it is not divided. */
  readonly #scan: JsonRowsScan | null;
  readonly #mark = new MarkSkipper();
  #problem: string | null = null;
  /** The first character that is not white space. */
  #first: number | undefined;
  #length = 0;

  constructor(takes: PayloadUse, { isCut }: DecoderOptions) {
    this.#takes = takes;
    this.#scan = isCut ? new JsonRowsScan() : null;
    this.work = isCut ? "reads" : "none";
  }

  get cuts(): RowCuts | undefined {
    if (this.#scan === null) return undefined;
    const { lastRowEnd } = this.#scan;
    return { lastRowEnd, areKeysKnown: true, isMixed: false, problem: this.#problem };
  }

  write(chunk: Uint8Array): Uint8Array {
    const text = this.#mark.skip(chunk);
    this.#length += text.length;
    if (this.#scan?.push(text) === false) this.#problem = this.#scan.problem;
    this.#first ??= text.find((code) => !blanks.has(code));
    return text;
  }

  end(): Uint8Array {
    if (this.#scan?.end().kind === "malformed") this.#problem = this.#scan.problem;
    return noBytes;
  }

  payload(bytes: Uint8Array): Payload {
    const isEmptyCall = this.#length === 0 && this.#takes === "arguments";
    const shape = isEmptyCall || this.#first === openBrace ? "object" : "array";
    const text = isEmptyCall ? noArguments : bytes;
    return { kind: "json", source: "json", shape, keys: null, moreKeys: 0, text };
  }
}

const openBrace = 0x7b;
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** A kind of document that is parsed as a whole. */
export interface DocumentForm {
  readonly maxBytes: number;
  readonly tooLarge: () => ServiceError;
  readonly malformed: (problem: string) => ServiceError;
  readonly payload: (bytes: Uint8Array) => Payload;
}

/** Passes a JSON document on unchanged, up to a maximum size. */
export class DocumentDecoder implements BodyDecoder {
  readonly work = "reads";
  readonly payload: DocumentForm["payload"];
  readonly #mark = new MarkSkipper();
  readonly #form: DocumentForm;
  readonly #scan = new JsonRowsScan({ keysMayVary: true });
  #length = 0;

  constructor(form: DocumentForm) {
    this.#form = form;
    this.payload = form.payload;
  }

  write(chunk: Uint8Array): Uint8Array {
    const text = this.#mark.skip(chunk);
    this.#length += text.length;
    if (this.#length > this.#form.maxBytes) throw this.#form.tooLarge();
    if (!this.#scan.push(text)) throw this.#form.malformed(this.#scan.problem);
    return text;
  }

  end(): Uint8Array {
    if (this.#scan.end().kind === "malformed") throw this.#form.malformed(this.#scan.problem);
    return noBytes;
  }
}

/** Maximum size, because parsing the structure of a longer document would delay other requests. */
const maxPatchBytes = 16 * 1024 * 1024;

/** Returns the decoder of patch documents, which parses their structure. It throws `102`, `130` and `149`. */
export function patchDecoder(format: PatchFormat): BodyDecoder {
  return new DocumentDecoder({
    maxBytes: maxPatchBytes,
    tooLarge: () => errors.bodyTooLarge(maxPatchBytes, null),
    malformed: errors.invalidJson,
    payload: (text) => ({ kind: "patch", document: readPatch(text, format), text }),
  });
}

/** The value of a single unnamed parameter, unchanged. */
export class RawDecoder implements BodyDecoder {
  readonly work: "none" | "reads";
  readonly #type: "text" | "xml" | "bytea";
  readonly #utf8 = utf8Decoder();

  constructor(type: "text" | "xml" | "bytea") {
    this.#type = type;
    this.work = type === "bytea" ? "none" : "reads";
  }

  write(chunk: Uint8Array): Uint8Array {
    if (this.work === "reads") nextText(this.#utf8, chunk);
    return chunk;
  }

  end(): Uint8Array {
    if (this.work === "reads") nextText(this.#utf8, null);
    return noBytes;
  }

  payload(bytes: Uint8Array): Payload {
    return { kind: "raw", type: this.#type, bytes };
  }
}
