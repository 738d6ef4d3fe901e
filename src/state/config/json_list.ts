/** Options whose value is a JSON list of objects, or the path of a file with it. @module */
import { isJsonObject, parseJson } from "../../base/lib/json_object.ts";
import { accept, type Codec, type CodecContext, quote, reject } from "./codecs.ts";
import { textOrFile } from "./secret.ts";

/** How a list is parsed. Messages omit values, which may be secrets. */
export interface JsonList<Entry> {
  /** The word for an entry in messages: `issuer`. */
  readonly noun: string;
  /** A list with one entry, as JSON. */
  readonly example: string;
  readonly maxEntries: number;
  /** The members of an entry by name, each with the check of its value. */
  readonly members: Readonly<Record<keyof Entry, (value: unknown) => boolean>>;
  readonly required: readonly (keyof Entry & string)[];
  /** Members whose values must differ between entries, each with its word in messages. */
  readonly unique: Readonly<Partial<Record<keyof Entry, string>>>;
  /** Completes an entry with valid members. Returns a text if the entry has a problem. */
  readonly read: (entry: Entry, context: CodecContext) => Entry | string;
}

/** Returns the codec of a list. */
export function jsonList<Entry extends object>(list: JsonList<Entry>): Codec<readonly Entry[]> {
  const { noun, example, maxEntries } = list;
  const expected =
    `a JSON list of ${noun}s such as ${example}, or "@" and the path of a file with it`;
  const format = { type: `JSON list of ${noun}s, or \`@file\``, expected, confidential: true };
  return textOrFile({
    format,
    parse: (text, context) => {
      const values = parseJson(text);
      if (!Array.isArray(values) || values.length === 0) return reject("", format);
      const problem = (text: string) => ({ kind: "problem", problem: text }) as const;
      if (values.length > maxEntries) return problem(`has more than ${maxEntries} ${noun}s`);
      const entries: Entry[] = [];
      for (const value of values) {
        const entry = readEntry(value, entries, list, context);
        if (typeof entry === "string") return problem(`${noun} ${entries.length + 1}: ${entry}`);
        entries.push(entry);
      }
      return accept(entries);
    },
    print: (entries) => quote(JSON.stringify(entries)),
  });
}

function readEntry<Entry extends object>(
  value: unknown,
  earlier: readonly Entry[],
  { members, required, unique, read }: JsonList<Entry>,
  context: CodecContext,
): Entry | string {
  if (!isJsonObject(value)) return "expected a JSON object";
  for (const [name, member] of Object.entries(value)) {
    if (!Object.hasOwn(members, name)) return `unknown member ${JSON.stringify(name)}`;
    if (!members[name as keyof Entry](member)) return `invalid value of ${name}`;
  }
  const missing = required.find((name) => !(name in value));
  if (missing !== undefined) return `${missing} is missing`;
  const entry = read(value as Entry, context);
  if (typeof entry === "string") return entry;
  const names = Object.keys(unique) as (keyof Entry)[];
  const repeated = names.find((name) => earlier.some((other) => other[name] === entry[name]));
  return repeated === undefined ? entry : `the same ${unique[repeated]} as another one`;
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !value.includes("\0");
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

/**
 * Checks the name of a role. `none` is rejected, because `SET ROLE none` restores the login role.
 */
export function isRole(value: unknown): boolean {
  return isText(value) && value !== "none";
}
