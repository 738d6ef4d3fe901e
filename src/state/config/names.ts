/** The names of an option: key in the file, environment variable, field in the code. @module */
import { svcDialect } from "../../base/dialect.ts";

/** The field name of a key, as a type: `db-max-rows` becomes `dbMaxRows`. */
export type CamelCase<Key extends string> = Key extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Key;

/** Returns the field name of a key: `db-max-rows` becomes `dbMaxRows`. */
export function camelCase<Key extends string>(key: Key): CamelCase<Key> {
  const name = key.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return name as CamelCase<Key>;
}

/** Returns the environment variable of a key: `db-max-rows` becomes `SVC_DB_MAX_ROWS`. */
export function environmentName(
  key: string,
  prefix: string = svcDialect.environmentPrefix,
): string {
  return `${prefix}_${key.toUpperCase().replaceAll("-", "_")}`;
}

/** The variable of the option `dialect`, on whose value all other names depend. */
export const dialectVariable = environmentName("dialect");

/**
 * Returns the in-database setting of a key, without prefix: `db-max-rows` becomes `db_max_rows`.
 */
export function databaseName(key: string): string {
  return key.replaceAll("-", "_");
}

/** Prefix of all application settings. */
export const appSettingsPrefix = "app.settings.";

/** Returns the application setting of an environment variable: `SVC_APP_SETTINGS_region` sets
 * `app.settings.region`. Returns null for other variables. */
export function appSettingOf(
  variable: string,
  prefix: string = svcDialect.environmentPrefix,
): string | null {
  const start = `${prefix}_APP_SETTINGS_`;
  const named = variable.startsWith(start) && variable.length > start.length;
  return named ? appSettingsPrefix + variable.slice(start.length) : null;
}
