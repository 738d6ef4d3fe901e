/** Loads the configuration. Precedence: database, options of the program or flags, environment,
 * file, defaults. @module */
import { type Dialect, dialects, type FileBase, svcDialect } from "../../base/dialect.ts";
import { type CodecContext, type RawValue, text } from "./codecs.ts";
import {
  combineProblems,
  ConfigError,
  type ConfigOrigin,
  MissingOptionError,
} from "./config_error.ts";
import { type ConfigFile, type FileEntries, lastLine, parseFile } from "./file.ts";
import { parseGroups } from "./group_file.ts";
import {
  appSettingOf,
  appSettingsPrefix,
  camelCase,
  databaseName,
  dialectVariable,
  environmentName,
} from "./names.ts";
import { nearest } from "../../base/lib/nearest.ts";
import { type Config, noWingOptions, type OptionRows, rowsOf, valueOf } from "./options.ts";
import { removedOptions } from "./removed_options.ts";
import { isSameAs, type Option, type OptionTable, required } from "./options/option.ts";
import { conflictsIn } from "./conflicts.ts";

/** Values of settings in the database, by name without prefix: `db_max_rows`. */
export type DatabaseValues = ReadonlyMap<string, string>;

/** The sources of the configuration outside the database. */
export interface ConfigSources {
  /** Null if the service runs without a file. */
  readonly file: ConfigFile | null;
  readonly environment: Readonly<Record<string, string>>;
  /** Reads a file that is imported, or that a value names as `@path`. Throws on failure. */
  readonly readFile: (path: string, base: FileBase) => Uint8Array;
  /** The configuration at the start; null during the start. Later loads do not read files for
   * options that need a restart. Default: null. */
  readonly startupConfig?: Config | null;
  /** Options that a program passes as values, already validated. Default: none. */
  readonly programmatic?: Partial<Config>;
  /** Options that arguments of the command line set. Default: none. */
  readonly flags?: ConfigFlags;
  /** The environment variable `DATABASE_URL`. It sets `db-uri` if no other source does. Default: null. */
  readonly databaseUrl?: string | null;
  /** Values with precedence over the options' defaults, already validated. Default: none. */
  readonly defaults?: Partial<Config>;
  /**
   * Returns why the file must not set an option; null if it may. Default: it may set all options.
   */
  readonly refuse?: (row: Row) => string | null;
  /** Options in addition to the options of the core. Default: none. */
  readonly wingOptions?: OptionTable;
}

export interface ConfigFlag {
  /** As typed, without a value: `--port`. */
  readonly name: string;
  readonly value: string;
}

export type ConfigFlags = ReadonlyMap<string, ConfigFlag>;

export const noValues: DatabaseValues = new Map();

/**
 * Loads the whole configuration. A setting in the database precedes the flag, which precedes the
 * environment variable, which precedes the file. An alias applies only if the key itself has no
 * value. An empty text unsets an option, and hides sources of lower precedence.
 *
 * Throws `ConfigError` for all problems, or for the first one in a dialect that ignores invalid values.
 */
export function loadConfig(sources: ConfigSources, database: DatabaseValues = noValues): Config {
  const loader = loaderOf(sources, database);
  const { invalidConfig, valueFiles } = loader.dialect;
  const problems: ConfigError[] = invalidConfig === "rejected"
    ? [...unknownKeys(loader), ...removedVariables(loader)]
    : [];
  problems.push(...refusedKeys(loader));
  const attempt = <Result>(run: () => Result, fallback: Result): Result => {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof ConfigError) || invalidConfig === "ignored") throw error;
      problems.push(error);
      return fallback;
    }
  };
  const context = {
    readFile: (path: string) => sources.readFile(path, valueFiles),
    secretIsBase64: false,
    invalidConfig,
  };
  // If the value is invalid, the loop below reports it.
  const secretIsBase64 = loadOrNothing(loader, context).value === true;
  const loadRow = (row: typeof loader.rows[0]) =>
    attempt(() => load(loader, row, { ...context, secretIsBase64 }), unloaded);
  const loaded = new Map(loader.rows.map((row) => [row[0], loadRow(row)]));
  for (const [key, problem] of conflictsIn(loader.rows, (each) => loaded.get(each)!.value)) {
    attempt(() => {
      const { origin } = loaded.get(key)!;
      if (origin === null) throw new Error(`${key}: ${problem}`);
      throw new ConfigError({ origin, key, problem });
    }, undefined);
  }
  const fields = Array.from(loaded, ([key, { value }]) => [camelCase(key), value]);
  const appSettings = sources.programmatic?.appSettings ??
    attempt(() => loadAppSettings(loader), []);
  if (problems.length > 0) throw combineProblems(problems);
  const { wingOptions = noWingOptions } = sources;
  return { ...Object.fromEntries(fields), appSettings, wingOptions } as Config;
}

