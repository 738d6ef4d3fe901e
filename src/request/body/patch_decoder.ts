/** Bodies that are patch documents. @module */
import { errors } from "../../errors/catalogue.ts";
import type { Payload } from "../api_request.ts";
import { type BodyDecoder, noBytes } from "./body_decoder.ts";
import { JsonRowsScan } from "./json_rows.ts";
import { type PatchFormat, readPatch } from "./patch_document.ts";
import { MarkSkipper, Utf8Check } from "./utf8.ts";

/** Reading the structure of a longer document would hold up other requests. */
const maxPatchBytes = 16 * 1024 * 1024;

/** Passes a patch document on as it is, and reads its structure. Throws `102` and `149`. */
export class PatchDecoder implements BodyDecoder {
  readonly work = "reads";
  readonly #format: PatchFormat;
  readonly #mark = new MarkSkipper();
  readonly #utf8 = new Utf8Check();
  readonly #scan = new JsonRowsScan({ keysMayVary: true });

  #length = 0;

  constructor(format: PatchFormat) {
    this.#format = format;
  }

  write(piece: Uint8Array): Uint8Array {
    const text = this.#mark.skip(piece);
    this.#length += text.length;
    if (this.#length > maxPatchBytes) throw errors.bodyTooLarge(maxPatchBytes, null);
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
    return { kind: "patch", document: readPatch(bytes, this.#format), text: bytes };
  }
}
