/** CSV bodies, a line of names and then lines of values, as a JSON array of objects whose values
 * are strings or null. @module */
import type { Dialect } from "../../dialect.ts";
import { errors } from "../../errors/catalogue.ts";
import { maxNames, NameBuffer } from "./body_names.ts";
import { ByteWriter } from "./byte_writer.ts";
import { type CsvEvents, CsvScanner } from "./csv_scanner.ts";
import { MarkSkipper, Utf8Check } from "./utf8.ts";

const [comma, quote, openBracket, closeBracket, closeBrace] = [0x2c, 0x22, 0x5b, 0x5d, 0x7d];

/** Text of a field that stands for NULL. */
const nullField = Uint8Array.from([0x4e, 0x55, 0x4c, 0x4c]);
const nullWord = Uint8Array.from([0x6e, 0x75, 0x6c, 0x6c]);

export interface CsvOptions {
  /** How NULL is written: `exact` without quotes, as `NULL` or nothing; `row text` as `NULL` alone. */
  readonly form: Dialect["csv"];
  /**
   * Only the first row is written: functions look at no other, but for one whose unnamed parameter takes
   * the whole, which the empty name stands for.
   */
  readonly firstRowOnly: boolean;
  /** Called behind the first row with the keys, sorted. */
  readonly onKeys: (keys: readonly string[]) => void;
}

/**
 * Turns CSV into JSON, piece by piece. Fields beyond the names are dropped, and
 * names without a field left out; all rows must come out with the same names.
 *
 * A name that stands twice comes twice, so that the last one counts, as PostgreSQL reads `json`.
 */
export class CsvToJson implements CsvEvents {
  readonly #options: CsvOptions;
  readonly #mark = new MarkSkipper();
  readonly #utf8 = new Utf8Check();
  readonly #scanner = new CsvScanner(this);
  readonly #out = new ByteWriter();
  readonly #name = new NameBuffer();
  readonly #names: string[] = [];
  readonly #differentNames = new Set<string>();
  /** Text before the value of each name: `{"a":` and `,"b":`. */
  readonly #prefixes: Uint8Array[] = [];
  /** How many different names the first 0, 1, 2, … are. */
  readonly #distinct: number[] = [0];
  #part: "names" | "first row" | "rows" = "names";
  /** Position of the field in its record. */
  #column = 0;
  /** How many of {@linkcode nullField} the field has been so far; -1 when it is something else. */
  #nullLength = 0;
  /** How many different names the first row has. */
  #width = 0;
  /** Position behind the last row in the JSON that was returned last; -1 without one. */
  lastRowEnd = -1;

  constructor(options: CsvOptions) {
    this.#options = options;
  }

  /** Keys of the rows, sorted; none without rows. */
  get keys(): readonly string[] {
    const first = this.#distinct.indexOf(this.#width);
    return [...new Set(this.#names.slice(0, first))].sort();
  }

  /** Whether the first row has ended. */
  get areKeysKnown(): boolean {
    return this.#part === "rows";
  }

  /** Takes the next piece. Returns JSON, which is valid until the next call. Throws `102`. */
  write(piece: Uint8Array): Uint8Array {
    this.lastRowEnd = -1;
    this.#utf8.add(piece);
    this.#scanner.push(this.#mark.skip(piece));
    return this.#out.take();
  }

  /** Takes the end. Returns the last of the JSON. Throws `102`. */
  end(): Uint8Array {
    this.lastRowEnd = -1;
    this.#utf8.end();
    this.#scanner.end();
    if (this.#part !== "rows") this.#out.byte(openBracket);
    this.#out.byte(closeBracket);
    return this.#out.take();
  }

  fieldBegins(isQuoted: boolean): void {
    if (!this.#isWritten) return;
    if (this.#column === 0) this.#out.byte(this.#part === "first row" ? openBracket : comma);
    this.#out.bytes(this.#prefixes[this.#column]!);
    this.#nullLength = 0;
    if (isQuoted && this.#options.form === "exact") this.#beginText();
  }

  fieldText(bytes: Uint8Array, start: number, end: number): void {
    if (this.#part === "names") return this.#name.add(bytes, start, end);
    if (!this.#isWritten) return;
    let at = start;
    // A field that begins like NULL is held back.
    while (this.#nullLength >= 0 && at < end) {
      if (bytes[at] === nullField[this.#nullLength]) {
        this.#nullLength++;
        at++;
      } else this.#beginText();
    }
    this.#out.jsonText(bytes, at, end);
  }

  fieldEnds(): void {
    if (this.#part === "names") this.#addName();
    else if (this.#isWritten) this.#endValue();
    this.#column++;
  }

  recordEnds(): void {
    if (this.#writesRow) {
      this.#out.byte(closeBrace);
      this.lastRowEnd = this.#out.length;
    }
    const distinct = this.#distinct[Math.min(this.#column, this.#names.length)]!;
    this.#column = 0;
    switch (this.#part) {
      case "names":
        this.#part = "first row";
        return;
      case "first row":
        this.#width = distinct;
        this.#part = "rows";
        return this.#options.onKeys(this.keys);
      case "rows":
        if (distinct === this.#width) return;
        throw errors.invalidBody("All lines must have same number of fields");
      default:
        return this.#part satisfies never;
    }
  }

  get #writesRow(): boolean {
    if (this.#part !== "rows") return this.#part === "first row";
    return !this.#options.firstRowOnly || this.#differentNames.has("");
  }

  /** Whether the field's value has a place in the JSON. */
  get #isWritten(): boolean {
    return this.#column < this.#names.length && this.#writesRow;
  }

  #addName(): void {
    if (this.#names.length === maxNames) throw this.#scanner.problem(`more than ${maxNames} names`);
    const name = this.#name.text;
    this.#name.clear();
    this.#distinct.push(this.#differentNames.add(name).size);
    const before = this.#names.length === 0 ? "{" : ",";
    this.#prefixes.push(new TextEncoder().encode(`${before}${JSON.stringify(name)}:`));
    this.#names.push(name);
  }

  #beginText(): void {
    this.#out.byte(quote);
    this.#out.bytes(nullField, 0, this.#nullLength);
    this.#nullLength = -1;
  }

  #endValue(): void {
    const isNull = this.#nullLength === nullField.length ||
      (this.#nullLength === 0 && this.#options.form === "exact");
    if (isNull) return this.#out.bytes(nullWord);
    if (this.#nullLength >= 0) this.#beginText();
    this.#out.byte(quote);
  }
}