/** Options without a usable value. */
const unloaded: Loaded = { value: undefined, origin: null };

function loadOrNothing(loader: Loader, context: CodecContext): Loaded {
  try {
    return load(loader, rowOf(loader, "jwt-secret-is-base64"), context);
  } catch {
    return unloaded;
  }
}

/** Returns an error for an option that proves invalid after loading. The message contains the place
 * of its value. */
export function makeOptionError(
  sources: ConfigSources,
  { key, problem, database = noValues }: {
    readonly key: string;
    readonly problem: string;
    readonly database?: DatabaseValues;
  },
): ConfigError {
  const loader = loaderOf(sources, database);
  const entry = find(loader, rowOf(loader, key))[0] ?? { key, origin: nowhere(loader, key) };
  return new ConfigError({ key: entry.key, origin: entry.origin, problem });
}

/** Returns `config` with the startup values of options that need a restart. */
export function keepStartupOptions(config: Config, first: Config): Config {
  const fixed = rowsOf(config).filter(([, { reloadable }]) => !reloadable);
  return {
    ...config,
    ...Object.fromEntries(fixed.map(([key]) => [camelCase(key), valueOf(first, key)])),
  };
}

/** Returns the options that a restart would change: they need a restart, and differ from their
 * startup value. Omits an option whose default is another option, if it still has that default. */
export function changedStartupOptions(config: Config, first: Config): readonly string[] {
  const isDefault = (key: string, fallback: unknown) =>
    isSameAs(fallback) &&
    [config, first].every((each) => valueOf(each, key) === valueOf(each, fallback.sameAs));
  return rowsOf(config)
    .filter(([key, { reloadable, default: fallback }]) =>
      !reloadable && valueOf(config, key) !== valueOf(first, key) && !isDefault(key, fallback)
    )
    .map(([key]) => key);
}

interface Loader extends ConfigSources {
  readonly dialect: Dialect;
  readonly entries: FileEntries;
  readonly database: DatabaseValues;
  readonly rows: OptionRows;
}

function loaderOf(sources: ConfigSources, database: DatabaseValues): Loader {
  const dialect = dialectOf(sources);
  const { wingOptions = noWingOptions } = sources;
  const rows = rowsOf({ wingOptions });
  return { ...sources, database, dialect, rows, entries: entriesOf(sources, dialect) };
}

function entriesOf({ file, environment, readFile }: ConfigSources, dialect: Dialect): FileEntries {
  if (file === null) return new Map();
  const readText = (path: string) => new TextDecoder().decode(readFile(path, "configuration file"));
  return dialect.fileSyntax === "toml"
    ? parseFile(file, environment)
    : parseGroups(file, environment, readText);
}

/** Returns the dialect, which determines the grammar and all names. An unknown dialect is rejected
 * later, by the check of its key. */
function dialectOf({ programmatic, flags, environment, file }: ConfigSources): Dialect {
  const inFile = file?.text.matchAll(/^[ \t]*dialect[ \t]*=[ \t]*["']([^"']*)["']/gm) ?? [];
  const inEnvironment = Object.hasOwn(environment, dialectVariable)
    ? environment[dialectVariable]
    : undefined;
  const name = flags?.get("dialect")?.value ?? inEnvironment ?? Array.from(inFile).at(-1)?.[1];
  return programmatic?.dialect ?? dialects.get(name ?? "") ?? svcDialect;
}

type Row = OptionRows[number];

function rowOf({ rows }: Loader, key: string): Row {
  return rows.find(([name]) => name === key)!;
}

/** A value and its place; `origin` is null for a default. */
interface Loaded {
  readonly value: unknown;
  readonly origin: ConfigOrigin | null;
}

