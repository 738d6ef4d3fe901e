/**
 * Walks over the tokens of JSON text (RFC 8259) as UTF-8 bytes and accepts exactly those that
 * `JSON.parse` accepts, without making values.
 *
 * Each function takes the index at which something begins and returns the index behind it, or
 * {@linkcode malformed}.
 *
 * @module
 */
import { hexDigit } from "./percent.ts";

/** Returned where the text is not JSON. */
export const malformed = -1;

const quote = 0x22;
export const comma = 0x2c;
const colon = 0x3a;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

const backslash = 0x5c;

/** Skips space, tab, line feed and carriage return. */
export function skipBlank(bytes: Uint8Array, at: number): number {
  let code = bytes[at];
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = bytes[++at];
  return at;
}

/** Skips a key up to behind its closing quote. */
export function skipKeyText(bytes: Uint8Array, start: number): number {
  return bytes[start] === quote ? skipString(bytes, start) : malformed;
}

/** Skips the colon behind a key; malformed when the key was. */
export function skipColon(bytes: Uint8Array, start: number): number {
  if (start < 0) return malformed;
  const at = skipBlank(bytes, start);
  return bytes[at] === colon ? at + 1 : malformed;
}

/** Skips a string, number, `true`, `false` or `null`. */
export function skipScalar(bytes: Uint8Array, at: number): number {
  switch (bytes[at]) {
    case quote:
      return skipString(bytes, at);
    case 0x74:
      return skipWord(bytes, at, "true");
    case 0x66:
      return skipWord(bytes, at, "false");
    case 0x6e:
      return skipWord(bytes, at, "null");
    default:
      return skipNumber(bytes, at);
  }
}

function skipWord(bytes: Uint8Array, at: number, word: string): number {
  for (let index = 0; index < word.length; index++) {
    if (bytes[at + index] !== word.charCodeAt(index)) return malformed;
  }
  return at + word.length;
}

/** `number = [ "-" ] ( "0" / digit1-9 *digit ) [ "." 1*digit ] [ "e" [ sign ] 1*digit ]` */
function skipNumber(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === 0x2d ? start + 1 : start;
  let at = bytes[first] === 0x30 ? first + 1 : skipDigits(bytes, first);
  if (at >= 0 && bytes[at] === 0x2e) at = skipDigits(bytes, at + 1);
  if (at >= 0 && ((bytes[at] ?? 0) | 0x20) === 0x65) {
    const sign = bytes[at + 1];
    at = skipDigits(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }
  return at;
}

function skipDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  let code = bytes[at] ?? 0;
  while (code >= 0x30 && code <= 0x39) code = bytes[++at] ?? 0;
  return at > start ? at : malformed;
}

/** Skips a string, which begins with its quote. */
function skipString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at >= 0) {
    while (plain[bytes[at]!] === 1) at++;
    const code = bytes[at] ?? 0;
    if (code === quote) return at + 1;
    if (code < 0x20) return malformed;
    at = code === backslash ? skipEscape(bytes, at + 1) : skipSequence(bytes, at);
  }
  return malformed;
}

/** 1 for the ASCII characters that stand for themselves in a string. */
const plain = Uint8Array.from(
  { length: 256 },
  (_, code) => code >= 0x20 && code < 0x80 && code !== quote && code !== backslash ? 1 : 0,
);

function skipEscape(bytes: Uint8Array, at: number): number {
  const code = bytes[at] ?? 0;
  if (code !== 0x75) return isEscapable(code) ? at + 1 : malformed;
  for (let index = 1; index <= 4; index++) if (hexDigit(bytes[at + index]) < 0) return malformed;
  return at + 5;
}

/** `"`, `\`, `/`, `b`, `f`, `n`, `r` or `t` */
function isEscapable(code: number): boolean {
  return code === quote || code === backslash || code === 0x2f || code === 0x62 || code === 0x66 ||
    code === 0x6e || code === 0x72 || code === 0x74;
}

/** Skips a UTF-8 sequence of several bytes (Unicode Standard, table 3-7). */
function skipSequence(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0xc2 || lead > 0xf4) return malformed;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const second = bytes[at + 1] ?? 0;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return malformed;
  for (let index = 2; index < length; index++) {
    if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return malformed;
  }
  return at + length;
}
