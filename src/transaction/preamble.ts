/**
 * The beginning of a request's transaction: its settings, and the function that runs before each request.
 *
 * @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import type { RoleDefaults } from "../config/in_database.ts";
import type { Config } from "../config/options.ts";
import type { Statement } from "../database/database.ts";
import { noIdentifiers, type RequestIdentifiers } from "../http/request_id.ts";
import type { RootPlan } from "../plan/root_plan.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { compile, ident, sql } from "../sql/fragment.ts";
import type { DataPlan } from "./data_plan.ts";
import { claimSettings, searchPathOf, type TransactionSettings } from "./settings.ts";

/** Options that a transaction depends on. */
export type TransactionConfig = Pick<
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
  | "dbStatementTimeout"
  | "dbTxEnd"
  | "jwtClaimSettings"
>;

/** The role of a transaction, and its settings in the database. */
export interface TransactionOwner {
  readonly identity: Identity;
  /** Undefined where the role has no settings of its own. */
  readonly defaults: RoleDefaults | undefined;
  /** Whether the login role sets `statement_timeout`. */
  readonly loginSetsTimeout: boolean;
  /** Default: {@linkcode noIdentifiers}. */
  readonly identifiers?: RequestIdentifiers;
}

/** The parts of a request that the settings describe. */
export type DescribedRequest = Pick<
  ApiRequest,
  "cookies" | "headers" | "method" | "path" | "preferences" | "schema"
>;

/** Returns the settings that a transaction begins with. A batch of several requests has no plan. */
export function settingsOf(
  request: DescribedRequest,
  plan: DataPlan | RootPlan | null,
  owner: TransactionOwner,
  config: TransactionConfig,
): TransactionSettings {
  const { identity: { role, claims }, defaults, identifiers = noIdentifiers } = owner;
  const ofFunction = plan?.kind === "call" ? plan.call.routine.settings : [];
  const { method, path, headers, cookies } = request;
  return {
    searchPath: searchPathOf(request.schema, config.dbExtraSearchPath),
    role,
    restored: [],
    roleSettings: defaults?.settings ?? [],
    timeoutMs: timeoutMsOf(owner, config),
    claims,
    method,
    path,
    headers,
    cookies,
    requestId: identifiers.requestId,
    applicationName: identifiers.applicationName,
    timezone: request.preferences.timezone,
    overrides: [...ofFunction, ...config.appSettings],
  };
}

const timeoutSetting = "statement_timeout";

/** Returns the timeout of a request: `TransactionSettings.timeoutMs`. */
function timeoutMsOf(
  { identity: { role }, defaults, loginSetsTimeout }: TransactionOwner,
  { dbAnonRole, dbAnonStatementTimeout, dbStatementTimeout }: TransactionConfig,
): number | null {
  const ofAnonymous = role === dbAnonRole ? dbAnonStatementTimeout : null;
  const seconds = ofAnonymous ?? dbStatementTimeout;
  if (seconds === null || seconds === 0) return null;
  const ofRole = defaults?.settings.some(([name]) => name.toLowerCase() === timeoutSetting);
  if (ofRole) return null;
  return loginSetsTimeout ? 0 : Math.round(seconds * 1000);
}

/** The configuration and the role that the beginning of a transaction depends on. */
export interface PreambleContext {
  readonly config: Pick<TransactionConfig, "dbPreRequest" | "jwtClaimSettings">;
  readonly owner: TransactionOwner;
}

/** Returns the statements before those of the query. */
export function preamble(settings: Statement, context: PreambleContext): Statement[] {
  return [...settingStatements(settings, context), ...preRequestStatements(context.config)];
}

/** Returns the statements that set everything a request sets. */
export function settingStatements(
  settings: Statement,
  { config: { jwtClaimSettings }, owner }: PreambleContext,
): readonly Statement[] {
  return jwtClaimSettings ? [settings, claimSettings(owner.identity.claims)] : [settings];
}

/** Returns the call of the function that runs before each request, if there is one. */
export function preRequestStatements(
  { dbPreRequest }: Pick<TransactionConfig, "dbPreRequest">,
): readonly Statement[] {
  if (dbPreRequest === null) return [];
  const { schema, name } = dbPreRequest;
  const called = schema === null ? ident(name) : ident(schema, name);
  return [{ ...compile(sql`select ${called}()`), use: "none", runsUserCode: true }];
}
