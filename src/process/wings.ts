/** The wings of the program. Other files of `src/process/` know them by the type `Wing` only. @module */
import {
  type AdminConsole,
  type AdminData,
  type AdminDataOptions,
  type HostOpener,
  optionsOfWings,
  type Wing,
} from "../api/wing.ts";
import type { CommandContext } from "../api/command.ts";
import { errors } from "../base/errors/catalogue.ts";
import type { ErrorDefinition } from "../base/errors/definition.ts";
import type { PoolCounts } from "../database/database.ts";
import type { AppState } from "../state/app_state/app_state.ts";
import type { Config } from "../state/config/options.ts";
import { auditWing } from "../wings/audit/audit.ts";
import { openConsole as openConsoleWing } from "../wings/console/server/console.ts";
import { liveWing } from "../wings/live/live_host.ts";
import { liveSql } from "../wings/live/live_schema.ts";
import { mcpWing } from "../wings/mcp/mcp_host.ts";
import { operationsWing } from "../wings/operations/operations.ts";
import { tenantErrors } from "../wings/tenants/tenant_errors.ts";
import { hasTenants, tenantOptions } from "../wings/tenants/tenant_options.ts";
import { shadowCommand } from "../wings/shadow/command.ts";
import { typesCommand } from "../wings/types/types_command.ts";
import { adminListenAddress } from "./listen_address.ts";

const tenantHost: HostOpener = {
  isSet: hasTenants,
  async open(options) {
    const { Tenants } = await import("../wings/tenants/tenants.ts");
    return await Tenants.open(options);
  },
};

/** The wings in the order of `--help`. If several wings have a path, the first one answers. */
export const wings: readonly Wing[] = [
  auditWing,
  mcpWing(),
  { ...liveWing, recordSql: liveSql },
  operationsWing,
  { name: "shadow", commands: [shadowCommand] },
  { name: "types", commands: [typesCommand] },
  { name: "tenants", options: tenantOptions, errors: tenantErrors, host: tenantHost },
  { name: "console", openConsole: openConsoleWing },
];

/** The options of all wings. */
export const wingOptions = optionsOfWings(wings);

/** The errors of the API and of all wings, each under its name in the code. */
export const allErrors: Readonly<Record<string, ErrorDefinition<never>>> = Object.assign(
  { ...errors },
  ...wings.map((wing) => wing.errors),
);

/** Returns the console data of all wings. */
export function adminData(appState: AppState, options: AdminDataOptions): AdminData {
  return new Map(wings.flatMap(({ adminData }) => [...adminData?.(appState, options) ?? []]));
}

/** Opens the console of a thread; null if the configuration turns it off, or has no admin server. */
export function openConsole(config: Config, pool: () => PoolCounts | null): AdminConsole | null {
  const hasConsole = config.adminConsoleEnabled && adminListenAddress(config) !== null;
  return hasConsole ? partOfWings("openConsole")?.(pool) ?? null : null;
}

/** Returns the opener of tenants' services; null if the configuration has one database. */
export function hostOf(config: object): HostOpener | null {
  const host = partOfWings("host");
  return host?.isSet(config) ? host : null;
}

/** Returns the SQL that records changes of tables; empty if live queries are off. */
export const recordSql: CommandContext["recordSql"] = (login, tables) =>
  partOfWings("recordSql")?.(login, tables) ?? "";

/** Returns the member `name` of the first wing that has this member. */
function partOfWings<Name extends keyof Wing>(name: Name): Wing[Name] | undefined {
  return wings.find((wing) => wing[name] !== undefined)?.[name];
}
