/** The first statements of a request's transaction: its settings, and the function that runs before
 * each request. @module */
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { RoleDefaults } from "../../state/config/in_database.ts";
import { appSettingsPrefix } from "../../state/config/names.ts";
import type { Config } from "../../state/config/options.ts";
import type { Statement } from "../../database/transaction.ts";
import { noIdentifiers, type RequestIdentifiers } from "../../base/http/request_id.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import type { ApiRequest } from "../request/api_request.ts";
import {
  compile,
  ident,
  settingLiteral,
  type Sql,
  sql,
  tableSql,
} from "../../base/sql/fragment.ts";
import type { DataPlan } from "./data_plan.ts";
import {
  claimSettings,
  requestSettings,
  searchPathOf,
  type SettingsForm,
  settingsStatement,
  type TransactionSettings,
} from "./settings.ts";

/** Options that a transaction depends on. */
export type TransactionConfig =
  & Pick<
    Config,
    | "appSettings"
    | "dbAnonRole"
    | "dbAnonStatementTimeout"
    | "dbExtraSearchPath"
    | "dbMaxCost"
    | "dbPipelining"
    | "dbPreparedStatements"
    | "dbPreRequest"
    | "dbReadOnly"
    | "dbSchemas"
    | "dbStatementTimeout"
    | "dbTxEnd"
    | "jwtClaimSettings"
  >
  & {
    /** Maximum `statement_timeout` in ms, which no role and no option exceeds. Default: no limit. */
    readonly maxStatementTimeoutMs?: number;
  };

/** The role of a transaction, and the role's settings in the database. */
export interface TransactionActor {
  readonly identity: Identity;
  /** Undefined if the role has no settings. */
  readonly defaults: RoleDefaults | undefined;
  /** Whether the login role has a setting of `statement_timeout`. */
  readonly loginSetsTimeout: boolean;
  /** Default: {@linkcode noIdentifiers}. */
  readonly identifiers?: RequestIdentifiers;
  /** Whether SET commands repeat settings, for workers of Citus. Default: false. */
  readonly usesSetCommands?: boolean;
}

/** The parts of a request that become settings. */
export type DescribedRequest = Pick<
  ApiRequest,
  "cookies" | "headers" | "method" | "path" | "preferences" | "schema"
>;

/** The settings that depend only on the plan, the role and the configuration. */
export type SharedSettings = Pick<
  TransactionSettings,
  "overrides" | "role" | "roleSettings" | "searchPath" | "timeoutMs" | "timezone"
>;

/** Returns the settings that requests with the same plan and role share. A batch has no plan. */
export function sharedSettings(
  { schema, preferences: { timezone } }: Pick<DescribedRequest, "preferences" | "schema">,
  plan: DataPlan | RootPlan | null,
  actor: TransactionActor,
  config: TransactionConfig,
): SharedSettings {
  const ofFunction = plan?.kind === "call" ? plan.call.routine.settings : [];
  const fallbacks = config.dbSchemas.fallbacks?.get(schema) ?? [];
  return {
    searchPath: searchPathOf(schema, [...fallbacks, ...config.dbExtraSearchPath]),
    role: actor.identity.role,
    ...timeoutSettings(actor, config),
    timezone,
    overrides: [...ofFunction, ...config.appSettings],
  };
}

/** Returns the settings at the beginning of a request's transaction. */
export function settingsOf(
  shared: SharedSettings,
  { method, path, headers, cookies }: DescribedRequest,
  { identity: { claims }, identifiers = noIdentifiers }: TransactionActor,
): TransactionSettings {
  const { requestId, applicationName } = identifiers;
  return {
    ...shared,
    restored: noNames,
    claims,
    method,
    path,
    headers,
    cookies,
    requestId,
    applicationName,
    batchPosition: null,
  };
}

const noNames: readonly string[] = [];

const timeoutSetting = "statement_timeout";

/** Returns the settings of the role, and the timeout of the request. */
function timeoutSettings(
  actor: TransactionActor,
  config: TransactionConfig,
): Pick<TransactionSettings, "roleSettings" | "timeoutMs"> {
  const roleSettings = actor.defaults?.settings ?? [];
  const timeoutMs = timeoutMsOf(actor, config);
  const { maxStatementTimeoutMs: maxMs } = config;
  if (maxMs === undefined) return { roleSettings, timeoutMs };
  const ofRole = roleSettings.findLast(([name]) => name.toLowerCase() === timeoutSetting);
  const ofRoleMs = ofRole === undefined ? 0 : timeoutOf(ofRole[1]);
  if (ofRoleMs > 0 && ofRoleMs <= maxMs) return { roleSettings, timeoutMs };
  return {
    roleSettings: roleSettings.filter(([name]) => name.toLowerCase() !== timeoutSetting),
    timeoutMs: timeoutMs === null || timeoutMs === 0 ? maxMs : Math.min(timeoutMs, maxMs),
  };
}

