/** Compares two answers to one read. @module */
import { isJsonObject, type JsonObject } from "../lib/json_object.ts";
import type { RowOrder } from "./row_order.ts";
import { shownValue } from "./shape.ts";
import type { ReadAnswer } from "./timed_answer.ts";

/** Texts of both sides by their places: `status`, `header Content-Range`, `[].price`. */
export type AnswerDifferences = ReadonlyMap<string, readonly [upstream: string, own: string]>;

/** Headers that clients of the interface read. */
const comparedHeaders =
  ("Allow,Cache-Control,Content-Location,Content-Range,Content-Type,Location," +
    "Preference-Applied,WWW-Authenticate").split(",");

/** Options of the comparisons of a read. */
export interface CompareOptions {
  readonly order: RowOrder;
  /** Places whose values are not compared. */
  readonly noise: ReadonlySet<string>;
}

/** Returns the differences. Of answers with unlike statuses, only these are compared. */
export function compareAnswers(
  upstream: ReadAnswer,
  own: ReadAnswer,
  options: CompareOptions,
): AnswerDifferences {
  const comparison = new AnswerComparison(options);
  const [body, ownBody] = [bodyOf(upstream), bodyOf(own)];
  if (upstream.status !== own.status) {
    comparison.add("status", errorOf(upstream, body), errorOf(own, ownBody));
  } else if (!options.noise.has("status")) {
    for (const name of comparedHeaders) {
      const [one, other] = [upstream, own].map(({ headers }) => headerText(headers, name));
      if (one !== other) comparison.add(`header ${name}`, one, other);
    }
    if (upstream.text !== own.text) comparison.compare(body, ownBody, "");
  }
  return comparison.found;
}

function headerText(headers: Headers, name: string): string | undefined {
  const value = headers.get(name)?.replace(/\s*([;,])\s*/g, "$1");
  return name === "Content-Type" ? value?.toLowerCase() : value;
}

/** Returns the value of JSON, the lines of CSV, else the text. */
function bodyOf({ headers, text }: ReadAnswer): unknown {
  const type = headers.get("Content-Type") ?? "";
  if (/^text\/csv\b/.test(type)) return text.split("\n");
  try {
    return /[/+]json\b/.test(type) ? JSON.parse(text, exactNumber) : text;
  } catch {
    return text;
  }
}

/** Returns the text of an integer that a number cannot hold. */
function exactNumber(_name: string, value: unknown, context?: { readonly source?: string }) {
  const isInexact = typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return isInexact ? context?.source ?? value : value;
}

function errorOf({ status }: ReadAnswer, body: unknown): unknown {
  if (status < 400 || !isJsonObject(body)) return status;
  return { status, code: body["code"], message: body["message"] };
}

/** Compares bodies. The place of a value has `[]` for every index, so that rows share places. */
class AnswerComparison {
  readonly found = new Map<string, readonly [upstream: string, own: string]>();

  constructor(private readonly options: CompareOptions) {}

  add(place: string, upstream: unknown, own: unknown): void {
    if (this.options.noise.has(place) || this.found.has(place)) return;
    this.found.set(place, [shownValue(upstream, place), shownValue(own, place)]);
  }

  compare(upstream: unknown, own: unknown, place: string): void {
    if (this.options.noise.has(place)) return;
    if (Array.isArray(upstream) && Array.isArray(own)) {
      this.#compareArrays(upstream, own, `${place}[]`);
    } else if (isJsonObject(upstream) && isJsonObject(own)) {
      for (const name of new Set([...Object.keys(upstream), ...Object.keys(own)])) {
        const [one, other] = [upstream, own].map((each) =>
          Object.hasOwn(each, name) ? each[name] : undefined
        );
        this.compare(one, other, `${place}.${name}`);
      }
    } else if (upstream !== own) this.add(place || "body", upstream, own);
  }

  #compareArrays(upstream: readonly unknown[], own: readonly unknown[], place: string): void {
    if (this.options.noise.has(place)) return;
    const [texts, ownTexts] = [this.#texts(upstream, place), this.#texts(own, place)];
    if (texts.join() === ownTexts.join()) return;
    const rows = without(upstream.map((row) => ({ row, text: this.#text(row, place) })), ownTexts);
    const ownRows = without(own.map((row) => ({ row, text: this.#text(row, place) })), texts);
    if (upstream.length !== own.length) {
      const [one, other] = [{ rows: upstream.length }, { rows: own.length }];
      this.add(place, { ...one, only: rows[0]?.row }, { ...other, only: ownRows[0]?.row });
    } else if (rows.length === 0) {
      const at = texts.findIndex((text, index) => text !== ownTexts[index]);
      this.add(`order of ${place}`, upstream[at], own[at]);
    } else rows.forEach(({ row }, at) => this.compare(row, ownRows[at]!.row, place));
  }

  /** Returns the texts of elements in an order that both arrays share if they are equal. */
  #texts(elements: readonly unknown[], place: string): readonly string[] {
    const keys = this.options.order(place, elements);
    let run = 0;
    let last = "";
    const texts = elements.map((row, at) => {
      // Rows of equal keys have no order among each other.
      const key = typeof keys === "string"
        ? ""
        : JSON.stringify(keys.map((each) => (row as JsonObject)[each]));
      run = keys === "as is" ? at : key === last ? run : run + 1;
      last = key;
      return { run, text: this.#text(row, place) };
    });
    return texts.sort((one, other) => one.run - other.run || (one.text < other.text ? -1 : 1))
      .map(({ text }) => text);
  }

  /** Returns a text that equal values share: without noise, members by name, rows in their order. */
  #text(value: unknown, place: string): string {
    const { noise } = this.options;
    if (noise.has(place)) return "";
    if (Array.isArray(value)) {
      return noise.has(`${place}[]`) ? "[]" : `[${this.#texts(value, `${place}[]`)}]`;
    }
    if (!isJsonObject(value)) return JSON.stringify(value);
    const members = Object.keys(value).sort().map((name) =>
      `${JSON.stringify(name)}:${this.#text(value[name], `${place}.${name}`)}`
    );
    return `{${members}}`;
  }
}

interface TextOfRow {
  readonly row: unknown;
  readonly text: string;
}

/** Returns the rows that are not among the texts of others, each of which stands for one row. */
function without(rows: readonly TextOfRow[], others: readonly string[]): readonly TextOfRow[] {
  const counts = new Map<string, number>();
  for (const text of others) counts.set(text, (counts.get(text) ?? 0) + 1);
  return rows.filter(({ text }) => {
    const left = counts.get(text) ?? 0;
    counts.set(text, left - 1);
    return left <= 0;
  });
}
