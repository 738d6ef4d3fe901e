/** Compares two responses to one read. @module */
import { isJsonObject, type JsonObject } from "../../base/lib/json_object.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import { shownValue } from "./shape.ts";
import type { TimedAnswer } from "./timed_answer.ts";

type ReadAnswer = Omit<TimedAnswer, "milliseconds">;

/** Texts of both sides by place: `status`, `header Content-Range`, `[].price`. */
export type AnswerDifferences = ReadonlyMap<string, readonly [upstream: string, svc: string]>;

/** Headers that clients of the interface use. */
const comparedHeaders =
  ("Allow,Cache-Control,Content-Location,Content-Range,Content-Type,Location," +
    "Preference-Applied,WWW-Authenticate").split(",");

export interface CompareOptions {
  readonly order: RowOrder;
  /** Places whose values are not compared. */
  readonly noise: ReadonlySet<string>;
}

/** Returns the differences. If the statuses differ, headers and bodies are not compared. */
export function compareAnswers(
  upstream: ReadAnswer,
  svc: ReadAnswer,
  options: CompareOptions,
): AnswerDifferences {
  const comparison = new AnswerComparison(options);
  if (upstream.status !== svc.status) {
    comparison.add("status", errorOf(upstream), errorOf(svc));
  } else if (!options.noise.has("status")) {
    for (const name of comparedHeaders) {
      const [one, other] = [upstream, svc].map(({ headers }) => headerText(headers, name));
      if (one !== other) comparison.add(`header ${name}`, one, other);
    }
    if (upstream.text !== svc.text) comparison.compare(bodyOf(upstream), bodyOf(svc), "");
  }
  return comparison.differences;
}

function headerText(headers: Headers, name: string): string | undefined {
  const value = headers.get(name)?.replace(/\s*([;,])\s*/g, "$1");
  return name === "Content-Type" ? value?.toLowerCase() : value;
}

/** Returns parsed JSON, the lines of CSV by column name, or else the text. */
function bodyOf({ headers, text }: ReadAnswer): unknown {
  const type = headers.get("Content-Type") ?? "";
  const [names = "", ...lines] = /^text\/csv\b/.test(type) ? text.split("\n") : [];
  if (names !== "") return lines.map((line) => ({ [names]: line }));
  try {
    return /[/+]json\b/.test(type) ? JSON.parse(text.replace(stringOrLongNumber, exact)) : text;
  } catch {
    return text;
  }
}

const stringOrLongNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]{15,}/g;

/** Returns a string in place of a number that JavaScript would round. */
function exact(part: string): string {
  return part.startsWith('"') ? part : `"number ${part}"`;
}

function errorOf(answer: ReadAnswer): unknown {
  return answer.status < 400 ? answer.status : { status: answer.status, body: bodyOf(answer) };
}

/** Maximum length of a place. Values at longer places are compared as texts, so that the time does
 * not grow with the depth. */
const maxPlaceChars = 120;

interface Element {
  readonly value: unknown;
  /** A text that is equal for equal values. */
  readonly text: string;
  /** Number of the run: adjacent elements of a run may be in any order. */
  readonly run: number;
}

/** Compares bodies. A place contains `[]` for each index, so that all rows have the same places. */
class AnswerComparison {
  readonly differences = new Map<string, readonly [upstream: string, svc: string]>();

  /** Cached texts of arrays and objects within other values. */
  readonly #texts = new WeakMap<object, string>();

  constructor(private readonly options: CompareOptions) {}

  add(place: string, upstream: unknown, svc: unknown): void {
    if (this.options.noise.has(place) || this.differences.has(place)) return;
    this.differences.set(place, [shownValue(upstream, place), shownValue(svc, place)]);
  }

  compare(upstream: unknown, svc: unknown, place: string): void {
    if (this.#isNoise(place) || JSON.stringify(upstream) === JSON.stringify(svc)) return;
    if (place.length > maxPlaceChars) this.add(place, upstream, svc);
    else if (Array.isArray(upstream) && Array.isArray(svc)) {
      this.#compareArrays(upstream, svc, `${place}[]`);
    } else if (isJsonObject(upstream) && isJsonObject(svc)) {
      for (const name of new Set([...Object.keys(upstream), ...Object.keys(svc)])) {
        const [one, other] = [upstream, svc].map((each) =>
          Object.hasOwn(each, name) ? each[name] : undefined
        );
        this.compare(one, other, `${place}.${name}`);
      }
    } else this.add(place || "body", upstream, svc);
  }

  /** Returns whether a value is ignored. An array is also ignored if its length is ignored. */
  #isNoise(place: string): boolean {
    return this.options.noise.has(place) || this.options.noise.has(`${place}[]`);
  }