/** Returns the first set value, by precedence. The dialect decides what happens to values of the wrong type. */
function load(loader: Loader, row: Row, context: CodecContext): Loaded {
  const programmatic = programmaticValue(loader, row);
  for (const entry of find(loader, row)) {
    if (programmatic !== undefined && entry.origin.kind !== "database") break;
    if (isKept(loader, row, entry)) {
      return { value: valueOf(loader.startupConfig!, row[0]), origin: entry.origin };
    }
    const reading = row[1].codec.read(entry.value, contextOf(entry, context, loader));
    if (reading.kind === "value") return { value: reading.value, origin: entry.origin };
    if (reading.kind === "problem") throw new ConfigError({ ...entry, problem: reading.problem });
  }
  const value = programmatic === undefined ? defaultValue(loader, row, context) : programmatic;
  return { value, origin: null };
}

/** Returns the context of a source. Paths in flags are relative to the working directory, as in a shell. */
function contextOf(
  { origin }: Found,
  context: CodecContext,
  { readFile }: ConfigSources,
): CodecContext {
  if (origin.kind !== "command line") return context;
  return { ...context, readFile: (path) => readFile(path, "working directory") };
}

/** Returns whether a value names a file that is only read at the start. */
function isKept(
  { startupConfig = null }: Loader,
  [, { codec, reloadable }]: Row,
  { value }: Found,
) {
  const namesFile = typeof value === "string" && value.startsWith("@");
  return startupConfig !== null && !reloadable && codec.readsFiles === true && namesFile;
}

function programmaticValue({ programmatic = {}, database }: Loader, [key, option]: Row): unknown {
  const hidden = option.inDatabase && database.has(databaseName(key));
  return hidden ? undefined : valueOf(programmatic, key);
}

interface Found {
  /** The key or the alias. */
  readonly key: string;
  readonly value: RawValue;
  readonly origin: ConfigOrigin;
}

/** Lists the values of all spellings of an option, each from its source of highest precedence. */
function find(loader: Loader, [key, option]: Row): readonly Found[] {
  const isValue = ({ value }: Found) => value !== "" || option.codec.empty === "value";
  const stored = option.inDatabase ? inDatabase(loader, key) : null;
  const flag = flagOf(loader, key);
  if (stored === null && flag !== null) return [flag].filter(isValue);
  const entries = spellings(key, option)
    .map((spelling) => (spelling === key ? stored : null) ?? findSpelling(loader, spelling))
    .filter((each) => each !== null)
    .filter(isValue);
  return entries.length === 0 && key === "db-uri" ? databaseUrl(loader) : entries;
}

function flagOf({ flags }: Loader, key: string): Found | null {
  const flag = flags?.get(key);
  if (flag === undefined) return null;
  return { key, value: flag.value, origin: { kind: "command line", name: flag.name } };
}

function databaseUrl({ databaseUrl: value, dialect }: Loader): readonly Found[] {
  if (!value || dialect.databaseUrl === "ignored") return [];
  const origin = { kind: "environment", name: "DATABASE_URL" } as const;
  return [{ key: "db-uri", value, origin }];
}

function inDatabase({ database, dialect }: Loader, key: string): Found | null {
  const name = databaseName(key);
  const value = database.get(name);
  if (value === undefined) return null;
  return { key, value, origin: { kind: "database", name: `${dialect.settingPrefix}.${name}` } };
}

function spellings(key: string, { aliases = [], aliasFirst }: Option<unknown>): readonly string[] {
  return aliasFirst ? [...aliases, key] : [key, ...aliases];
}

function findSpelling({ environment, entries, dialect }: Loader, key: string): Found | null {
  const name = variableOf(key, dialect);
  if (Object.hasOwn(environment, name)) {
    return { key, value: environment[name]!, origin: { kind: "environment", name } };
  }
  return entries.get(key) ?? null;
}

/** Returns the environment variable of an option. For `dialect`, all dialects have the same one. */
function variableOf(key: string, { environmentPrefix }: Dialect): string {
  return key === "dialect" ? dialectVariable : environmentName(key, environmentPrefix);
}

function defaultValue(loader: Loader, row: Row, context: CodecContext): unknown {
  const chosen = valueOf(loader.defaults ?? {}, row[0]);
  if (chosen !== undefined) return chosen;
  const fallback = row[1].default;
  const text = loader.dialect.defaults[row[0]];
  if (text !== undefined) {
    const reading = row[1].codec.read(text, context);
    if (reading.kind === "value") return reading.value;
    throw new Error(`the default of ${row[0]} cannot be read`);
  }
  if (fallback === required) {
    const isReplaced = loader.rows.some((each) =>
      each[1].replacesRequired && find(loader, each).length > 0
    );
    if (!isReplaced) throw missing(loader, row);
    return row[0] === "db-schemas" ? [] : "";
  }
  if (!isSameAs(fallback)) return fallback;
  return load(loader, rowOf(loader, fallback.sameAs), context).value;
}

