/** Bodies of forms (`application/x-www-form-urlencoded`): as one JSON object of strings, or as
 * arguments. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { type BodyDecoder, noBytes, type Payload, type PayloadUse } from "./body_decoder.ts";
import { maxNames, shortName } from "./body_names.ts";
import { nextText, nulError, utf8Decoder, utf8Text } from "../utf8.ts";

const utf8 = new TextEncoder();

/** Maximum size. Forms are decoded as a whole. */
export const maxFormBytes = 1024 * 1024;

/** Maximum number of fields. Reading half a million takes two seconds. */
export const maxFormFields = 16_384;

/** Names and values in the order sent. */
type FormFields = readonly (readonly [name: string, value: string])[];

/** A form: one row, or arguments. */
export class FormDecoder implements BodyDecoder {
  readonly work = "converts";
  readonly #takes: PayloadUse;
  readonly #utf8 = utf8Decoder();
  #length = 0;
  #text = "";
  #fields: FormFields = [];

  constructor(takes: PayloadUse) {
    this.#takes = takes;
  }

  write(chunk: Uint8Array): Uint8Array {
    this.#length += chunk.length;
    if (this.#length > maxFormBytes) throw errors.bodyTooLarge(maxFormBytes, null);
    this.#text += nextText(this.#utf8, chunk);
    return noBytes;
  }

  end(): Uint8Array {
    this.#text += nextText(this.#utf8, null);
    this.#fields = fieldsOf(this.#text);
    return this.#takes === "rows" ? objectText(this.#fields) : noBytes;
  }

  payload(text: Uint8Array): Payload {
    const names = namesOf(this.#fields);
    return this.#takes === "rows"
      ? { kind: "json", source: "form", shape: "object", ...names, text }
      : { kind: "form", fields: this.#fields, ...names };
  }
}

/** Writes fields as one JSON object of strings. The last value of a repeated name applies. */
export function fieldsToJson(fields: FormFields): Uint8Array {
  return objectText([...new Map(fields)]);
}

/** Returns the text of an object. Repeated names are kept; PostgreSQL uses the last one. */
function objectText(fields: FormFields): Uint8Array {
  const members = fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return utf8.encode(`{${members.join(",")}}`);
}

/** Parses the fields. `URLSearchParams` replaces escapes that are not UTF-8, and ignores a question
 * mark at the beginning. */
function fieldsOf(text: string): FormFields {
  if ((text.match(/[^&]+/g)?.length ?? 0) > maxFormFields) {
    throw errors.invalidBody(`A form has at most ${maxFormFields} fields`);
  }
  utf8Text(() => decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, "")));
  if (text.includes("%00")) throw nulError();
  return [...new URLSearchParams(`&${text}`)];
}

/** Returns up to {@linkcode maxNames} different names, sorted, and the number of fields after them. */
function namesOf(
  fields: FormFields,
): { readonly keys: readonly string[]; readonly moreKeys: number } {
  const names = new Set<string>();
  let moreKeys = 0;
  for (const [name] of fields) {
    if (names.size === maxNames) moreKeys++;
    else names.add(shortName(name));
  }
  return { keys: [...names].sort(), moreKeys };
}
