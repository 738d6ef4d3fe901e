/** Bodies in CSV (RFC 4180). A line of names and lines of values become a JSON array of objects,
 * whose values are strings or null. @module */
import type { Dialect } from "../../../base/dialect.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import type { ServiceError } from "../../../base/errors/service_error.ts";
import {
  type BodyDecoder,
  noBytes,
  type OnKeys,
  type Payload,
  type PayloadUse,
} from "./body_decoder.ts";
import { maxNames, shortName } from "./body_names.ts";
import { nextText, utf8Decoder } from "../utf8.ts";

/** State of the decoder. */
type Place = "record start" | "field start" | "plain field" | "quoted field" | "behind quote";

/** Maximum length of a line. JavaScript's strings have at most 512 Mi characters, and `\u0001` becomes six. */
const maxRecordLength = 64 * 1024 * 1024;

/**
 * Converts CSV to JSON. A quoted field may contain commas, line breaks and doubled quotes; other
 * fields contain no quotes. A record ends in LF, CRLF or CR, which the last record may lack. Blank
 * lines are skipped.
 *
 * Each record has a field for each name, and names are unique.
 */
export class CsvDecoder implements BodyDecoder {
  readonly work = "converts";
  readonly #takes: PayloadUse;
  readonly #onKeys: OnKeys;
  /** How NULL is written. `exact`: unquoted, as `NULL` or as nothing. `row text`: only as `NULL`. */
  readonly #form: Dialect["csv"];
  readonly #utf8 = utf8Decoder();
  readonly #bytes = new TextEncoder();
  #place: Place = "record start";
  #records = 0;
  /** Text of the current field. */
  #field = "";
  #isQuoted = false;
  /** Numbers in the current record: complete fields, and all characters. */
  #column = 0;
  #recordLength = 0;
  readonly #names: string[] = [];
  /** Text before the value of each name: `{"a":` and `,"b":`. */
  readonly #prefixes: string[] = [];
  /** Whether the first row is complete. */
  #hasRows = false;
  /** JSON of the current row, and of the rows that ended in the last chunk. */
  #row = "";
  #rows = "";
  #lastRowEnd = -1;

  constructor(takes: PayloadUse, onKeys: OnKeys, form: Dialect["csv"] = "exact") {
    this.#takes = takes;
    this.#onKeys = onKeys;
    this.#form = form;
  }

  get cuts() {
    return {
      lastRowEnd: this.#lastRowEnd,
      areKeysKnown: this.#hasRows,
      isMixed: false,
      problem: null,
    };
  }

