/**
 * How values are read from the file or the environment and written back: one codec per type.
 *
 * @module
 */
import { type Dialect, dialects } from "../dialect.ts";

/** A value as it stands in a source. The environment has texts only. */
export type RawValue =
  | string
  | number
  | boolean
  /** What no option takes, by name: `a list`, `a date`, `a table`. */
  | { readonly unusable: string };

/** The outcome of reading one value. */
export type CodecResult<T> =
  | { readonly kind: "value"; readonly value: T }
  /** Not of the type, which a dialect may take for no value. */
  | { readonly kind: "unset" }
  | { readonly kind: "problem"; readonly problem: string };

/** What some values need beside their own text. */
export interface CodecContext {
  /** Reads a file that a value names as `@path`; raises when it cannot. */
  readonly readFile: (path: string) => Uint8Array;
  /** The value of `jwt-secret-is-base64`. */
  readonly secretIsBase64: boolean;
  /** What becomes of values that are not of the type. */
  readonly invalidConfig: Dialect["invalidConfig"];
}

/** Reads and prints the values of one type. */
export interface Codec<T> {
  /** The type's name in the documentation. */
  readonly type: string;
  /** What an empty text means: no value at all, or a value like others. */
  readonly empty: "unset" | "value";
  /** A text that begins with `@` names a file with the value. */
  readonly readsFiles?: true;
  read(raw: RawValue, context: CodecContext): CodecResult<T>;
  /** Returns the TOML literal that reads as `value`. */
  print(value: T, context: Pick<CodecContext, "secretIsBase64">): string;
}

/** Facts of a type whose values are texts. */
export interface TextFacts {
  readonly type: string;
  /** Completes "expected …". */
  readonly expected: string;
  /** Says whether a text is a value; a text result is the complaint. */
  readonly check?: (text: string) => boolean | string;
  /** The value never appears in messages. */
  readonly confidential?: boolean;
}

/** Texts that satisfy a check; U+0000 is in none of them, because PostgreSQL takes it nowhere. */
export function text(facts: TextFacts): Codec<string> {
  return {
    type: facts.type,
    empty: "unset",
    read(value, { invalidConfig }) {
      const raw = invalidConfig === "ignored" ? formatNonString(value) : value;
      if (typeof raw !== "string") return reject(raw, facts);
      if (raw.includes("\0")) return reject(raw, facts, "must not contain the character U+0000");
      const verdict = facts.check?.(raw) ?? true;
      if (verdict === true) return accept(raw);
      return reject(raw, facts, verdict === false ? undefined : verdict);
    },
    print: quote,
  };
}

/** Whole numbers between two bounds, also as text: `"10"`. */
export function integer(
  { min, max = Number.MAX_SAFE_INTEGER }: { readonly min: number; readonly max?: number },
): Codec<number> {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const expected = min === Number.MIN_SAFE_INTEGER ? "a whole number" : `a whole number ${bounds}`;
  return {
    type: "integer",
    empty: "unset",
    read(raw, { invalidConfig }) {
      const isDigits = typeof raw === "string" && /^-?[0-9]+$/.test(raw.trim());
      const number = isDigits ? Number(raw) : raw;
      if (invalidConfig === "ignored" && !Number.isInteger(number)) return unset;
      const fits = typeof number === "number" && Number.isSafeInteger(number) &&
        number >= min && number <= max;
      return fits ? accept(number) : reject(raw, { expected });
    },
    print: String,
  };
}

const truth: ReadonlyMap<string, boolean> = new Map([["true", true], ["false", false]]);

/**
 * `true` and `false`; as text in any letter case with anything that is no letter around, or as a
 * whole number, of which those above 0 are true.
 */
export const boolean: Codec<boolean> = {
  type: "boolean",
  empty: "unset",
  read(raw, { invalidConfig }) {
    if (typeof raw === "boolean") return accept(raw);
    if (typeof raw === "string") {
      const named = truth.get(raw.replace(/[^A-Za-z]/g, "").toLowerCase());
      if (named !== undefined) return accept(named);
      if (/^-?[0-9]+$/.test(raw.trim())) return accept(Number(raw) > 0);
    }
    if (invalidConfig === "ignored") return unset;
    return reject(raw, { expected: "true or false" });
  },
  print: String,
};

/** One of a few words; `complaint` is said of all others. */
export function oneOf<const Words extends readonly string[]>(
  words: Words,
  complaint: string,
): Codec<Words[number]> {
  const quoted = words.map((word) => `"${word}"`);
  const facts = { expected: words.length === 1 ? quoted[0]! : `one of ${quoted.join(", ")}` };
  return {
    type: words.map((word) => `\`${word}\``).join(", "),
    empty: "unset",
    read: (raw) =>
      typeof raw === "string" && words.includes(raw)
        ? accept(raw as Words[number])
        : reject(raw, facts, complaint),
    print: quote,
  };
}

const dialectFacts = {
  expected: `one of ${Array.from(dialects.keys(), (name) => `"${name}"`).join(", ")}`,
};

