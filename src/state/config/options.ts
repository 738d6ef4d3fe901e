/** The table of options, one row each. The `Config` type, the environment variables, the example
 * file, the dump and the option reference derive from it. @module */
import type { CamelCase } from "./names.ts";
import { adminOptions } from "./options/admin_options.ts";
import { batchOptions, writeOptions } from "./options/write_options.ts";
import { databaseOptions } from "./options/database_options.ts";
import { generalOptions } from "./options/general_options.ts";
import { limitOptions } from "./options/limit_options.ts";
import { liveOptions } from "./options/live_options.ts";
import { mcpOptions } from "./options/mcp_options.ts";
import { monitoringOptions } from "./options/monitoring_options.ts";
import { openapiOptions } from "./options/openapi_options.ts";
import { poolOptions, replicaOptions } from "./options/pool_options.ts";
import { serverOptions } from "./options/server_options.ts";
import { tenantOptions } from "./options/tenant_options.ts";
import { tokenOptions } from "./options/token_options.ts";
import type { Option } from "./options/option.ts";

export const options = {
  ...adminOptions,
  ...batchOptions,
  ...databaseOptions,
  ...generalOptions,
  ...limitOptions,
  ...liveOptions,
  ...mcpOptions,
  ...monitoringOptions,
  ...openapiOptions,
  ...poolOptions,
  ...replicaOptions,
  ...serverOptions,
  ...tenantOptions,
  ...tokenOptions,
  ...writeOptions,
} as const;

/** Documentation of the settings that pass through to the database. */
export const appSettings = {
  key: "app.settings.*",
  environment: "APP_SETTINGS_*",
  type: "text",
  doc: "Settings that SQL reads with `current_setting('app.settings.<name>', true)`.",
  example: 'app.settings.region = "eu"',
} as const;

export type OptionKey = keyof typeof options;

/** The rows without their types, in alphabetical order. */
export const rows = (Object.entries(options) as (readonly [OptionKey, Option<unknown>])[])
  .toSorted(([a], [b]) => (a < b ? -1 : 1)) as readonly (readonly [OptionKey, Option<unknown>])[];

type OptionValue<O> = O extends Option<infer T, infer D> ? T | (D extends null ? null : never)
  : never;

type OptionValues = {
  readonly [Key in OptionKey as CamelCase<Key>]: OptionValue<(typeof options)[Key]>;
};

/** The whole configuration: one field per option, named by its key in camel case. */
export interface Config extends OptionValues {
  /** Full names with their values, in the order in which each transaction sets them. */
  readonly appSettings: readonly (readonly [name: string, value: string])[];
}
