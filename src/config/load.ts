/**
 * Makes the configuration of its sources: environment, then file, then defaults.
 *
 * @module
 */
import { type CodecContext, type RawValue, text } from "./codecs.ts";
import { ConfigError, type Origin } from "./config_error.ts";
import { type ConfigFile, type FileEntries, lastLine, parseFile } from "./file.ts";
import { appSettingOf, appSettingsPrefix, camelCase, environmentName } from "./names.ts";
import { nearest } from "./nearest.ts";
import {
  type Config,
  isRequired,
  isSameAs,
  type Option,
  type OptionKey,
  options,
  rows,
} from "./options.ts";

/** Where the configuration comes from. */
export interface ConfigSources {
  /** Null when the service is started without a file. */
  readonly file: ConfigFile | null;
  readonly environment: Readonly<Record<string, string>>;
  /** Reads a file that a value names as `@path`; raises when it cannot. */
  readonly readFile: (path: string) => Uint8Array;
}

/**
 * Reads the whole configuration. A key's environment variable goes before the file; an alias counts
 * only where the key itself has no value. An empty text is no value, and an empty environment
 * variable hides the file's value.
 *
 * Raises `ConfigError` for the first thing that is wrong.
 */
export function loadConfig(sources: ConfigSources): Config {
  const loader = loaderOf(sources);
  refuseUnknown(loader.entries);
  const context = { readFile: sources.readFile, secretIsBase64: false };
  const secretIsBase64 = load(loader, rowOf("jwt-secret-is-base64"), context).value === true;
  const loaded = new Map(
    rows.map((row) => [row[0] as string, load(loader, row, { ...context, secretIsBase64 })]),
  );
  refuseSharedPort(loaded);
  const fields = Array.from(loaded, ([key, { value }]) => [camelCase(key), value]);
  return { ...Object.fromEntries(fields), appSettings: loadAppSettings(loader) } as Config;
}

/**
 * Makes the error of an option whose value turned out to be unusable after it was loaded: the message
 * names the place that the value came from.
 */
export function blame(sources: ConfigSources, key: OptionKey, problem: string): ConfigError {
  const loader = loaderOf(sources);
  const found = find(loader, rowOf(key)) ?? { key, origin: nowhere(loader, key) };
  return new ConfigError({ key: found.key, origin: found.origin, problem });
}

interface Loader extends ConfigSources {
  readonly entries: FileEntries;
}

function loaderOf(sources: ConfigSources): Loader {
  const { file, environment } = sources;
  return { ...sources, entries: file === null ? new Map() : parseFile(file, environment) };
}

type Row = readonly [key: string, option: Option<unknown>];

function rowOf(key: OptionKey): Row {
  return [key, options[key]];
}

/** A value, and where it stands; null for a default. */
interface Loaded {
  readonly value: unknown;
  readonly origin: Origin | null;
}

function load(loader: Loader, [key, option]: Row, context: CodecContext): Loaded {
  const found = find(loader, [key, option]);
  if (found === null) return { value: defaultValue(loader, [key, option], context), origin: null };
  const reading = option.codec.read(found.value, context);
  if (reading.kind === "value") return { value: reading.value, origin: found.origin };
  throw new ConfigError({ ...found, problem: reading.problem });
}

interface Found {
  /** The spelling that was used. */
  readonly key: string;
  readonly value: RawValue;
  readonly origin: Origin;
}

function find(loader: Loader, [key, option]: Row): Found | null {
  const isValue = ({ value }: Found) => value !== "" || option.codec.empty === "value";
  const found = spellings(key, option).map((spelling) => findSpelling(loader, spelling));
  return found.find((each) => each !== null && isValue(each)) ?? null;
}

function spellings(key: string, { aliases = [], aliasFirst }: Option<unknown>): readonly string[] {
  return aliasFirst ? [...aliases, key] : [key, ...aliases];
}

