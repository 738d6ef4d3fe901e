/** The table of the options of the core, one row each. A wing declares a table of the same form in
 * its folder. The environment variables, the example file, the dump and the option reference derive
 * from these tables. @module */
import { type CamelCase, camelCase } from "./names.ts";
import { adminOptions } from "./options/admin_options.ts";
import { batchOptions, writeOptions } from "./options/write_options.ts";
import { databaseOptions } from "./options/database_options.ts";
import { generalOptions } from "./options/general_options.ts";
import { limitOptions } from "./options/limit_options.ts";
import { monitoringOptions } from "./options/monitoring_options.ts";
import { openapiOptions } from "./options/openapi_options.ts";
import { poolOptions, replicaOptions } from "./options/pool_options.ts";
import { serverOptions } from "./options/server_options.ts";
import { tokenOptions } from "./options/token_options.ts";
import type { Option, OptionTable } from "./options/option.ts";

export const options = {
  ...adminOptions,
  ...batchOptions,
  ...databaseOptions,
  ...generalOptions,
  ...limitOptions,
  ...monitoringOptions,
  ...openapiOptions,
  ...poolOptions,
  ...replicaOptions,
  ...serverOptions,
  ...tokenOptions,
  ...writeOptions,
} as const;

/** Documentation of the settings that are passed to the database. */
export const appSettings = {
  key: "app.settings.*",
  environment: "APP_SETTINGS_*",
  type: "text",
  doc: "Settings that SQL reads with `current_setting('app.settings.<name>', true)`.",
  example: 'app.settings.region = "eu"',
} as const;

export type OptionKey = keyof typeof options;

/** Options without their types, in alphabetical order. */
export type OptionRows = readonly (readonly [key: string, option: Option<unknown>])[];

/** Returns the options of the core and of wings. */
export function rowsOf({ wingOptions }: Pick<Config, "wingOptions">): OptionRows {
  return Object.entries<Option<unknown>>({ ...options, ...wingOptions })
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** The options of a program without wings. */
export const noWingOptions: OptionTable = {};

type OptionValue<O> = O extends Option<infer T, infer D> ? T | (D extends null ? null : never)
  : never;

/** The values of a table of options: one field per option, named by its key in camel case. */
export type OptionValues<Table> = {
  readonly [Key in keyof Table as CamelCase<Key & string>]: OptionValue<Table[Key]>;
};

/** The whole configuration. It also contains the options of wings, for which each wing has a type. */
export interface Config extends OptionValues<typeof options> {
  /** Full names with their values, in the order in which transactions set them. */
  readonly appSettings: readonly (readonly [name: string, value: string])[];
  /** The wing options that the configuration has values of. */
  readonly wingOptions: OptionTable;
}

/** Returns the value of an option by its key. */
export function valueOf(config: object, key: string): unknown {
  return (config as Readonly<Record<string, unknown>>)[camelCase(key)];
}
