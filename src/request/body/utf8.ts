/** Checks and byte order marks of texts that come in pieces. @module */
import { errors } from "../../errors/catalogue.ts";
import type { ServiceError } from "../../errors/service_error.ts";
import { noBytes } from "./body_decoder.ts";

/** Checks that a body is UTF-8 without the character NUL, which PostgreSQL has in no text. */
export class Utf8Check {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });

  /** Takes the next piece. Throws `102`. */
  add(piece: Uint8Array): void {
    if (piece.includes(0)) throw nulError();
    utf8Text(() => this.#decoder.decode(piece, { stream: true }));
  }

  /** Takes the end. Throws `102` inside of a character. */
  end(): void {
    utf8Text(() => this.#decoder.decode());
  }
}

/** Decodes text. Throws `102` if it is not UTF-8. */
export function utf8Text(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw errors.invalidBody("The body is not UTF-8 text");
  }
}

/** The error of a body with the character NUL, which PostgreSQL has in no text. */
export function nulError(): ServiceError {
  return errors.invalidBody("The body holds the character NUL");
}

const mark = [0xef, 0xbb, 0xbf] as const;

/** Leaves out a byte order mark (U+FEFF) at the beginning. */
export class MarkSkipper {
  /** How many of the mark's bytes have come; null behind the beginning. */
  #seen: number | null = 0;

  /** Gives the rest of the next piece, and before it what proved to be no mark. */
  skip(piece: Uint8Array): Uint8Array {
    if (this.#seen === null) return piece;
    let at = 0;
    let seen = this.#seen;
    while (at < piece.length && seen < mark.length && piece[at] === mark[seen]) {
      at++;
      seen++;
    }
    if (seen < mark.length && at === piece.length) {
      this.#seen = seen;
      return noBytes;
    }
    const held = this.#seen;
    this.#seen = null;
    if (seen === mark.length) return piece.subarray(at);
    if (held === 0) return piece;
    const whole = new Uint8Array(held + piece.length);
    whole.set(mark.slice(0, held));
    whole.set(piece, held);
    return whole;
  }
}
