/** Parses the configuration file: TOML with `key = value`, dotted keys and the tables `[app]` and
 * `[app.settings]`. @module */
import { parse, TomlError } from "smol-toml";
import type { RawValue } from "./codecs.ts";
import { ConfigError, type ConfigOrigin } from "./config_error.ts";

/** The text of a configuration file, and its path for messages. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

export interface FileEntry {
  /** With dots between the parts: `app.settings.region`. */
  readonly key: string;
  readonly value: RawValue;
  readonly origin: ConfigOrigin & { readonly kind: "file" };
}

/** The entries of a file by key, in the file's order. */
export type FileEntries = ReadonlyMap<string, FileEntry>;

/**
 * Parses all entries. In texts, `$(NAME)` inserts the text or number of a preceding key, else of an
 * environment variable. `$$` inserts a dollar sign.
 *
 * Throws `ConfigError` with file, line and key for a syntax error and an undefined reference.
 */
export function parseFile(
  file: ConfigFile,
  environment: Readonly<Record<string, string>>,
): FileEntries {
  const text = file.text.replace(/^\uFEFF/, "");
  const statements = withoutLongTexts(text).split("\n");
  const items = leaves(parseToml(file.path, text, statements));
  const lines = keyLines(statements);
  const entries = new Map<string, FileEntry>();
  const unresolved = items
    .filter(({ key, value }) => !(isTable(value) && /^app(?:\.settings)?$/.test(key)))
    .map(({ key, value }): FileEntry => {
      const origin = { kind: "file", path: file.path, line: lineOf(key, lines) } as const;
      return { key, value: rawValue(value), origin };
    });
  for (const entry of unresolved.toSorted((one, other) => one.origin.line - other.origin.line)) {
    entries.set(entry.key, resolve(entry, entries, environment));
  }
  return entries;
}

export function lastLine({ text }: ConfigFile): number {
  return text.trimEnd().split("\n").length;
}

/** A comment, a text of several lines, or a text on one line. */
const textOrComment =
  /#.*|"""(?:[^\\]|\\[^])*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/g;

/** Removes texts of several lines, because their lines may look like keys and tables. */
function withoutLongTexts(text: string): string {
  return text.replace(
    textOrComment,
    (match) => match.includes("\n") ? match.replace(/[^\n]/g, "") : match,
  );
}

/** Returns the lines of keys, which the TOML parser does not report. If a key occurs twice, the
 * first line applies. */
function keyLines(statements: readonly string[]): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  let table = "";
  for (const [index, line] of statements.entries()) {
    const [, header, key] =
      /^\s*(?:\[+([^[\]]+)\]|([^\s[=#][^[=#]*)=)/.exec(line.replace(/["']/g, "")) ?? [];
    const name = (header ?? key)?.trim().replace(/\s*\.\s*/g, ".");
    if (name === undefined) continue;
    if (header !== undefined) table = `${name}.`;
    const path = header === undefined ? table + name : name;
    if (!lines.has(path)) lines.set(path, index + 1);
  }
  return lines;
}

/** Returns the line of a key. If its table is written as a value, returns the line of the table. */
function lineOf(key: string, lines: ReadonlyMap<string, number>): number {
  const end = key.lastIndexOf(".");
  return lines.get(key) ?? (end === -1 ? 1 : lineOf(key.slice(0, end), lines));
}

function parseToml(path: string, text: string, statements: readonly string[]): object {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const origin = { kind: "file", path, line: error.line } as const;
    const statement = statements[error.line - 1] ?? "";
    throw new ConfigError({ origin, ...syntaxProblem(statement, error) });
  }
}

function syntaxProblem(statement: string, error: TomlError) {
  // Only the first line is about the error; other messages quote the file, which may contain a
  // secret.
  const reason = error.message.split("\n")[0]!.replace(/^Invalid TOML document: /, "");
  return {
    key: /^\s*([A-Za-z0-9_.-]+)\s*=/.exec(statement)?.[1] ?? null,
    problem: `${reason} (expected key = value, with texts in double quotes)`,
  };
}

/** Lists the values of nested tables, and empty tables. */
function leaves(table: object): readonly { readonly key: string; readonly value: unknown }[] {
  return Object.entries(table).flatMap(([key, value]) => {
    if (!isTable(value) || Object.keys(value).length === 0) return [{ key, value }];
    return leaves(value).map((leaf) => ({ key: `${key}.${leaf.key}`, value: leaf.value }));
  });
}

function isTable(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(value instanceof Date);
}

function rawValue(value: unknown): RawValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  if (Array.isArray(value)) return { unusable: "a list" };
  return { unusable: value instanceof Date ? "a date or time" : "a table" };
}

function resolve(
  entry: FileEntry,
  above: FileEntries,
  environment: Readonly<Record<string, string>>,
): FileEntry {
  if (typeof entry.value !== "string" || !entry.value.includes("$")) return entry;
  const value = interpolate(entry.value, (name) => {
    const value = above.get(name)?.value;
    if (typeof value === "string" || typeof value === "number") return String(value);
    if (Object.hasOwn(environment, name)) return environment[name]!;
    throw new ConfigError({ ...entry, problem: `no such variable: '${name}'` });
  });
  return { ...entry, value };
}

/**
 * Replaces `$(NAME)` by the result of `lookUp`, which throws for an undefined name, and `$$` by one dollar
 * sign. Any other dollar sign is unchanged.
 */
export function interpolate(source: string, lookUp: (name: string) => string): string {
  return source.replace(
    /\$(?:\$|\(([^()]*)\))/g,
    (_, name: string | undefined) => name === undefined ? "$" : lookUp(name),
  );
}