  #compareArrays(upstream: readonly unknown[], svc: readonly unknown[], place: string): void {
    const [elements, ownElements] = [this.#elements(upstream, place), this.#elements(svc, place)];
    const differsAt = elements.findIndex(({ text }, at) => text !== ownElements[at]?.text);
    if (differsAt < 0 && upstream.length === svc.length) return;
    const [rows, ownRows] = [without(elements, ownElements), without(ownElements, elements)];
    if (upstream.length !== svc.length) {
      const [one, other] = [{ rows: upstream.length }, { rows: svc.length }];
      this.add(place, { ...one, only: rows[0]?.value }, { ...other, only: ownRows[0]?.value });
    } else if (rows.length === 0) {
      this.add(`order of ${place}`, elements[differsAt]!.value, ownElements[differsAt]!.value);
    } else rows.forEach(({ value }, at) => this.compare(value, ownRows[at]!.value, place));
  }

  /** Returns elements in an order that is the same for arrays with equal elements. */
  #elements(values: readonly unknown[], place: string): readonly Element[] {
    const keys = this.options.order(place, values);
    let run = 0;
    let last = "";
    return values.map((value, at) => {
      // Rows with equal keys are in one run, because their order does not matter.
      const key = typeof keys === "string"
        ? ""
        : JSON.stringify(keys.map((each) => (value as JsonObject)[each]));
      run = keys === "as is" ? at : key === last ? run : run + 1;
      last = key;
      return { value, run, text: this.#text(value, place) };
    }).sort((one, other) => one.run - other.run || (one.text < other.text ? -1 : 1));
  }

  /** Returns a text that is the same for equal values. Ignored values are left out, members are
   * sorted by name, and arrays have the order of `#elements`. */
  #text(value: unknown, place: string): string {
    if (this.#isNoise(place)) return "";
    if (typeof value !== "object" || value === null || place.length > maxPlaceChars) {
      return JSON.stringify(value);
    }
    let text = this.#texts.get(value);
    if (text !== undefined) return text;
    if (Array.isArray(value)) {
      text = `[${this.#elements(value, `${place}[]`).map((each) => each.text)}]`;
    } else {
      const members = Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1);
      text = `{${
        members.map(([name, each]) =>
          `${JSON.stringify(name)}:${this.#text(each, `${place}.${name}`)}`
        )
      }}`;
    }
    this.#texts.set(value, text);
    return text;
  }
}

/** Returns the elements whose text has no match in another list. Each text matches one element. */
function without(elements: readonly Element[], others: readonly Element[]): readonly Element[] {
  const counts = new Map<string, number>();
  for (const { text } of others) counts.set(text, (counts.get(text) ?? 0) + 1);
  return elements.filter(({ text }) => {
    const left = counts.get(text) ?? 0;
    counts.set(text, left - 1);
    return left <= 0;
  });
}

/** Returns the order of an array at a place in a body: the names of the members that order its
 * rows, `any` for unordered rows, `as is` if the positions matter. */
export type RowOrder = (
  place: string,
  rows: readonly unknown[],
) => readonly string[] | "any" | "as is";

/** Returns the orders of arrays that the query string of a target requests. */
export function rowOrder(target: string): RowOrder {
  const orders = new Map<string, readonly string[]>();
  let select = "";
  for (const { name, value } of splitQuery(target.slice(target.indexOf("?") + 1))) {
    if (name === "select") select = value ?? "";
    const [, path] = /^(?:(.*)\.)?order$/.exec(name) ?? [null];
    if (path === null) continue;
    orders.set(path ?? "", (value ?? "").split(",").map((term) => term.split(".")[0]!));
  }
  // Rows of an embed have no order unless the request names one. Other arrays are values of columns.
  const isEmbed = (rows: readonly unknown[]) =>
    select.includes("(") && (select.includes("...") || rows.every(isJsonObject));
  return (place, rows) => {
    const path = place.replaceAll("[]", "").slice(1);
    const keys = orders.get(path);
    if (keys === undefined) return path === "" || isEmbed(rows) ? "any" : "as is";
    // If the rows lack a key of the order, positions matter: it is unknown which rows have equal keys.
    const hasKeys = rows.every((row) =>
      isJsonObject(row) && keys.every((key) => Object.hasOwn(row, key))
    );
    return hasKeys ? keys : "as is";
  };
}