function findSpelling({ environment, entries }: Loader, key: string): Found | null {
  const name = environmentName(key);
  if (Object.hasOwn(environment, name)) {
    return { key, value: environment[name]!, origin: { kind: "environment", name } };
  }
  return entries.get(key) ?? null;
}

function defaultValue(loader: Loader, row: Row, context: CodecContext): unknown {
  const fallback = row[1].default;
  if (isRequired(fallback)) throw missing(loader, row);
  if (!isSameAs(fallback)) return fallback;
  return load(loader, rowOf(fallback.sameAs), context).value;
}

function missing(loader: Loader, [key, option]: Row): ConfigError {
  const empty = findSpelling(loader, key)?.origin;
  const problem = `required, but ${empty === undefined ? "not set" : "empty"}; ` +
    `expected for example ${key} = ${option.example} in the file, or ${environmentName(key)}`;
  return new ConfigError({ origin: empty ?? nowhere(loader, key), key, problem });
}

/** Where a value that no source has would have stood: at the file's end. */
function nowhere({ file }: Loader, key: string): Origin {
  return file === null
    ? { kind: "environment", name: environmentName(key) }
    : { kind: "file", path: file.path, line: lastLine(file) };
}

/** Port 0 is any free port, so two of them are not the same one. */
function refuseSharedPort(loaded: ReadonlyMap<string, Loaded>): void {
  const admin = loaded.get("admin-server-port")!;
  if (!admin.value || admin.value !== loaded.get("server-port")!.value) return;
  throw new ConfigError({
    origin: admin.origin!,
    key: "admin-server-port",
    problem: "admin-server-port cannot be the same as server-port " +
      `(expected another port than ${admin.value})`,
  });
}

const settingText = text({ type: "text", expected: "text in quotes" });

/**
 * PostgreSQL compares the names without regard to letter case; a variable's value takes the place of
 * the file's.
 */
function loadAppSettings({ entries, environment }: Loader): Config["appSettings"] {
  const ofFile = Array.from(entries.values()).filter(({ key }) =>
    key.startsWith(appSettingsPrefix)
  );
  const ofEnvironment = Object.entries(environment).flatMap(([name, value]): Found[] => {
    const key = appSettingOf(name);
    return key === null ? [] : [{ key, value, origin: { kind: "environment", name } }];
  });
  const settings = new Map<string, readonly [string, string]>();
  for (const found of [...ofFile, ...ofEnvironment]) {
    settings.set(found.key.toLowerCase(), [found.key, readAppSetting(found)]);
  }
  return Array.from(settings.values());
}

function readAppSetting(found: Found): string {
  if (!/^[A-Za-z_][A-Za-z0-9_$]*$/.test(found.key.slice(appSettingsPrefix.length))) {
    const problem = "not a setting's name (expected app.settings. and one word of letters, " +
      "digits and underscores)";
    throw new ConfigError({ ...found, problem });
  }
  const reading = settingText.read(found.value, neverRead);
  if (reading.kind === "value") return reading.value;
  throw new ConfigError({ ...found, problem: reading.problem });
}

/** Application settings need nothing beside their own text. */
const neverRead: CodecContext = {
  readFile: () => new Uint8Array(),
  secretIsBase64: false,
};

function refuseUnknown(entries: FileEntries): void {
  const known = rows.flatMap(([key, option]) => spellings(key, option));
  const isKnown = new Set(known);
  for (const { key, origin } of entries.values()) {
    if (isKnown.has(key) || key.startsWith(appSettingsPrefix)) continue;
    throw new ConfigError({ origin, key, problem: unknownKey(key, known) });
  }
}

function unknownKey(key: string, known: readonly string[]): string {
  const setting = appSettingsPrefix + key.split(".").at(-1);
  const suggestion = nearest(key, key.includes(".") ? [...known, setting] : known);
  return "unknown key" + (suggestion === null ? "" : `; did you mean ${suggestion}?`);
}
