/** Divides CSV (RFC 4180) into records and fields, piece by piece. @module */
import { errors } from "../../errors/catalogue.ts";
import type { ServiceError } from "../../errors/service_error.ts";

/** Receives records and fields in the order of the text. */
export interface CsvEvents {
  fieldBegins(isQuoted: boolean): void;
  /** The next bytes of the field, without its quotes; valid during the call. */
  fieldText(bytes: Uint8Array, start: number, end: number): void;
  fieldEnds(): void;
  recordEnds(): void;
}

const quote = 0x22;
const comma = 0x2c;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** 1 for what ends the run of a field without quotes. */
const isSpecial = Uint8Array.from(
  { length: 256 },
  (_, code) => [quote, comma, lineFeed, carriageReturn].includes(code) ? 1 : 0,
);

/** Where in the text the scanner is. */
type Place = "record start" | "field start" | "plain field" | "quoted field" | "behind quote";

/**
 * Reads one text, as UTF-8. A field in quotes may hold commas, line breaks and, doubled, quotes; no other
 * field may hold a quote. Records end in LF, CRLF or CR, the first one always, the last one at the end of
 * the text. Blank lines are skipped.
 */
export class CsvScanner {
  readonly #events: CsvEvents;
  #place: Place = "record start";
  #records = 0;

  constructor(events: CsvEvents) {
    this.#events = events;
  }

  /** Takes the next piece. Throws `102`. */
  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) at = this.#step(bytes, at);
  }

  /** Takes the end. Throws `102`. */
  end(): void {
    if (this.#place === "quoted field") throw this.problem("quote not closed");
    if (this.#records === 0) {
      throw this.problem(this.#place === "record start" ? "no names" : "no line break");
    }
    if (this.#place === "record start") return;
    if (this.#place === "field start") this.#events.fieldBegins(false);
    this.#events.fieldEnds();
    this.#events.recordEnds();
  }

  /** The error that says what is wrong in the record that the scanner is in. */
  problem(what: string): ServiceError {
    return errors.invalidBody(`parse error (${what}) at line ${this.#records + 1} of the CSV body`);
  }

  #step(bytes: Uint8Array, at: number): number {
    switch (this.#place) {
      case "record start":
        if (!isLineBreak(bytes[at]!)) this.#place = "field start";
        return isLineBreak(bytes[at]!) ? at + 1 : at;
      case "field start":
        this.#events.fieldBegins(bytes[at] === quote);
        this.#place = bytes[at] === quote ? "quoted field" : "plain field";
        return bytes[at] === quote ? at + 1 : this.#plain(bytes, at);
      case "plain field":
        return this.#plain(bytes, at);
      case "quoted field":
        return this.#quoted(bytes, at);
      case "behind quote":
        return this.#behindQuote(bytes, at);
      default:
        return this.#place satisfies never;
    }
  }

  #plain(bytes: Uint8Array, start: number): number {
    let at = start;
    while (at < bytes.length && isSpecial[bytes[at]!] === 0) at++;
    if (at > start) this.#events.fieldText(bytes, start, at);
    if (at === bytes.length) return at;
    if (bytes[at] === quote) throw this.problem("quote in a field without quotes");
    return this.#delimiter(bytes, at);
  }

  #quoted(bytes: Uint8Array, start: number): number {
    const end = bytes.indexOf(quote, start);
    const textEnd = end < 0 ? bytes.length : end;
    if (textEnd > start) this.#events.fieldText(bytes, start, textEnd);
    if (end < 0) return textEnd;
    this.#place = "behind quote";
    return end + 1;
  }

  #behindQuote(bytes: Uint8Array, at: number): number {
    if (bytes[at] === quote) {
      this.#events.fieldText(bytes, at, at + 1);
      this.#place = "quoted field";
      return at + 1;
    }
    if (bytes[at] !== comma && !isLineBreak(bytes[at]!)) {
      throw this.problem("text after a closing quote");
    }
    return this.#delimiter(bytes, at);
  }

  /** A comma or a line break ends a field. */
  #delimiter(bytes: Uint8Array, at: number): number {
    this.#events.fieldEnds();
    if (bytes[at] === comma) {
      this.#place = "field start";
    } else {
      this.#events.recordEnds();
      this.#records++;
      // The second character of CRLF is a blank line.
      this.#place = "record start";
    }
    return at + 1;
  }
}

function isLineBreak(code: number): boolean {
  return code === lineFeed || code === carriageReturn;
}
