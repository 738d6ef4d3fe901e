/** Checks UTF-8 and byte order marks of texts that arrive in chunks. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";

/** Returns a decoder for {@linkcode nextText}. */
export function utf8Decoder(): TextDecoder {
  return new TextDecoder("utf-8", { fatal: true });
}

/** Returns the text of UTF-8; null for other bytes. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return utf8Decoder().decode(bytes);
  } catch {
    return null;
  }
}

/** Decodes the next chunk of a body; null ends it. Throws `102` for NUL, and for bytes that are not UTF-8. */
export function nextText(decoder: TextDecoder, chunk: Uint8Array | null): string {
  if (chunk?.includes(0)) throw nulError();
  return utf8Text(() =>
    chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true })
  );
}

/** Decodes text. Throws `102` if it is not UTF-8. */
export function utf8Text(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw errors.invalidBody("The body is not UTF-8 text");
  }
}

/** Returns the error for a body with NUL, which PostgreSQL cannot store in text. */
export function nulError(): ServiceError {
  return errors.invalidBody("The body holds the character NUL");
}

/** Removes a byte order mark (U+FEFF) at the start, if the first chunk of a body contains all of it. */
export class MarkSkipper {
  #hasBegun = false;

  skip(chunk: Uint8Array): Uint8Array {
    const hasMark = !this.#hasBegun && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
    this.#hasBegun ||= chunk.length > 0;
    return hasMark ? chunk.subarray(3) : chunk;
  }
}
