/** The insides of JSON's strings, numbers and words (RFC 8259, sections 3, 6 and 7) as automata, so
 * that a text can be cut anywhere. @module */
import { hexDigit } from "../url/percent.ts";

/** Where no character fits any more. */
export const invalid = -1;

const quote = 0x22;
const backslash = 0x5c;

/** In a string, between two characters. */
export const inText = 0;
const escape = 1;
const [hex4, hex1] = [2, 5] as const;
/** In a UTF-8 sequence, before this many more bytes. */
const [more1, more2, more3] = [6, 7, 8] as const;
/** Behind a lead byte that not every second byte may follow (Unicode Standard, table 3-7). */
const [afterE0, afterEd, afterF0, afterF4] = [9, 10, 11, 12] as const;

/** 1 for the ASCII characters that stand for themselves in a string. */
export const isPlain = Uint8Array.from(
  { length: 256 },
  (_, code) => code >= 0x20 && code < 0x80 && code !== quote && code !== backslash ? 1 : 0,
);

/** Where in a string a byte leads that is neither plain nor a quote. */
export function leaveText(code: number): number {
  if (code === backslash) return escape;
  if (code < 0xc2 || code > 0xf4) return invalid;
  if (code < 0xe0) return more1;
  if (code < 0xf0) return code === 0xe0 ? afterE0 : code === 0xed ? afterEd : more2;
  return code === 0xf0 ? afterF0 : code === 0xf4 ? afterF4 : more3;
}

/** Where in a string a byte leads from inside of an escape or of a UTF-8 sequence. */
export function nextInString(place: number, code: number): number {
  switch (place) {
    case escape:
      return code === 0x75 ? hex4 : isEscapable(code) ? inText : invalid;
    case more1:
      return isBetween(code, 0x80, 0xbf) ? inText : invalid;
    case more2:
    case more3:
      return isBetween(code, 0x80, 0xbf) ? place - 1 : invalid;
    case afterE0:
      return isBetween(code, 0xa0, 0xbf) ? more1 : invalid;
    case afterEd:
      return isBetween(code, 0x80, 0x9f) ? more1 : invalid;
    case afterF0:
      return isBetween(code, 0x90, 0xbf) ? more2 : invalid;
    case afterF4:
      return isBetween(code, 0x80, 0x8f) ? more2 : invalid;
    default:
      if (hexDigit(code) < 0) return invalid;
      return place === hex1 ? inText : place + 1;
  }
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}

/** `"`, `\`, `/`, `b`, `f`, `n`, `r` or `t` */
function isEscapable(code: number): boolean {
  return code === quote || code === backslash || code === 0x2f || code === 0x62 || code === 0x66 ||
    code === 0x6e || code === 0x72 || code === 0x74;
}

/** Behind a string's closing quote, or at the character behind a number. */
export const ended = -2;

/** In the digits before a number's point. */
export const integer = 0;
const [afterMinus, zero, afterPoint, fraction] = [1, 2, 3, 4] as const;
const [afterE, afterSign, exponent] = [5, 6, 7] as const;

/** Where the first character of a number leads. */
export function startOfNumber(code: number): number {
  return code === 0x2d ? afterMinus : nextInNumber(afterMinus, code);
}

/** `number = [ "-" ] ( "0" / digit1-9 *digit ) [ "." 1*digit ] [ "e" [ sign ] 1*digit ]` */
export function nextInNumber(place: number, code: number): number {
  const isDigit = isBetween(code, 0x30, 0x39);
  switch (place) {
    case afterMinus:
      return !isDigit ? invalid : code === 0x30 ? zero : integer;
    case zero:
    case integer:
      if (isDigit && place === integer) return integer;
      return code === 0x2e ? afterPoint : isE(code) ? afterE : ended;
    case afterPoint:
      return isDigit ? fraction : invalid;
    case fraction:
      return isDigit ? fraction : isE(code) ? afterE : ended;
    case afterE:
      return isDigit ? exponent : code === 0x2b || code === 0x2d ? afterSign : invalid;
    case afterSign:
      return isDigit ? exponent : invalid;
    default:
      return isDigit ? exponent : ended;
  }
}

function isE(code: number): boolean {
  return (code | 0x20) === 0x65;
}

/** Whether a number can end here. */
export function isWholeNumber(place: number): boolean {
  return place === zero || place === integer || place === fraction || place === exponent;
}

/** The words by their first character. */
export const words: ReadonlyMap<number, string> = new Map([
  [0x74, "true"],
  [0x66, "false"],
  [0x6e, "null"],
]);
