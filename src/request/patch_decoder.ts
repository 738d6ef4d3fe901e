/**
 * Bodies that are patch documents.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { Payload } from "./api_request.ts";
import { type BodyDecoder, noBytes } from "./body_decoder.ts";
import { JsonRowsScan } from "./json_rows.ts";
import { type PatchFormat, readPatch } from "./patch_document.ts";
import { MarkSkipper, Utf8Check } from "./utf8.ts";

/** Passes a patch document on as it is, and reads its structure. Throws `102` and `149`. */
export class PatchDecoder implements BodyDecoder {
  readonly work = "reads";
  readonly #format: PatchFormat;
  readonly #mark = new MarkSkipper();
  readonly #utf8 = new Utf8Check();
  readonly #scan = new JsonRowsScan({ keysMayVary: true });

  constructor(format: PatchFormat) {
    this.#format = format;
  }

  write(piece: Uint8Array): Uint8Array {
    const text = this.#mark.skip(piece);
    if (!this.#scan.push(text)) throw errors.malformedJson(this.#scan.malformedPlace);
    this.#utf8.add(text);
    return text;
  }

  end(): Uint8Array {
    if (this.#scan.end().kind === "malformed") {
      throw errors.malformedJson(this.#scan.malformedPlace);
    }
    this.#utf8.end();
    return noBytes;
  }

  payload(bytes: Uint8Array): Payload {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return { kind: "patch", document: readPatch(value, this.#format), text: bytes };
  }
}
