/** Scans JSON text (RFC 8259) in UTF-8, chunk by chunk, without creating values. It accepts exactly
 * what `JSON.parse` accepts. Chunks may end anywhere, also inside a character. @module */
import { NameBuffer } from "./body_names.ts";

/** Receives the positions of rows: the objects of a top-level array, or the top-level object. */
export interface RowEvents {
  rowBegins(): void;
  /**
   * Receives a key of the row, as spelled between its quotes. The bytes are valid during the call.
   */
  rowKey(bytes: Uint8Array, start: number, end: number): void;
  rowEnds(): void;
  /** Called for an element of the top-level array that is not an object. */
  otherElement(): void;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The token that is expected next, or that the chunk has ended in. */
const expects = {
  value: 0,
  elementOrEnd: 1,
  keyOrEnd: 2,
  key: 3,
  colon: 4,
  delimiter: 5,
  restOfString: 6,
  restOfKey: 7,
  restOfScalar: 8,
  nothing: 9,
} as const;

/** Maximum nesting. The limit of PostgreSQL, which parses JSON recursively, is lower. */
const maxDepth = 65_536;

export class JsonScanner {
  readonly #rows: RowEvents;
  /** Opening byte of each container around the current value, innermost last. */
  readonly #open: number[] = [];
  /** Checks the UTF-8 of chunks from the first non-ASCII character on; null before it. */
  #utf8: TextDecoder | null = null;
  /** The first part of a key that continues in the next chunk; null if no key is cut. */
  #cutKey: NameBuffer | null = null;
  #expects: number = expects.value;
  /** State inside a string, a number, `true`, `false` or `null`. */
  #place: number = inText;
  /** Nesting depth in which rows have their members: 1 or 2; 0 before the first value. */
  #rowDepth = 0;
  /** Whether the text is neither an object nor an array. */
  isScalar = false;
  /** Position after the last row that ended in the last chunk, or -1. */
  lastRowEnd = -1;
  /** Number of bytes before the chunk. */
  #before = 0;
  #problem: string | null = null;

  constructor(rows: RowEvents) {
    this.#rows = rows;
  }

  get shape(): "object" | "array" {
    return this.#rowDepth === 1 ? "object" : "array";
  }

  /** Whether the last token ended an element of the top-level array. */
  get isBehindElement(): boolean {
    return this.#rowDepth === 2 && this.#open.length === 1 && this.#expects === expects.delimiter;
  }

  /** Why the text is malformed. */
  get problem(): string {
    return this.#problem ?? (this.#before === 0 ? "The text is empty" : "The text ends early");
  }

  /** Scans the next chunk. Returns false if the text is malformed. */
  push(bytes: Uint8Array): boolean {
    this.lastRowEnd = -1;
    let at = 0;
    while (at < bytes.length && this.#expects !== expects.nothing) at = this.#step(bytes, at);
    if (this.#expects === expects.nothing) this.#problem ??= `Unexpected byte ${this.#before + at}`;
    this.#before += bytes.length;
    if (this.#utf8 !== null && !isUtf8(bytes, this.#utf8)) {
      this.#problem ??= "The text is not UTF-8";
      this.#expects = expects.nothing;
    }
    return this.#expects !== expects.nothing;
  }

  /** Ends the text. Returns false if it is malformed. */
  end(): boolean {
    if (this.#expects === expects.restOfScalar) this.#endScalar();
    return this.#open.length === 0 && this.#expects === expects.delimiter;
  }

  /**
   * Scans a token, or several that often follow each other. Returns the position where it stopped.
   */
  #step(bytes: Uint8Array, at: number): number {
    switch (this.#expects) {
      case expects.restOfString:
        return this.#string(bytes, at);
      case expects.restOfKey:
        return this.#key(bytes, at);
      case expects.restOfScalar:
        return this.#restOfScalar(bytes, at);
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
    if (this.#rowDepth === 0) {
      this.#rowDepth = code === openBrace ? 1 : 2;
      this.isScalar = code !== openBrace && code !== openBracket;
    }
    if (this.#rowDepth === this.#open.length + 1) {
      if (code === openBrace) this.#rows.rowBegins();
      else this.#rows.otherElement();
    }
    switch (code) {
      case openBrace:
        return this.#enter(code, expects.keyOrEnd, at);
      case openBracket:
        return this.#enter(code, expects.elementOrEnd, at);
      case quote:
        this.#place = inText;
        this.#expects = expects.restOfString;
        return this.#string(bytes, at + 1);
      default:
        return this.#restOfScalar(bytes, at);
    }
  }

  #enter(code: number, next: number, at: number): number {
    const isTooDeep = this.#open.push(code) > maxDepth;
    return this.#become(isTooDeep ? expects.nothing : next, at);
  }

  /** Scans the rest of a number, `true`, `false` or `null`, up to the first other character. */
  #restOfScalar(bytes: Uint8Array, start: number): number {
    let at = start;
    let place = this.#expects === expects.restOfScalar ? this.#place : beginsScalar;
    while (at < bytes.length) {
      const next = scalarSteps[place << 8 | bytes[at]!]!;
      if (next === 0) break;
      place = next;
      at++;
    }
    this.#place = place;
    this.#expects = expects.restOfScalar;
    if (at < bytes.length) this.#endScalar();
    return this.#expects === expects.nothing ? at + 1 : at;
  }

  #endScalar(): void {
    this.#expects = endsScalar.has(this.#place) ? expects.delimiter : expects.nothing;
  }