/** A dialect by its name. */
export const dialectName: Codec<Dialect> = {
  type: Array.from(dialects.keys(), (name) => `\`${name}\``).join(", "),
  empty: "unset",
  read(raw) {
    const dialect = typeof raw === "string" ? dialects.get(raw) : undefined;
    return dialect === undefined ? reject(raw, dialectFacts, "no such dialect") : accept(dialect);
  },
  print: ({ name }) => quote(name),
};

/** Facts of a list's items. */
export interface ListFacts {
  readonly expected: string;
  readonly empty: Codec<unknown>["empty"];
  /** Says whether a text is an item; a text result is the complaint. */
  readonly check?: (item: string) => boolean | string;
  /** Items that fail the check can do no harm: a dialect that ignores invalidConfig takes them. */
  readonly isHarmless?: true;
}

/** Items between commas; spaces around them do not count. */
export function list(facts: ListFacts): Codec<readonly string[]> {
  return {
    type: "list",
    empty: facts.empty,
    read(value, { invalidConfig }) {
      const raw = invalidConfig === "ignored" ? formatNonString(value) : value;
      if (typeof raw !== "string") return reject(raw, facts);
      if (raw.trim() === "" && facts.empty === "value") return accept([]);
      const items = raw.split(",").map((item) => item.trim());
      if (items.some((item) => item === "")) return reject(raw, facts, "has an empty item");
      if (raw.includes("\0")) return reject(raw, facts, "must not contain the character U+0000");
      if (invalidConfig === "ignored" && facts.isHarmless) return accept(items);
      const verdict = items.map((item) => facts.check?.(item) ?? true).find((v) => v !== true);
      if (verdict === undefined) return accept(items);
      return reject(raw, facts, verdict === false ? undefined : verdict);
    },
    print: (items) => quote(items.join(",")),
  };
}

/** A function's name; without a schema it is looked for on the search path. */
export interface FunctionName {
  readonly schema: string | null;
  readonly name: string;
}

/** `name` or `schema.name`, divided at the first dot; both parts are names as they are, unquoted. */
export const functionName: Codec<FunctionName> = {
  type: "function",
  empty: "unset",
  read(raw) {
    const facts = { expected: 'a function\'s name in quotes, such as "schema.name"' };
    if (typeof raw !== "string" || raw.includes("\0")) return reject(raw, facts);
    const dot = raw.indexOf(".");
    const schema = dot === -1 ? null : raw.slice(0, dot);
    const name = raw.slice(dot + 1);
    return schema === "" || name === "" ? reject(raw, facts) : accept({ schema, name });
  },
  print: ({ schema, name }) => quote(schema === null ? name : `${schema}.${name}`),
};

/** The file mode of a socket as octal digits in quotes, from 600 to 777. */
export function fileMode(key: string): Codec<number> {
  const facts = { expected: 'octal digits in quotes from "600" to "777"' };
  return {
    type: "file mode",
    empty: "unset",
    read(raw) {
      const digits = typeof raw === "string" ? /^[0-7]+/.exec(raw)?.[0] : undefined;
      if (digits === undefined) return reject(raw, facts, `Invalid ${key}: not an octal`);
      const mode = parseInt(digits, 8);
      if (mode < 0o600 || mode > 0o777) {
        return reject(raw, facts, `Invalid ${key}: needs to be between 600 and 777`);
      }
      return digits === raw ? accept(mode) : reject(raw, facts, `Invalid ${key}: not an octal`);
    },
    print: (mode) => quote(mode.toString(8)),
  };
}

const unset = { kind: "unset" } as const;

/** What stands in the place of a text and is none, as the older grammar's readers show it. */
function formatNonString(raw: RawValue): RawValue {
  if (typeof raw === "boolean") return raw ? "Bool True" : "Bool False";
  if (typeof raw !== "number") return raw;
  return `Number ${Number.isInteger(raw) ? raw.toFixed(1) : raw}`;
}

/** Makes the reading of a good value. */
export function accept<T>(value: T): CodecResult<T> {
  return { kind: "value", value };
}

/** Words the refusal of a value: what is wrong with it, what is expected, what came. */
export function reject(
  raw: RawValue,
  facts: Pick<TextFacts, "expected" | "confidential">,
  complaint?: string,
): { readonly kind: "problem"; readonly problem: string } {
  const comparison = facts.confidential && typeof raw !== "object"
    ? `expected ${facts.expected}`
    : `expected ${facts.expected}, got ${show(raw)}`;
  return {
    kind: "problem",
    problem: complaint === undefined ? comparison : `${complaint} (${comparison})`,
  };
}

const maxQuotedCharacters = 80;

function show(raw: RawValue): string {
  if (typeof raw === "object") return raw.unusable;
  if (typeof raw !== "string") return String(raw);
  const characters = Array.from(raw.slice(0, 2 * maxQuotedCharacters));
  const cut = raw.length > maxQuotedCharacters
    ? characters.slice(0, maxQuotedCharacters).join("") + "…"
    : raw;
  return JSON.stringify(cut);
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  // A dollar sign starts a reference to another value in the file.
  "$": "$$",
};

/** Returns the TOML string in double quotes that the file's reader turns back into `value`. */
export function quote(value: string): string {
  const inside = value.replace(
    /["\\$\p{Cc}]/gu,
    (found) => escapes[found] ?? `\\u${found.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
  return `"${inside}"`;
}
