/** Reads JSON text (RFC 8259) as UTF-8, piece by piece, and accepts exactly what `JSON.parse`
 * accepts, without making values. Pieces may be cut anywhere, inside of a character too. @module */
import type { MalformedPlace } from "../../errors/request_errors.ts";
import { NameBuffer } from "./body_names.ts";
import {
  ended,
  integer,
  inText,
  invalid,
  isPlain,
  isWholeNumber,
  leaveText,
  nextInNumber,
  nextInString,
  startOfNumber,
  words,
} from "./json_tokens.ts";

/** Receives the positions of rows: the objects of a top-level array, or the top-level object. */
export interface RowEvents {
  rowBegins(): void;
  /** A key of the row, as it is spelled between its quotes; valid during the call. */
  rowKey(bytes: Uint8Array, start: number, end: number): void;
  rowEnds(): void;
  /** An element of the top-level array that is not an object. */
  otherElement(): void;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The token that is expected next, or the one that the scanner is inside of. */
const expects = {
  value: 0,
  elementOrEnd: 1,
  keyOrEnd: 2,
  key: 3,
  colon: 4,
  delimiter: 5,
  restOfString: 6,
  restOfKey: 7,
  restOfNumber: 8,
  restOfWord: 9,
  nothing: 10,
} as const;

export class JsonScanner {
  readonly #rows: RowEvents;
  readonly #open = new OpenContainers();
  /** The received part of a row's key that was cut; null without one. */
  #cutKey: NameBuffer | null = null;
  #expects: number = expects.value;
  /** The place inside of a string, a number or a word. */
  #place = 0;
  #letters = "";
  /** Length of the pieces before the last. */
  #consumed = 0;
  #malformed: MalformedPlace | null = null;
  /** How many containers are open inside of a row; 0 before the first value. */
  #rowDepth = 0;
  /** Position behind the last row that ended in the last piece; -1 without one. */
  lastRowEnd = -1;

  constructor(rows: RowEvents) {
    this.#rows = rows;
  }

  get shape(): "object" | "array" {
    return this.#rowDepth === 1 ? "object" : "array";
  }

  /** Whether the last token ended an element of the top-level array. */
  get isBehindElement(): boolean {
    return this.#rowDepth === 2 && this.#open.depth === 1 && this.#expects === expects.delimiter;
  }

  /** Takes the next piece. False when the text is malformed. */
  push(bytes: Uint8Array): boolean {
    this.lastRowEnd = -1;
    let at = 0;
    while (at < bytes.length && this.#expects !== expects.nothing) at = this.#step(bytes, at);
    if (this.#expects === expects.nothing) this.#malformed ??= this.#placeOf(bytes, at - 1);
    this.#consumed += bytes.length;
    return this.#malformed === null;
  }

  get malformedPlace(): MalformedPlace {
    return this.#malformed ?? { kind: this.#consumed === 0 ? "empty" : "end" };
  }

  #placeOf(bytes: Uint8Array, at: number): MalformedPlace {
    if (this.#consumed > 0) return { kind: "byte", position: this.#consumed + at + 1 };
    return { kind: "character", position: countCharacters(bytes, at) + 1 };
  }

  /** Takes the end. False when the text is malformed. */
  end(): boolean {
    if (this.#open.depth > 0) return false;
    return this.#expects === expects.delimiter ||
      (this.#expects === expects.restOfNumber && isWholeNumber(this.#place));
  }

  /** Reads a token, or several where they mostly follow each other; returns where it stopped. */
  #step(bytes: Uint8Array, at: number): number {
    switch (this.#expects) {
      case expects.restOfString:
        return this.#string(bytes, at);
      case expects.restOfKey:
        return this.#key(bytes, at);
      case expects.restOfNumber:
        return this.#number(bytes, at);
      case expects.restOfWord:
        return this.#word(bytes, at);
      case expects.nothing:
        return bytes.length;
      default: {
        const next = skipBlank(bytes, at);
        return next === bytes.length ? next : this.#token(bytes, next);
      }
    }
  }

  #token(bytes: Uint8Array, at: number): number {
    const code = bytes[at]!;
    switch (this.#expects) {
      case expects.value:
        return this.#value(bytes, at);
      case expects.elementOrEnd:
        return code === closeBracket ? this.#close(at) : this.#value(bytes, at);
      case expects.keyOrEnd:
        return code === closeBrace ? this.#close(at) : this.#beginKey(bytes, at);
      case expects.key:
        return this.#beginKey(bytes, at);
      case expects.colon:
        return this.#become(code === colon ? expects.value : expects.nothing, at);
      default:
        return this.#delimiter(bytes, at);
    }
  }

  #become(next: number, at: number): number {
    this.#expects = next;
    return at + 1;
  }

  #value(bytes: Uint8Array, at: number): number {
    const code = bytes[at]!;
    if (this.#rowDepth === 0) this.#rowDepth = code === openBrace ? 1 : 2;
    if (this.#rowDepth === this.#open.depth + 1) {
      if (code === openBrace) this.#rows.rowBegins();
      else this.#rows.otherElement();
    }
    switch (code) {
      case openBrace:
        this.#open.push(code);
        return this.#become(expects.keyOrEnd, at);
      case openBracket:
        this.#open.push(code);
        return this.#become(expects.elementOrEnd, at);
      case quote:
        this.#place = inText;
        this.#expects = expects.restOfString;
        return this.#string(bytes, at + 1);
      default:
        return this.#scalar(bytes, at);
    }
  }

  #scalar(bytes: Uint8Array, at: number): number {
    const letters = words.get(bytes[at]!);
    if (letters !== undefined) {
      this.#letters = letters;
      this.#place = 0;
      this.#expects = expects.restOfWord;
      return this.#word(bytes, at);
    }
    this.#place = startOfNumber(bytes[at]!);
    if (this.#place === invalid) return this.#become(expects.nothing, at);
    this.#expects = expects.restOfNumber;
    return this.#number(bytes, at + 1);
  }

  #beginKey(bytes: Uint8Array, at: number): number {
    if (bytes[at] !== quote) return this.#become(expects.nothing, at);
    this.#place = inText;
    this.#expects = expects.restOfKey;
    return this.#key(bytes, at + 1);
  }