  #beginKey(bytes: Uint8Array, at: number): number {
    if (bytes[at] !== quote) return this.#become(expects.nothing, at);
    this.#place = inText;
    this.#expects = expects.restOfKey;
    return this.#key(bytes, at + 1);
  }

  /** Scans the token after a value. */
  #delimiter(bytes: Uint8Array, at: number): number {
    const code = bytes[at]!;
    const container = this.#open.at(-1);
    if (code === comma && container !== undefined) {
      if (container === openBracket) return this.#become(expects.value, at);
      this.#expects = expects.key;
      return bytes[at + 1] === quote ? this.#beginKey(bytes, at + 1) : at + 1;
    }
    if (code === closeBracket && container === openBracket) return this.#close(at);
    if (code === closeBrace && container === openBrace) return this.#close(at);
    return this.#become(expects.nothing, at);
  }

  #close(at: number): number {
    const isRow = this.#open.length === this.#rowDepth && this.#open.at(-1) === openBrace;
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
    const isRowKey = this.#open.length === this.#rowDepth;
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

  /**
   * Returns the position after a string's closing quote, or where the string is cut or malformed.
   */
  #endOfString(bytes: Uint8Array, start: number): number {
    let at = start;
    let place: number = this.#place;
    while (at < bytes.length && place >= 0) {
      if (place !== inText) {
        place = nextInEscape(place, bytes[at++]!);
        continue;
      }
      while (at < bytes.length && isPlain[bytes[at]!] === 1) at++;
      if (at === bytes.length) break;
      const code = bytes[at++]!;
      if (code >= 0x80) this.#utf8 ??= new TextDecoder("utf-8", { fatal: true });
      else place = code === quote ? ended : code === backslash ? escape : invalid;
    }
    this.#place = place;
    if (place === invalid) this.#expects = expects.nothing;
    return at;
  }
}

/** States in a string: between characters, after a backslash, four hex digits left, one left. */
const [inText, escape, hex4, hex1] = [0, 1, 2, 5] as const;
/** States at the end of a scan: after the closing quote, and in a malformed string. */
const [ended, invalid] = [-2, -1] as const;

/** Returns the state after a byte of an escape. */
function nextInEscape(place: number, code: number): number {
  if (place === escape) return code === 0x75 ? hex4 : escapable.has(code) ? inText : invalid;
  if (!hexDigits.has(code)) return invalid;
  return place === hex1 ? inText : place + 1;
}

/** Returns whether the next chunk of a text is UTF-8. */
function isUtf8(bytes: Uint8Array, decoder: TextDecoder): boolean {
  try {
    decoder.decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Table of bytes: 1 for ASCII characters that need no escape in a string. */
const isPlain = Uint8Array.from(
  { length: 256 },
  (_, code) => code >= 0x20 && code < 0x80 && code !== quote && code !== backslash ? 1 : 0,
);

const ascii = new TextEncoder();
const escapable: ReadonlySet<number> = new Set(ascii.encode('"\\/bfnrt'));
const hexDigits: ReadonlySet<number> = new Set(ascii.encode("0123456789abcdefABCDEF"));

/** States in a number (RFC 8259, section 6), and after `true`, `false` or `null`. */
const [beginsScalar, minus, zero, whole, point] = [1, 2, 3, 4, 5] as const;
const [fraction, exponent, sign, power, behindWord] = [6, 7, 8, 9, 10] as const;
const endsScalar: ReadonlySet<number> = new Set([zero, whole, fraction, power, behindWord]);

const scalarSteps = makeScalarSteps();

/** Returns the table of state transitions for numbers, `true`, `false` and `null`, at index
 * `state << 8 | byte`; 0 if the byte is not allowed. */
function makeScalarSteps(): Uint8Array {
  const steps = new Uint8Array(32 << 8);
  const add = (from: readonly number[], characters: string, to: number) => {
    for (const place of from) {
      for (const code of ascii.encode(characters)) steps[place << 8 | code] = to;
    }
  };
  const digits = "0123456789";
  add([beginsScalar], "-", minus);
  add([beginsScalar, minus], "0", zero);
  add([beginsScalar, minus], "123456789", whole);
  add([whole], digits, whole);
  add([zero, whole], ".", point);
  add([point, fraction], digits, fraction);
  add([zero, whole, fraction], "eE", exponent);
  add([exponent], "+-", sign);
  add([exponent, sign, power], digits, power);
  let inner: number = behindWord;
  for (const word of ["true", "false", "null"]) {
    let place: number = beginsScalar;
    for (const [index, letter] of [...word].entries()) {
      const next = index === word.length - 1 ? behindWord : ++inner;
      add([place], letter, next);
      place = next;
    }
  }
  return steps;
}

function skipBlank(bytes: Uint8Array, start: number): number {
  let at = start;
  let code = bytes[at];
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = bytes[++at];
  return at;
}
