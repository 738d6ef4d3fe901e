/**
 * Divides form bodies (`application/x-www-form-urlencoded`) into names and values, and decodes them, piece
 * by piece.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { hexDigit } from "./percent.ts";

/** Receives fields in the order of the text. The decoded bytes are valid during the call. */
export interface FormEvents {
  nameText(bytes: Uint8Array, start: number, end: number): void;
  nameEnds(): void;
  valueText(bytes: Uint8Array, start: number, end: number): void;
  valueEnds(): void;
}

const ampersand = 0x26;
const plus = 0x2b;
const equals = 0x3d;
const percent = 0x25;
const space = Uint8Array.from([0x20]);

/** 1 for bytes that do not stand for themselves; `=` does so in values. */
const isSpecial = Uint8Array.from(
  { length: 256 },
  (_, code) => [0, ampersand, plus, equals, percent].includes(code) ? 1 : 0,
);

/**
 * Reads one text. Empty fields are left out; a field without `=` has an empty value. A percent sign that
 * is not followed by two hexadecimal digits stands for itself.
 */
export class FormScanner {
  readonly #events: FormEvents;
  #place: "field start" | "name" | "value" = "field start";
  /** A percent sign and perhaps a digit, which may begin an escape. */
  readonly #escape = new Uint8Array(2);
  #escapeLength = 0;
  readonly #decoded = new Uint8Array(1);

  constructor(events: FormEvents) {
    this.#events = events;
  }

  /** Takes the next piece. Throws `102` for the character NUL, which PostgreSQL has in no text. */
  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) at = this.#step(bytes, at);
  }

  /** Takes the end. */
  end(): void {
    this.#endEscape();
    this.#endField();
  }

  #step(bytes: Uint8Array, start: number): number {
    if (this.#escapeLength > 0) return this.#restOfEscape(bytes, start);
    let at = start;
    while (at < bytes.length && isSpecial[bytes[at]!] === 0) at++;
    if (at > start) this.#text(bytes, start, at);
    return at === bytes.length ? at : this.#special(bytes, at);
  }

  #special(bytes: Uint8Array, at: number): number {
    const code = bytes[at]!;
    if (code === 0) throw nulError();
    if (code === ampersand) this.#endField();
    else if (code === plus) this.#text(space, 0, 1);
    else if (code === percent) {
      this.#escape[0] = percent;
      this.#escapeLength = 1;
    } else if (this.#place === "value") this.#text(bytes, at, at + 1);
    else {
      this.#events.nameEnds();
      this.#place = "value";
    }
    return at + 1;
  }

  #restOfEscape(bytes: Uint8Array, at: number): number {
    const digit = hexDigit(bytes[at]!);
    if (digit < 0) {
      this.#endEscape();
      return at;
    }
    if (this.#escapeLength === 1) {
      this.#escape[this.#escapeLength++] = bytes[at]!;
      return at + 1;
    }
    this.#escapeLength = 0;
    this.#decoded[0] = hexDigit(this.#escape[1]) * 16 + digit;
    if (this.#decoded[0] === 0) throw nulError();
    this.#text(this.#decoded, 0, 1);
    return at + 1;
  }

  /** The text began like an escape but is literal. */
  #endEscape(): void {
    const length = this.#escapeLength;
    this.#escapeLength = 0;
    if (length > 0) this.#text(this.#escape, 0, length);
  }

  #text(bytes: Uint8Array, start: number, end: number): void {
    if (this.#place === "value") return this.#events.valueText(bytes, start, end);
    this.#place = "name";
    this.#events.nameText(bytes, start, end);
  }

  #endField(): void {
    if (this.#place === "field start") return;
    if (this.#place === "name") this.#events.nameEnds();
    this.#events.valueEnds();
    this.#place = "field start";
  }
}

function nulError(): ServiceError {
  return errors.invalidBody("The body holds the character NUL");
}