  /** Reads the token behind a value. */
  #delimiter(bytes: Uint8Array, at: number): number {
    const code = bytes[at]!;
    const container = this.#open.last;
    if (code === comma && container !== 0) {
      if (container === openBracket) return this.#become(expects.value, at);
      this.#expects = expects.key;
      return bytes[at + 1] === quote ? this.#beginKey(bytes, at + 1) : at + 1;
    }
    if (code === closeBracket && container === openBracket) return this.#close(at);
    if (code === closeBrace && container === openBrace) return this.#close(at);
    return this.#become(expects.nothing, at);
  }

  #close(at: number): number {
    const isRow = this.#open.depth === this.#rowDepth && this.#open.last === openBrace;
    if (isRow) {
      this.lastRowEnd = at + 1;
      this.#rows.rowEnds();
    }
    this.#open.pop();
    return this.#become(expects.delimiter, at);
  }

  #string(bytes: Uint8Array, start: number): number {
    const end = this.#endOfString(bytes, start);
    if (this.#place === ended) this.#expects = expects.delimiter;
    return end;
  }

  #key(bytes: Uint8Array, start: number): number {
    const end = this.#endOfString(bytes, start);
    const isRowKey = this.#open.depth === this.#rowDepth;
    if (this.#place !== ended) {
      if (isRowKey) (this.#cutKey ??= new NameBuffer()).add(bytes, start, end);
      return end;
    }
    if (isRowKey) this.#rowKey(bytes, start, end - 1);
    this.#expects = expects.colon;
    if (bytes[end] !== colon) return end;
    this.#expects = expects.value;
    const next = skipBlank(bytes, end + 1);
    return next === bytes.length ? next : this.#value(bytes, next);
  }

  #rowKey(bytes: Uint8Array, start: number, end: number): void {
    if (this.#cutKey === null) return this.#rows.rowKey(bytes, start, end);
    this.#cutKey.add(bytes, start, end);
    this.#rows.rowKey(this.#cutKey.bytes, 0, this.#cutKey.length);
    this.#cutKey = null;
  }

  /** Moves behind a string's closing quote, or to where it is cut or malformed. */
  #endOfString(bytes: Uint8Array, start: number): number {
    let at = start;
    let place = this.#place;
    while (at < bytes.length && place >= 0) {
      if (place !== inText) {
        place = nextInString(place, bytes[at++]!);
        continue;
      }
      while (at < bytes.length && isPlain[bytes[at]!] === 1) at++;
      if (at === bytes.length) break;
      const code = bytes[at++]!;
      place = code === quote ? ended : leaveText(code);
    }
    this.#place = place;
    if (place === invalid) this.#expects = expects.nothing;
    return at;
  }

  #number(bytes: Uint8Array, start: number): number {
    let at = start;
    let place = this.#place;
    while (at < bytes.length && place >= 0) {
      place = nextInNumber(place, bytes[at++]!);
      if (place === integer) at = skipDigits(bytes, at);
    }
    this.#place = place;
    if (place >= 0) return at;
    this.#expects = place === ended ? expects.delimiter : expects.nothing;
    if (place !== ended) return at;
    // The character that ended the number is still to be looked at.
    return at - 1;
  }

  #word(bytes: Uint8Array, start: number): number {
    let at = start;
    while (at < bytes.length && this.#place < this.#letters.length) {
      if (bytes[at] !== this.#letters.charCodeAt(this.#place++)) {
        return this.#become(expects.nothing, at);
      }
      at++;
    }
    if (this.#place === this.#letters.length) this.#expects = expects.delimiter;
    return at;
  }
}

/** Counts the UTF-8 characters that begin before a position. */
function countCharacters(bytes: Uint8Array, end: number): number {
  let count = 0;
  for (let at = 0; at < end; at++) if ((bytes[at]! & 0xc0) !== 0x80) count++;
  return count;
}

function skipDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  let code = bytes[at];
  while (code !== undefined && code >= 0x30 && code <= 0x39) code = bytes[++at];
  return at;
}

function skipBlank(bytes: Uint8Array, start: number): number {
  let at = start;
  let code = bytes[at];
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = bytes[++at];
  return at;
}

/** Opening byte of each container around a value, innermost last: one byte each, since depth is free. */
class OpenContainers {
  #codes = new Uint8Array(64);
  depth = 0;

  /** 0 outside of all. */
  get last(): number {
    return this.depth === 0 ? 0 : this.#codes[this.depth - 1]!;
  }

  push(code: number): void {
    if (this.depth === this.#codes.length) {
      const grown = new Uint8Array(this.depth * 2);
      grown.set(this.#codes);
      this.#codes = grown;
    }
    this.#codes[this.depth++] = code;
  }

  pop(): void {
    this.depth--;
  }
}