  write(chunk: Uint8Array): Uint8Array {
    const text = nextText(this.#utf8, chunk);
    this.#rows = "";
    for (let at = 0; at < text.length;) at = this.#step(text, at);
    const json = this.#bytes.encode(this.#rows);
    this.#lastRowEnd = json.length > 0 ? json.length : -1;
    return json;
  }

  end(): Uint8Array {
    nextText(this.#utf8, null);
    if (this.#place === "quoted field") throw this.#problem("quote not closed");
    if (this.#records === 0) {
      throw this.#problem(this.#place === "record start" ? "no names" : "no line break");
    }
    this.#rows = "";
    if (this.#place !== "record start") this.#endRecord();
    this.#lastRowEnd = -1;
    return this.#bytes.encode(`${this.#rows}${this.#hasRows ? "" : "["}]`);
  }

  payload(text: Uint8Array): Payload {
    const keys = this.#hasRows ? this.#names.toSorted() : [];
    const source = this.#form === "exact" ? "csv" : this.#form;
    return { kind: "json", source, shape: "array", keys, moreKeys: 0, text };
  }

  #problem(what: string): ServiceError {
    return errors.invalidBody(`parse error (${what}) at line ${this.#records + 1} of the CSV body`);
  }

  /** Parses from a position. Returns the position where it stopped. */
  #step(text: string, at: number): number {
    switch (this.#place) {
      case "record start":
        if (isLineBreak(text[at])) return at + 1;
        this.#place = "field start";
        return at;
      case "field start":
        this.#isQuoted = text[at] === '"';
        this.#place = this.#isQuoted ? "quoted field" : "plain field";
        return this.#isQuoted ? at + 1 : at;
      case "plain field": {
        plainText.lastIndex = at;
        plainText.test(text);
        const end = plainText.lastIndex;
        this.#add(text.slice(at, end));
        if (text[end] === '"') throw this.#problem("quote in a field without quotes");
        return end === text.length ? end : this.#delimiter(text, end);
      }
      case "quoted field": {
        const end = text.indexOf('"', at);
        this.#add(text.slice(at, end < 0 ? text.length : end));
        if (end < 0) return text.length;
        this.#place = "behind quote";
        return end + 1;
      }
      case "behind quote":
        if (text[at] === '"') {
          this.#add('"');
          this.#place = "quoted field";
          return at + 1;
        }
        if (text[at] === "," || isLineBreak(text[at])) return this.#delimiter(text, at);
        throw this.#problem("text after a closing quote");
      default:
        return this.#place satisfies never;
    }
  }

  #add(text: string): void {
    this.#recordLength += text.length;
    if (this.#recordLength > maxRecordLength) throw errors.bodyTooLarge(maxRecordLength, null);
    // A field without a name needs no text, because its record ends with an error.
    if (this.#records === 0 || this.#column < this.#names.length) this.#field += text;
  }

  /** Reads the comma or line break after a field. */
  #delimiter(text: string, at: number): number {
    if (text[at] === ",") {
      this.#endField();
      this.#place = "field start";
    } else this.#endRecord();
    return at + 1;
  }

  #endField(): void {
    if (this.#records === 0) this.#addName(this.#field);
    else if (this.#column < this.#names.length) {
      this.#row += this.#prefixes[this.#column]! + this.#valueText();
    }
    this.#column++;
    this.#field = "";
    this.#isQuoted = false;
  }

  #valueText(): string {
    const isExact = this.#form === "exact";
    const isNull = isExact
      ? !this.#isQuoted && (this.#field === "" || this.#field === "NULL")
      : this.#field === "NULL";
    return isNull ? "null" : JSON.stringify(this.#field);
  }

  #addName(text: string): void {
    if (this.#names.length === maxNames) throw this.#problem(`more than ${maxNames} names`);
    const name = shortName(text);
    this.#prefixes.push(`${this.#names.length === 0 ? "{" : ","}${JSON.stringify(name)}:`);
    this.#names.push(name);
  }

  #endRecord(): void {
    this.#endField();
    if (this.#records > 0) this.#endRow();
    else if (new Set(this.#names).size < this.#names.length) {
      throw this.#problem("a name occurs twice");
    }
    this.#records++;
    this.#column = 0;
    this.#recordLength = 0;
    // After the CR of CRLF, the LF is skipped like a blank line.
    this.#place = "record start";
  }

  /** Ends a row. A function uses only the first row. If a name is empty, all rows may be the value
   * of a single unnamed parameter. */
  #endRow(): void {
    const [fields, names] = [this.#column, this.#names.length];
    if (fields !== names) {
      throw errors.invalidBody(
        "All lines must have same number of fields",
        `line ${this.#records + 1} has ${fields}, and the line of names ${names}`,
      );
    }
    const isFirst = !this.#hasRows;
    if (this.#takes === "rows" || isFirst || this.#names.includes("")) {
      this.#rows += `${isFirst ? "[" : ","}${this.#row}}`;
    }
    this.#row = "";
    this.#hasRows = true;
    if (isFirst) this.#onKeys(this.payload(noBytes));
  }
}

/** Matches the text of an unquoted field. */
const plainText = /[^",\r\n]*/y;

function isLineBreak(character: string | undefined): boolean {
  return character === "\n" || character === "\r";
}