/** Milliseconds by PostgreSQL's unit of time. */
const timeUnits: ReadonlyMap<string, number> = new Map([
  ["us", 0.001],
  ["ms", 1],
  ["", 1],
  ["s", 1000],
  ["min", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** Returns the milliseconds of a setting; 0 for no timeout, and for a text that PostgreSQL rejects. */
function timeoutOf(text: string): number {
  const [, number = "", unit = ""] = /^\s*([0-9.]+)\s*([a-z]*)\s*$/.exec(text) ?? [];
  return Number(number) * (timeUnits.get(unit) ?? 0) || 0;
}

/** Returns the timeout of a request: `TransactionSettings.timeoutMs`. */
function timeoutMsOf(
  { identity: { role }, defaults, loginSetsTimeout }: TransactionActor,
  { dbAnonRole, dbAnonStatementTimeout, dbStatementTimeout }: TransactionConfig,
): number | null {
  const ofAnonymous = role === dbAnonRole ? dbAnonStatementTimeout : null;
  const seconds = ofAnonymous ?? dbStatementTimeout;
  if (seconds === null || seconds === 0) return null;
  const ofRole = defaults?.settings.some(([name]) => name.toLowerCase() === timeoutSetting);
  if (ofRole) return null;
  return loginSetsTimeout ? 0 : Math.round(seconds * 1000);
}

/** The configuration and the role, on which the first statements of a transaction depend. */
export interface PreambleContext {
  readonly config: Pick<TransactionConfig, "dbPreRequest" | "jwtClaimSettings">;
  readonly actor: TransactionActor;
}

/** Returns the statements of a block before its queries. */
export function preamble(settings: TransactionSettings, context: PreambleContext): Statement[] {
  const { config: { dbPreRequest } } = context;
  return [
    ...settingStatements(settings, "block", context),
    ...dbPreRequest === null ? [] : [preRequestStatement(dbPreRequest)],
  ];
}

/** Returns the statements for all settings of a request. */
export function settingStatements(
  settings: TransactionSettings,
  form: SettingsForm,
  { config: { jwtClaimSettings }, actor }: PreambleContext,
): readonly Statement[] {
  const own: Statement = { ...settingsStatement(settings, form), role: "settings" };
  const all = actor.usesSetCommands === true ? withCommands(own, settings) : [own];
  if (!jwtClaimSettings) return all;
  return [...all, { ...claimSettings(actor.identity.claims), role: "settings" }];
}

/** Returns the call of the function that runs before each request. */
export function preRequestStatement(
  { schema, name }: NonNullable<TransactionConfig["dbPreRequest"]>,
): Statement {
  const called = schema === null ? ident(name) : ident(schema, name);
  return {
    ...compile(sql`select ${called}()`),
    use: "none",
    runsUserCode: true,
    role: "pre-request",
  };
}

/**
 * Returns the settings statement and, if Citus distributes tables, commands that repeat some
 * settings: the search path, the time zone, and the settings that policies read. Policies are
 * evaluated on workers, to which Citus forwards `SET LOCAL` in a block, but never `set_config()`.
 * The role is not repeated: Citus connects to workers as the current user, which is the owner in a
 * SECURITY DEFINER function.
 */
export function withCommands(
  all: Statement,
  settings: TransactionSettings,
): readonly Statement[] {
  const { searchPath, requestId, batchPosition, timezone, overrides } = settings;
  const values: readonly (readonly [name: string, value: string | null])[] = [
    ...requestSettings(settings),
    ["request.id", requestId],
    ["request.batch", batchPosition],
    ["timezone", timezone],
    ...overrides.filter(([name]) => name.startsWith(appSettingsPrefix)),
  ];
  return [
    command(sql`citus.propagate_set_commands = 'local'`),
    // As SQL, because SET takes a literal as one schema. `searchPath` has quoted identifiers.
    command(sql`search_path to ${tableSql(searchPath)}`),
    all,
    // Sequential: reads over several connections would forbid a later write to a reference table.
    ...batchPosition === null ? [] : [command(sql`citus.multi_shard_modify_mode = 'sequential'`)],
    ...values.flatMap(([name, value]) =>
      value === null ? [] : [command(sql`${ident(...name.split("."))} = ${settingLiteral(value)}`)]
    ),
  ];
}

function command(change: Sql): Statement {
  return { ...compile(sql`set local ${change}`), use: "none", hasValues: true, role: "settings" };
}
