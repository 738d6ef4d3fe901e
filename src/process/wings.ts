/** The wings of the program. @module */
import { type AdminData, type AdminDataOptions, optionsOfWings, type Wing } from "../api/wing.ts";
import { errors } from "../base/errors/catalogue.ts";
import type { ErrorDefinition } from "../base/errors/definition.ts";
import type { AppState } from "../state/app_state/app_state.ts";
import { auditWing } from "../wings/audit/audit.ts";
import { liveWing } from "../wings/live/live_host.ts";
import { mcpWing } from "../wings/mcp/mcp_host.ts";
import { operationsWing } from "../wings/operations/operations.ts";
import { tenantErrors } from "../wings/tenants/tenant_errors.ts";
import { tenantOptions } from "../wings/tenants/tenant_options.ts";
import { shadowCommand } from "../wings/shadow/command.ts";

/** In the order of `--help`; the first that has a path answers it. */
export const wings: readonly Wing[] = [
  auditWing,
  mcpWing(),
  liveWing,
  operationsWing,
  { name: "shadow", commands: [shadowCommand] },
  { name: "tenants", options: tenantOptions, errors: tenantErrors },
];

/** The options of all wings. */
export const wingOptions = optionsOfWings(wings);

/** The errors of the API and of all wings, by their names. */
export const allErrors: Readonly<Record<string, ErrorDefinition<never>>> = Object.assign(
  { ...errors },
  ...wings.map((wing) => wing.errors),
);

/** Returns the data of the console that wings have. */
export function adminData(appState: AppState, options: AdminDataOptions): AdminData {
  return new Map(wings.flatMap(({ adminData }) => [...adminData?.(appState, options) ?? []]));
}
