/** Parses the configuration file: TOML with `key = value`, dotted keys and the tables `[app]` and
 * `[app.settings]`. @module */
import { parse, TomlError } from "smol-toml";
import type { RawValue } from "./codecs.ts";
import { ConfigError, type ConfigOrigin } from "./config_error.ts";
import { interpolate } from "./interpolate.ts";

/** The text of a configuration file, and its path for messages. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** One key of the file with its value. */
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
 * Throws `ConfigError` with file, line and key for a syntax error, a duplicate key and an undefined
 * reference.
 */
export function parseFile(
  file: ConfigFile,
  environment: Readonly<Record<string, string>>,
): FileEntries {
  const entries = new Map<string, FileEntry>();
  for (const { key, value, line } of bindings(file)) {
    const origin = { kind: "file", path: file.path, line } as const;
    const first = entries.get(key)?.origin;
    if (first !== undefined) {
      const problem = `is given twice, first on line ${first.line}; expected once`;
      throw new ConfigError({ origin, key, problem });
    }
    const unresolved = { key, value: rawValue(value), origin };
    entries.set(key, resolve(unresolved, entries, environment));
  }
  return entries;
}

/** Returns the number of the last line. */
export function lastLine({ text }: ConfigFile): number {
  return text.trimEnd().split("\n").length;
}

interface KeyValue {
  readonly key: string;
  readonly value: unknown;
  readonly line: number;
}

/**
 * The TOML parser reports no line of a key. So this generator parses the file statement by
 * statement: the fewest lines that form one.
 */
function* bindings(file: ConfigFile): Generator<KeyValue> {
  const lines = file.text.replace(/^\uFEFF/, "").split("\n");
  let table = "";
  for (let start = 0; start < lines.length;) {
    const { end, content } = statement(file.path, lines, start);
    const found = flatten(content);
    const isHeader = lines[start]!.trimStart().startsWith("[");
    if (isHeader) table = `${found[0]?.key}.`;
    for (const { key, value } of found) {
      if (isHeader && isKnownTable(key, value)) continue;
      yield { key: isHeader ? key : table + key, value, line: start + 1 };
    }
    start = end;
  }
}

function isKnownTable(key: string, value: unknown): boolean {
  return (key === "app" || key === "app.settings") && !Array.isArray(value);
}

interface ParsedStatement {
  /** Index of the line after the last one. */
  readonly end: number;
  readonly content: object;
}

function statement(path: string, lines: readonly string[], start: number): ParsedStatement {
  const alone = parseLines(lines, start, start + 1);
  if (!(alone instanceof TomlError)) return { end: start + 1, content: alone };
  const isMultiline = /"""|'''|[[{]/.test(lines[start]!);
  const rest = isMultiline ? parseLines(lines, start, lines.length) : alone;
  // An error further down lies after the end of this statement.
  const limit = rest instanceof TomlError ? start + rest.line - 1 : lines.length;
  for (let end = start + 2; end <= limit; end++) {
    const content = parseLines(lines, start, end);
    if (!(content instanceof TomlError)) return { end, content };
  }
  const origin = { kind: "file", path, line: start + 1 } as const;
  throw new ConfigError({ origin, ...syntaxProblem(lines[start]!, alone) });
}

function parseLines(lines: readonly string[], start: number, end: number): object | TomlError {
  try {
    return parse(lines.slice(start, end).join("\n") + "\n");
  } catch (error) {
    if (error instanceof TomlError) return error;
    throw error;
  }
}

function syntaxProblem(line: string, error: TomlError) {
  // Only the first line is about the error; the others quote the file, which may hold a secret.
  const reason = error.message.split("\n")[0]!.replace(/^Invalid TOML document: /, "");
  return {
    key: /^\s*([A-Za-z0-9_.-]+)\s*=/.exec(line)?.[1] ?? null,
    problem: `${reason} (expected key = value, with texts in double quotes)`,
  };
}

/** Lists the leaves of nested tables, and empty tables. */
function flatten(table: object): readonly { readonly key: string; readonly value: unknown }[] {
  return Object.entries(table).flatMap(([key, value]) => {
    if (!isTable(value) || Object.keys(value).length === 0) return [{ key, value }];
    return flatten(value).map((leaf) => ({ key: `${key}.${leaf.key}`, value: leaf.value }));
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
  const result = interpolate(entry.value, (name) => {
    const value = above.get(name)?.value;
    if (typeof value === "string" || typeof value === "number") return String(value);
    return Object.hasOwn(environment, name) ? environment[name] : undefined;
  });
  if (result.kind === "text") return { ...entry, value: result.text };
  throw new ConfigError({ ...entry, problem: result.problem });
}
