/** Codecs parse and print option values of the file and the environment, one codec per type. @module */
import { type Dialect, dialects } from "../../base/dialect.ts";

/** An unparsed value of a source. The environment has strings only. */
export type RawValue =
  | string
  | number
  | boolean
  /** A type that no option accepts: `a list`, `a date or time`, `a table`. */
  | { readonly unusable: string };

export type CodecResult<T> =
  | { readonly kind: "value"; readonly value: T }
  /** The value has the wrong type, which the dialect ignores. */
  | { readonly kind: "unset" }
  | { readonly kind: "problem"; readonly problem: string };

export interface CodecContext {
  /** Reads a file that a value names as `@path`. Throws on failure. */
  readonly readFile: (path: string) => Uint8Array;
  /** The value of `jwt-secret-is-base64`. */
  readonly secretIsBase64: boolean;
  /** Treatment of a value of the wrong type: it is rejected, or it is unset or converted. */
  readonly invalidConfig: Dialect["invalidConfig"];
}

export interface Codec<T> {
  /** The type's name in the documentation. */
  readonly type: string;
  /** Whether an empty text is a value. Default: it unsets the option. */
  readonly empty?: "value";
  /** Whether a text that begins with `@` names a file with the value. Default: false. */
  readonly readsFiles?: true;
  read(raw: RawValue, context: CodecContext): CodecResult<T>;
  /** Returns the TOML literal of `value`. */
  print(value: T, context: Pick<CodecContext, "secretIsBase64">): string;
}

export interface TextFormat {
  readonly type: string;
  /** Text after the word `expected` in messages. */
  readonly expected: string;
  /** Returns whether a text is valid, or the problem as text. Default: any text is valid. */
  readonly check?: (text: string) => boolean | string;
  /** Whether messages omit the value. Default: false. */
  readonly confidential?: boolean;
}

/** Returns the codec of texts that pass a check. Rejects U+0000, which PostgreSQL cannot store. */
export function text(format: TextFormat): Codec<string> {
  return {
    type: format.type,
    read(value, { invalidConfig }) {
      const raw = invalidConfig === "ignored" ? formatNonString(value) : value;
      if (typeof raw !== "string") return reject(raw, format);
      if (raw.includes("\0")) return reject(raw, format, "must not contain the character U+0000");
      const verdict = format.check?.(raw) ?? true;
      if (verdict === true) return accept(raw);
      return reject(raw, format, verdict === false ? undefined : verdict);
    },
    print: quote,
  };
}