function missing(loader: Loader, [key, option]: Row): ConfigError {
  const empty = findSpelling(loader, key)?.origin;
  return new MissingOptionError({
    origin: empty ?? nowhere(loader, key),
    key,
    problem: `required, but ${empty === undefined ? "not set" : "empty"}`,
    example: option.example,
  });
}

/** Returns the place of a missing value: the end of the file. */
function nowhere({ file, dialect }: Loader, key: string): ConfigOrigin {
  return file === null
    ? { kind: "environment", name: variableOf(key, dialect) }
    : { kind: "file", path: file.path, line: lastLine(file) };
}

const settingText = text({ type: "text", expected: "text in quotes" });

/** Loads the application settings. Their names are case-insensitive, as in PostgreSQL. A variable
 * overrides the file. */
function loadAppSettings(
  { entries, environment, dialect, defaults }: Loader,
): Config["appSettings"] {
  const ofFile = Array.from(entries.values()).filter(({ key }) =>
    key.startsWith(appSettingsPrefix)
  );
  const ofEnvironment = Object.entries(environment).flatMap(([name, value]): Found[] => {
    const key = appSettingOf(name, dialect.environmentPrefix);
    return key === null ? [] : [{ key, value, origin: { kind: "environment", name } }];
  });
  const settings = new Map(
    defaults?.appSettings?.map((setting) => [setting[0].toLowerCase(), setting]),
  );
  for (const entry of [...ofFile, ...ofEnvironment]) {
    settings.set(entry.key.toLowerCase(), [entry.key, readAppSetting(entry, dialect)]);
  }
  return Array.from(settings.values());
}

function readAppSetting(entry: Found, { invalidConfig }: Dialect): string {
  if (!/^[A-Za-z_][A-Za-z0-9_$]*$/.test(entry.key.slice(appSettingsPrefix.length))) {
    const problem = "not a setting's name (expected app.settings. and one word of letters, " +
      "digits and underscores)";
    throw new ConfigError({ ...entry, problem });
  }
  const reading = settingText.read(entry.value, { ...textContext, invalidConfig });
  if (reading.kind === "value") return reading.value;
  throw new ConfigError({ ...entry, problem: reading.kind === "problem" ? reading.problem : "" });
}

/** Context of application settings, which never name files. */
const textContext = {
  readFile: () => new Uint8Array(),
  secretIsBase64: false,
} as const;

function refusedKeys({ entries, refuse, rows }: Loader): ConfigError[] {
  if (refuse === undefined) return [];
  return Array.from(entries.values()).flatMap(({ key, origin }) => {
    const row = rows.find(([name, option]) => spellings(name, option).includes(key));
    const problem = row === undefined ? null : refuse(row);
    return problem === null ? [] : [new ConfigError({ origin, key, problem })];
  });
}

function unknownKeys({ entries, rows }: Loader): ConfigError[] {
  const keys = rows.flatMap(([key, option]) => spellings(key, option));
  const keySet = new Set(keys);
  return Array.from(entries.values())
    .filter(({ key }) => !keySet.has(key) && !key.startsWith(appSettingsPrefix))
    .map(({ key, origin }) => new ConfigError({ origin, key, problem: unknownKey(key, keys) }));
}

/** Lists environment variables of removed options. */
function removedVariables(loader: Loader): ConfigError[] {
  return Array.from(removedOptions.keys()).flatMap((key) => {
    const name = variableOf(key, loader.dialect);
    if (!Object.hasOwn(loader.environment, name)) return [];
    const origin = { kind: "environment", name } as const;
    return [new ConfigError({ origin, key, problem: removedKey(key)! })];
  });
}

function removedKey(key: string): string | null {
  const advice = removedOptions.get(key);
  return advice === undefined ? null : `this option no longer exists; ${advice}`;
}

function unknownKey(key: string, keys: readonly string[]): string {
  const removed = removedKey(key);
  if (removed !== null) return removed;
  const setting = appSettingsPrefix + key.split(".").at(-1);
  const suggestion = nearest(key, key.includes(".") ? [...keys, setting] : keys);
  return "unknown key" + (suggestion === null ? "" : `; did you mean ${suggestion}?`);
}
