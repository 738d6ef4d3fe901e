/**
 * Form bodies (`application/x-www-form-urlencoded`): as one JSON object of strings, or as the values of
 * arguments.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { NameBuffer, NameSet } from "./body_names.ts";
import { ByteWriter } from "./byte_writer.ts";
import { type FormEvents, FormScanner } from "./form_scanner.ts";
import { MarkSkipper, Utf8Check } from "./utf8.ts";

const [openBrace, closeBrace, quote, comma, colon] = [0x7b, 0x7d, 0x22, 0x2c, 0x3a];

const utf8 = new TextEncoder();

/** Base of both readers: it checks the text while it decodes it. */
abstract class FormReader implements FormEvents {
  readonly #mark = new MarkSkipper();
  readonly #scanner = new FormScanner(this);
  readonly #utf8 = new Utf8Check();
  protected readonly out = new ByteWriter();
  /** The name of the field that is read. */
  protected readonly name = new NameBuffer();
  protected readonly names = new NameSet();

  /** Names, sorted. */
  get keys(): readonly string[] {
    return this.names.sorted();
  }

  /** How many fields came with other names than the keys. */
  get moreKeys(): number {
    return this.names.uncounted;
  }

  /** Takes the next piece. Returns decoded bytes, which are valid until the next call. Throws `102`. */
  write(piece: Uint8Array): Uint8Array {
    this.#scanner.push(this.#mark.skip(piece));
    return this.#checked();
  }

  /** Takes the end. Returns the last of the bytes. Throws `102`. */
  end(): Uint8Array {
    this.#scanner.end();
    this.close();
    const last = this.#checked();
    this.#utf8.end();
    return last;
  }

  #checked(): Uint8Array {
    const bytes = this.out.take();
    this.#utf8.add(bytes);
    return bytes;
  }

  abstract nameText(bytes: Uint8Array, start: number, end: number): void;
  abstract nameEnds(): void;
  abstract valueText(bytes: Uint8Array, start: number, end: number): void;
  abstract valueEnds(): void;
  protected abstract close(): void;
}

/**
 * Writes a form as one JSON object of strings. A name that comes twice stands twice, so that the last one
 * counts, as PostgreSQL reads `json`.
 */
export class FormToJson extends FormReader {
  #isEmpty = true;
  #isNameOpen = false;

  nameText(bytes: Uint8Array, start: number, end: number): void {
    this.#openName();
    this.name.add(bytes, start, end);
    this.out.jsonText(bytes, start, end);
  }

  nameEnds(): void {
    this.#openName();
    this.names.add(this.name);
    this.name.clear();
    this.#isNameOpen = false;
    for (const code of [quote, colon, quote]) this.out.byte(code);
  }

  valueText(bytes: Uint8Array, start: number, end: number): void {
    this.out.jsonText(bytes, start, end);
  }

  valueEnds(): void {
    this.out.byte(quote);
  }

  protected close(): void {
    if (this.#isEmpty) this.out.byte(openBrace);
    this.out.byte(closeBrace);
  }

  #openName(): void {
    if (this.#isNameOpen) return;
    this.out.byte(this.#isEmpty ? openBrace : comma);
    this.out.byte(quote);
    this.#isEmpty = false;
    this.#isNameOpen = true;
  }
}

/** Between names and values, so that no character begins in one and ends in the next. */
const separator = Uint8Array.from([comma]);

/** Names and values, the latter as UTF-8, in the order sent. */
export type FormFields = readonly (readonly [name: string, value: Uint8Array])[];

/** Writes fields as one JSON object of strings; of a name the last value counts. */
export function fieldsToJson(fields: FormFields): Uint8Array {
  const out = new ByteWriter();
  for (const [name, value] of new Map(fields)) {
    out.byte(out.length === 0 ? openBrace : comma);
    out.bytes(utf8.encode(JSON.stringify(name)));
    out.byte(colon);
    out.byte(quote);
    out.jsonText(value, 0, value.length);
    out.byte(quote);
  }
  if (out.length === 0) out.byte(openBrace);
  out.byte(closeBrace);
  return out.take();
}

/** Forms of more fields than this are rejected as arguments of a function. */
export const maxArgumentFields = 16_384;

/** Reads a form as arguments: writes it decoded, and notes where each value stands. */
export class FormArguments extends FormReader {
  readonly #fields: { readonly name: string; readonly start: number; readonly end: number }[] = [];
  #fieldName = "";
  #start = 0;
  #length = 0;

  nameText(bytes: Uint8Array, start: number, end: number): void {
    this.name.add(bytes, start, end);
    this.#write(bytes, start, end);
  }

  nameEnds(): void {
    if (this.#fields.length === maxArgumentFields) {
      throw errors.invalidBody(`A form for a function has at most ${maxArgumentFields} fields`);
    }
    this.#fieldName = this.name.text;
    this.names.add(this.name);
    this.name.clear();
    this.#write(separator);
    this.#start = this.#length;
  }

  valueText(bytes: Uint8Array, start: number, end: number): void {
    this.#write(bytes, start, end);
  }

  valueEnds(): void {
    this.#fields.push({ name: this.#fieldName, start: this.#start, end: this.#length });
    this.#write(separator);
  }

  #write(bytes: Uint8Array, start = 0, end = bytes.length): void {
    this.out.bytes(bytes, start, end);
    this.#length += end - start;
  }

  protected close(): void {}

  /** The fields, when the bytes that were returned are put together. */
  fields(bytes: Uint8Array): FormFields {
    return this.#fields.map(({ name, start, end }) => [name, bytes.subarray(start, end)]);
  }
}