/** Returns the codec of whole numbers between two bounds, also as text: `"10"`. */
export function integer(
  { min, max = Number.MAX_SAFE_INTEGER }: { readonly min: number; readonly max?: number },
): Codec<number> {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const expected = min === Number.MIN_SAFE_INTEGER ? "a whole number" : `a whole number ${bounds}`;
  return {
    type: "integer",
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
 * The codec of `true` and `false`. Also accepts strings. The two words match in any case, and
 * characters other than letters are ignored. Integers are true above 0.
 */
export const boolean: Codec<boolean> = {
  type: "boolean",
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

/** Returns a codec that accepts one word in addition to another codec; `expected` completes "expected …". */
export function orWord<T, const Word extends string>(
  codec: Codec<T>,
  word: Word,
  expected: string,
): Codec<T | Word> {
  return {
    type: `${codec.type} or \`${word}\``,
    read(raw, context) {
      if (raw === word) return accept(word);
      const read = codec.read(raw, context);
      return read.kind === "problem" ? reject(raw, { expected }) : read;
    },
    print: (value, context) => value === word ? quote(word) : codec.print(value as T, context),
  };
}

/**
 * Returns the codec of a set of words. Error messages begin with `Invalid` and `what`. `extensions`
 * are words that PostgREST lacks: a dialect that ignores invalid values rejects them.
 */
export function oneOf<const Words extends readonly string[]>(
  words: Words,
  what: string,
  extensions: readonly Words[number][] = [],
): Codec<Words[number]> {
  const common = words.filter((word) => !extensions.includes(word));
  return {
    type: words.map((word) => `\`${word}\``).join(", "),
    read(raw, { invalidConfig }) {
      const accepted = invalidConfig === "ignored" ? common : words;
      if (typeof raw === "string" && accepted.includes(raw)) return accept(raw as Words[number]);
      const quoted = accepted.map((word) => `"${word}"`);
      const expected = quoted.length === 1 ? quoted[0]! : `one of ${quoted.join(", ")}`;
      return reject(raw, { expected }, `Invalid ${what}. Check your configuration.`);
    },
    print: quote,
  };
}

const dialectFormat = {
  expected: `one of ${Array.from(dialects.keys(), (name) => `"${name}"`).join(", ")}`,
};

export const dialectName: Codec<Dialect> = {
  type: Array.from(dialects.keys(), (name) => `\`${name}\``).join(", "),
  read(raw) {
    const dialect = typeof raw === "string" ? dialects.get(raw) : undefined;
    return dialect === undefined ? reject(raw, dialectFormat, "no such dialect") : accept(dialect);
  },
  print: ({ name }) => quote(name),
};

export interface ListFormat {
  readonly expected: string;
  readonly empty?: "value";
  /** Returns whether an item is valid, or the problem as text. Default: any item is valid. */
  readonly check?: (item: string) => boolean | string;
  /** Whether dialects with `invalidConfig: "ignored"` accept items that fail the check. */
  readonly isHarmless?: true;
}

/** Returns the codec of comma-separated lists. Trims the items. */
export function list(format: ListFormat): Codec<readonly string[]> {
  return {
    type: "list",
    ...(format.empty && { empty: format.empty }),
    read(value, { invalidConfig }) {
      const raw = invalidConfig === "ignored" ? formatNonString(value) : value;
      if (typeof raw !== "string") return reject(raw, format);
      if (raw.trim() === "" && format.empty === "value") return accept([]);
      const items = raw.split(",").map((item) => item.trim());
      if (items.some((item) => item === "")) return reject(raw, format, "has an empty item");
      if (raw.includes("\0")) return reject(raw, format, "must not contain the character U+0000");
      if (invalidConfig === "ignored" && format.isHarmless) return accept(items);
      const verdict = items.map((item) => format.check?.(item) ?? true).find((v) => v !== true);
      if (verdict === undefined) return accept(items);
      return reject(raw, format, verdict === false ? undefined : verdict);
    },
    print: (items) => quote(items.join(",")),
  };
}

/** A function in the database. If `schema` is null, PostgreSQL resolves it by the search path. */
export interface FunctionName {
  readonly schema: string | null;
  readonly name: string;
}

/** The codec of `name` or `schema.name`, split at the first dot. Both parts are unquoted names. */
export const functionName: Codec<FunctionName> = {
  type: "function",
  read(raw) {
    const format = { expected: 'a function\'s name in quotes, such as "schema.name"' };
    if (typeof raw !== "string" || raw.includes("\0")) return reject(raw, format);
    const dot = raw.indexOf(".");
    const schema = dot === -1 ? null : raw.slice(0, dot);
    const name = raw.slice(dot + 1);
    return schema === "" || name === "" ? reject(raw, format) : accept({ schema, name });
  },
  print: ({ schema, name }) => quote(schema === null ? name : `${schema}.${name}`),
};

/** A table in the database. */
export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** The codec of `schema.name`, split at the first dot. Both parts are unquoted names. */
export const tableName: Codec<TableName> = {
  type: "table",
  read(raw) {
    const format = { expected: 'a table\'s name in quotes with its schema, such as "schema.name"' };
    const match = typeof raw === "string" ? /^([^.\0]+)\.([^\0]+)$/s.exec(raw) : null;
    return match === null ? reject(raw, format) : accept({ schema: match[1]!, name: match[2]! });
  },
  print: ({ schema, name }) => quote(`${schema}.${name}`),
};

/** Returns the codec of socket file modes: octal digits in quotes from 600 to 777. */
export function fileMode(key: string): Codec<number> {
  const format = { expected: 'octal digits in quotes from "600" to "777"' };
  return {
    type: "file mode",
    read(raw) {
      const digits = typeof raw === "string" ? /^[0-7]+/.exec(raw)?.[0] : undefined;
      if (digits === undefined) return reject(raw, format, `Invalid ${key}: not an octal`);
      const mode = parseInt(digits, 8);
      if (mode < 0o600 || mode > 0o777) {
        return reject(raw, format, `Invalid ${key}: needs to be between 600 and 777`);
      }
      return digits === raw ? accept(mode) : reject(raw, format, `Invalid ${key}: not an octal`);
    },
    print: (mode) => quote(mode.toString(8)),
  };
}

const unset = { kind: "unset" } as const;

/** Formats a non-string value as PostgREST's parser, the Haskell library `configurator`, prints it. */
function formatNonString(raw: RawValue): RawValue {
  if (typeof raw === "boolean") return raw ? "Bool True" : "Bool False";
  if (typeof raw !== "number") return raw;
  return `Number ${Number.isInteger(raw) ? raw.toFixed(1) : raw}`;
}

export function accept<T>(value: T): CodecResult<T> {
  return { kind: "value", value };
}

/** Returns the result for an invalid value: the problem, the expected value, the actual value. */
export function reject(
  raw: RawValue,
  format: Pick<TextFormat, "expected" | "confidential">,
  complaint?: string,
): { readonly kind: "problem"; readonly problem: string } {
  const comparison = format.confidential && typeof raw !== "object"
    ? `expected ${format.expected}`
    : `expected ${format.expected}, got ${show(raw)}`;
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
  // A dollar sign is doubled, because it starts a reference to another value in the file.
  "$": "$$",
};

/** Returns `value` as a TOML string in double quotes. */
export function quote(value: string): string {
  const inside = value.replace(
    /["\\$\p{Cc}]/gu,
    (match) => escapes[match] ?? `\\u${match.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
  return `"${inside}"`;
}
