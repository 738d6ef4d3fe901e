/** Checks options that a program passes as values, by the rules for options in a file. @module */
import type { Dialect } from "../../base/dialect.ts";
import { isJsonObject } from "../../base/lib/json_object.ts";
import { ConfigError, MissingOptionError } from "./config_error.ts";
import { loadConfig } from "./load.ts";
import { appSettingsPrefix, camelCase, environmentName } from "./names.ts";
import { nearest } from "../../base/lib/nearest.ts";
import { removedOptions } from "./removed_options.ts";
import { type Config, type OptionRows, rowsOf } from "./options.ts";
import type { OptionTable } from "./options/option.ts";

/** Options by their names in camel case. `undefined` leaves an option unset. */
export type ProgrammaticOptions = Readonly<Record<string, unknown>>;

interface HandlerContext {
  readonly dialect: Dialect;
  readonly wingOptions: OptionTable;
}

/**
 * Returns the values of the options, after the checks. Lists, objects and bytes are unchanged.
 *
 * Throws a one-line `Error` for an unknown name and for an invalid value, such as `dbPool: expected a
 * whole number of at least 1, got "ten"`.
 */
export function checkHandlerOptions(
  options: ProgrammaticOptions,
  { dialect, wingOptions }: HandlerContext,
): Partial<Config> {
  const rows = rowsOf({ wingOptions });
  const values = Object.entries(options).filter(([, value]) => value !== undefined);
  const environment = Object.fromEntries(
    values.flatMap(([name, value]) => variablesOf(name, value, { dialect, rows })),
  );
  const loaded = loadChecked(environment, { dialect, wingOptions });
  return Object.fromEntries(
    values.map(([name, value]) => [
      name,
      typeof value === "object" && !(name === "dbSchemas" && loaded.dbSchemas.fallbacks)
        ? value
        : loaded[name as keyof Config],
    ]),
  );
}

type Variable = readonly [name: string, value: string];

function variablesOf(
  name: string,
  value: unknown,
  { dialect, rows }: { readonly dialect: Dialect; readonly rows: OptionRows },
): readonly Variable[] {
  const prefix = dialect.environmentPrefix;
  if (name === "appSettings") return appSettings(value, prefix);
  const row = rows.find(([key]) => camelCase(key) === name);
  if (row === undefined) throw unknownName(name, rows);
  const [key, { default: fallback }] = row;
  if (value === null && fallback !== null) {
    throw new Error(`${name}: expected a value, got null`);
  }
  const text = textOf(name, value);
  return text === null ? [] : [[environmentName(key, prefix), text]];
}

/** Returns a value as the text of an environment variable; null for null and bytes. */
function textOf(name: string, value: unknown): string | null {
  if (value === null || value instanceof Uint8Array) return null;
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) {
    return value.some(isJsonObject) ? JSON.stringify(value) : value.join(",");
  }
  if (name === "serverResponseHeaders") return JSON.stringify(value);
  if ("name" in value) {
    const schema = "schema" in value ? value.schema : null;
    return schema === null ? String(value.name) : `${schema}.${value.name}`;
  }
  throw new Error(`${name}: expected a value of the option's type, got an object`);
}

function appSettings(value: unknown, prefix: string): readonly Variable[] {
  const problem = 'appSettings: expected pairs such as ["app.settings.region", "north"]';
  if (!Array.isArray(value)) throw new Error(problem);
  return value.map((pair: unknown) => {
    const [name, text] = Array.isArray(pair) ? pair : [];
    if (
      typeof name !== "string" || typeof text !== "string" || !name.startsWith(appSettingsPrefix)
    ) {
      throw new Error(problem);
    }
    return [`${prefix}_APP_SETTINGS_${name.slice(appSettingsPrefix.length)}`, text];
  });
}

function unknownName(name: string, rows: OptionRows): Error {
  for (const [key, advice] of removedOptions) {
    if (camelCase(key) === name) return new Error(`${name}: no such option any more; ${advice}`);
  }
  const suggestion = nearest(name, rows.map(([key]) => camelCase(key)));
  const hint = suggestion === null ? "" : `; did you mean ${suggestion}?`;
  return new Error(`${name}: no such option${hint}`);
}

function loadChecked(
  environment: Readonly<Record<string, string>>,
  { dialect, wingOptions }: HandlerContext,
): Config {
  try {
    return loadConfig({
      file: null,
      environment,
      readFile: rejectFile,
      programmatic: { dialect },
      wingOptions,
    });
  } catch (error) {
    if (!(error instanceof ConfigError) || error.key === null) throw error;
    const [first = error] = error.problems;
    const problem = first instanceof MissingOptionError
      ? "required, but not set"
      : first.message.slice(first.message.indexOf(": ") + 2);
    throw new Error(`${camelCase(first.key ?? error.key)}: ${problem}`, { cause: error });
  }
}

/** Always throws: the `readFile` of an environment without files. */
export function rejectFile(path: string): never {
  throw new Error(`files cannot be read here: give the content of ${path} instead`);
}
