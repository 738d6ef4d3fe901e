/** The names of an option: its key in the file, its environment variable, its field in the code.
 * @module */
import { svcDialect } from "../../base/dialect.ts";

/** The field's name of a key, as a type: `db-max-rows` is `dbMaxRows`. */
export type CamelCase<Key extends string> = Key extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Key;

/** Returns the field's name of a key: `db-max-rows` is `dbMaxRows`. */
export function camelCase<Key extends string>(key: Key): CamelCase<Key> {
  const name = key.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return name as CamelCase<Key>;
}

/** Returns the environment variable of a key: `db-max-rows` is `SVC_DB_MAX_ROWS`. */
export function environmentName(
  key: string,
  prefix: string = svcDialect.environmentPrefix,
): string {
  return `${prefix}_${key.toUpperCase().replaceAll("-", "_")}`;
}

/** The variable of the key that selects the dialect; all other names depend on its value. */
export const dialectVariable = environmentName("dialect");

/** Returns the setting of a key in the database, without prefix: `db-max-rows` is `db_max_rows`. */
export function databaseName(key: string): string {
  return key.replaceAll("-", "_");
}

/** Prefix of all application settings. */
export const appSettingsPrefix = "app.settings.";

/**
 * Returns the setting that an environment variable names, or null for other variables:
 * `SVC_APP_SETTINGS_region` is `app.settings.region`.
 */
export function appSettingOf(
  variable: string,
  prefix: string = svcDialect.environmentPrefix,
): string | null {
  const start = `${prefix}_APP_SETTINGS_`;
  const named = variable.startsWith(start) && variable.length > start.length;
  return named ? appSettingsPrefix + variable.slice(start.length) : null;
}
