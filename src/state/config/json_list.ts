/** Options whose value is a JSON list of objects, or the path of a file with it. @module */
import { isJsonObject, type JsonObject, parseJson } from "../../base/lib/json_object.ts";
import {
  accept,
  type Codec,
  type CodecContext,
  type CodecResult,
  quote,
  reject,
} from "./codecs.ts";
import { textOrFile } from "./secret.ts";

/** The members of the entries by name, each with the check of its value. */
export type MemberChecks = Readonly<Record<string, (value: unknown) => boolean>>;

/** How a list is read. Messages omit values, which may be secrets. */
export interface JsonList<Entry> {
  readonly facts: { readonly type: string; readonly expected: string; readonly confidential: true };
  /** The word for an entry in messages: `issuer`. */
  readonly noun: string;
  readonly maxEntries: number;
  readonly members: MemberChecks;
  /** Reads an entry whose members are valid. Returns a text that describes the problem if it is not. */
  readonly read: (entry: JsonObject, context: CodecContext) => Entry | string;
  /** Returns a problem that one entry has because of an earlier one, or null. */
  readonly conflict: (entry: Entry, earlier: Entry) => string | null;
}

/** Returns the codec of a list. */
export function jsonList<Entry extends object>(list: JsonList<Entry>): Codec<readonly Entry[]> {
  return textOrFile({
    facts: list.facts,
    parse: (text, context) => parseList(text, list, context),
    print: (entries) => quote(JSON.stringify(entries)),
  });
}

function parseList<Entry extends object>(
  text: string,
  { facts, noun, maxEntries, members, read, conflict }: JsonList<Entry>,
  context: CodecContext,
): CodecResult<readonly Entry[]> {
  const values = parseJson(text);
  if (!Array.isArray(values) || values.length === 0) return reject("", facts);
  if (values.length > maxEntries) return problem(`has more than ${maxEntries} ${noun}s`);
  const entries: Entry[] = [];
  for (const [index, value] of values.entries()) {
    const entry = checkedEntry(value, members, (object) => read(object, context));
    const found = typeof entry === "string"
      ? entry
      : entries.map((earlier) => conflict(entry, earlier)).find((text) => text !== null);
    if (found !== undefined) return problem(`${noun} ${index + 1}: ${found}`);
    entries.push(entry as Entry);
  }
  return accept(entries);
}

function checkedEntry<Entry>(
  value: unknown,
  members: MemberChecks,
  read: (entry: JsonObject) => Entry | string,
): Entry | string {
  if (!isJsonObject(value)) return "expected a JSON object";
  for (const [name, member] of Object.entries(value)) {
    if (!Object.hasOwn(members, name)) return `unknown member ${JSON.stringify(name)}`;
    if (!members[name]!(member)) return `invalid value of ${name}`;
  }
  return read(value);
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !value.includes("\0");
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

/** `SET ROLE none` restores the login role. */
export function isRole(value: unknown): boolean {
  return isText(value) && value !== "none";
}

function problem(text: string): CodecResult<never> {
  return { kind: "problem", problem: text };
}
