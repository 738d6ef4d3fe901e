/** Builds the statement that prepares a transaction for a request: it sets the search path, the
 * role, the claims and the `request.*` settings, all local to the transaction. @module */
import type { AccessMode, Statement } from "../../database/transaction.ts";
import { updatedRowsSetting } from "../query/on_conflict.ts";
import {
  compile,
  join,
  literal,
  param,
  type ParamValue,
  quoteIdent,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";

export type Setting = readonly [name: string, value: string];

/** Values that a transaction begins with. */
export interface TransactionSettings {
  /** Result of {@linkcode searchPathOf}. */
  readonly searchPath: string;
  readonly role: string;
  /** Names of settings that are reset, before the settings of the role are applied. */
  readonly restored: readonly string[];
  /** Settings of the role, applied before the role is set. */
  readonly roleSettings: readonly Setting[];
  /** `statement_timeout` in ms, if it is stricter than the connection's. 0 resets the timeout to the
   * connection's; null leaves it unchanged. */
  readonly timeoutMs: number | null;
  /** JSON text. */
  readonly claims: string;
  readonly method: string;
  readonly path: string;
  /** Set as JSON text. */
  readonly headers: Readonly<Record<string, string>>;
  /** Set as JSON text. */
  readonly cookies: Readonly<Record<string, string>>;
  /** Null does not set `request.id`. */
  readonly requestId: string | null;
  /** Null keeps the name of the connection. */
  readonly applicationName: string | null;
  /** Position and number of operations: `1/3`. Null does not set `request.batch`. */
  readonly batchPosition: string | null;
  readonly timezone: string | null;
  /** Settings that override the role's: settings of the called function, and `app.settings.*`. */
  readonly overrides: readonly Setting[];
}

/** How isolation level and access mode are set. `block`: by BEGIN. An access mode: by settings in
 * an implicit transaction. */
export type SettingsForm = "block" | AccessMode;

/** Returns the text of `search_path`: a schema, then further schemas in order. `pg_temp` is named,
 * because PostgreSQL would otherwise search it first for types and relations. */
export function searchPathOf(schema: string, others: readonly string[]): string {
  return [...[schema, ...others].map(quoteIdent), "pg_temp"].join(", ");
}

/** Returns the context for which the statements after the settings are planned: `Transaction.planContext`. */
export function planContextOf(
  { searchPath, role }: Pick<TransactionSettings, "searchPath" | "role">,
): string {
  // Neither the path nor the name of a role contains this separator.
  return `${searchPath}\0${role}`;
}

/** Returns one statement for all settings. Its text depends on the number of settings, not on their values. */
export function settingsStatement(
  settings: TransactionSettings,
  form: SettingsForm,
): Statement {
  const { restored, roleSettings, timeoutMs, timezone, overrides } = settings;
  const isPlain = restored.length === 0 && roleSettings.length === 0 && overrides.length === 0 &&
    timezone === null;
  if (isPlain) return plainStatement(settings, form);
  const all = columns(form, plainParams(settings), {
    beforeRole: [
      ...(timeoutMs === null ? [] : timeout(timeoutMs)),
      // The login role comes first: a function may have left another role on the connection.
      ...(restored.length + roleSettings.length === 0 ? [] : [loginRole]),
      ...restored.map((name) => sql`${setConfig}(${param(name)}, null, true)`),
      ...named(roleSettings),
    ],
    after: [
      ...identifierSettings(settings),
      ...named(timezone === null ? [] : [["timezone", timezone]]),
      ...named(overrides),
    ],
  });
  return { ...compile(renderSettings(all)), use: "none", isShared: true };
}

/** Sets each claim with a valid name as `request.jwt.claim.<name>`. The text is the same for all claims. */
export function claimSettings(claims: string): Statement {
  const fragment = sql`select ${setConfig}('request.jwt.claim.' || key, value, true)
from pg_catalog.json_each_text(${param(claims)}::pg_catalog.json)
where key ~ '^[A-Za-z_][A-Za-z0-9_$]{0,62}$'`;
  return { ...compile(fragment), use: "none" };
}

/** Call of the function, qualified because a function may have changed the search path. */
const setConfig = sql`pg_catalog.set_config`;

function setting(name: string, value: Sql): Sql {
  return sql`${setConfig}(${literal(name)}, ${value}, true)`;
}

const connectionTimeout = sql`pg_catalog.current_setting('statement_timeout')`;

/** Resets the timeout to the connection's, which a function may have changed. Sets another timeout
 * if `timeoutMs` is not 0 and stricter. In PostgreSQL, 0 means no timeout. */
function timeout(timeoutMs: number): readonly Sql[] {
  const restored = setting("statement_timeout", sql`null`);
  if (timeoutMs === 0) return [restored];
  const value = sql`${param(timeoutText(timeoutMs))}::pg_catalog.text`;
  const isStricter = sql`${connectionTimeout} operator(pg_catalog.<>) '0' and
${connectionTimeout}::pg_catalog.interval operator(pg_catalog.<) ${value}::pg_catalog.interval`;
  const stricter = sql`case when ${isStricter} then ${connectionTimeout} else ${value} end`;
  return [restored, setting("statement_timeout", stricter)];
}

function timeoutText(timeoutMs: number): string {
  return `${timeoutMs}ms`;
}

const loginRole = setting("role", sql`'none'`);

/** Renders a setting. Its name is also a parameter, so that fewer statements are prepared. */
function named(settings: readonly Setting[]): readonly Sql[] {
  return settings.map(([name, value]) => sql`${setConfig}(${param(name)}, ${param(value)}, true)`);
}

/** The parts of {@linkcode TransactionSettings} that differ between requests. */
type Identifiers = Pick<TransactionSettings, "applicationName" | "batchPosition" | "requestId">;

function identifierSettings(
  { requestId, applicationName, batchPosition }: Identifiers,
): readonly Sql[] {
  return [
    ...(requestId === null ? [] : [setting("request.id", param(requestId))]),
    ...(applicationName === null ? [] : [setting("application_name", param(applicationName))]),
    ...(batchPosition === null ? [] : [
      setting("request.batch", param(batchPosition)),
      // The number of updated rows is reset, because an earlier operation may have set it.
      setting(updatedRowsSetting, sql`''`),
    ]),
  ];
}

/** Names of the settings that describe the request, after `request.`. */
const requestSettingNames = ["jwt.claims", "method", "path", "headers", "cookies"] as const;

/** Returns the settings that describe the request. */
export function requestSettings(settings: TransactionSettings): readonly Setting[] {
  return requestParams(settings).map((value, index) =>
    [`request.${requestSettingNames[index]!}`, value] as const
  );
}

/** Values of the settings that describe the request. */
function requestParams(settings: TransactionSettings): readonly string[] {
  const { claims, method, path, headers, cookies } = settings;
  return [claims, method, path, JSON.stringify(headers), JSON.stringify(cookies)];
}

/** Resets values that a function may have left on the connection. NULL resets to the default. */
const resets = [
  ...["response.headers", "response.status"].map((name) => setting(name, sql`''`)),
  setting("timezone", sql`null`),
];

/** Fails unless the transaction has this isolation level. A function may have changed the default. */
const committed = setting("transaction_isolation", sql`'read committed'`);

const formSettings: Readonly<Record<SettingsForm, readonly Sql[]>> = {
  // Without JIT: interpreting short statements takes less time than compiling them.
  block: [setting("jit", sql`'off'`)],
  "read only": [committed, setting("transaction_read_only", sql`'on'`)],
  // Fails if the transaction has begun as read only, except on a standby, where each is read only.
  "read write": [
    committed,
    setting("transaction_read_only", sql`pg_catalog.pg_is_in_recovery()::pg_catalog.text`),
  ],
};

function plainParams(settings: TransactionSettings): readonly ParamValue[] {
  return [settings.searchPath, settings.role, ...requestParams(settings)];
}

/** Returns a precompiled statement for settings that have no overrides and no role settings. */
function plainStatement(settings: TransactionSettings, form: SettingsForm): Statement {
  const { requestId, applicationName, batchPosition, timeoutMs } = settings;
  const [searchPath = "", ...others] = plainParams(settings);
  const params: ParamValue[] = timeoutMs ? [searchPath, timeoutText(timeoutMs)] : [searchPath];
  params.push(...others);
  if (requestId !== null) params.push(requestId);
  if (applicationName !== null) params.push(applicationName);
  if (batchPosition !== null) params.push(batchPosition);
  const text = plainTexts[form][plainKey(settings)]!;
  return { text, params, use: "none", isShared: true };
}

/** Examples of `TransactionSettings.timeoutMs` for each text: no change, reset, another timeout. */
const timeoutKinds: readonly (number | null)[] = [null, 0, 1];

/** Returns the index in the list of precompiled texts of a form. */
function plainKey(
  { requestId, applicationName, batchPosition, timeoutMs }: TransactionSettings,
): number {
  const identifiers = (requestId === null ? 0 : 1) + (applicationName === null ? 0 : 2) +
    (batchPosition === null ? 0 : 4);
  const timeout = timeoutMs === null ? 0 : timeoutMs === 0 ? 1 : 2;
  return identifiers * timeoutKinds.length + timeout;
}

function plainTextsOf(form: SettingsForm): readonly string[] {
  const placeholders = ["", "", ...requestSettingNames.map(() => "")];
  return [0, 1, 2, 3, 4, 5, 6, 7].flatMap((key) => {
    const requestId = (key & 1) === 0 ? null : "";
    const applicationName = (key & 2) === 0 ? null : "";
    const batchPosition = (key & 4) === 0 ? null : "";
    const after = identifierSettings({ requestId, applicationName, batchPosition });
    return timeoutKinds.map((timeoutMs) => {
      const beforeRole = timeoutMs === null ? [] : timeout(timeoutMs);
      return compile(renderSettings(columns(form, placeholders, { beforeRole, after }))).text;
    });
  });
}

/** Renders `select where (set_config(…) || …) is null`. The operator evaluates all calls. No call
 * returns NULL, so that PostgreSQL sends no row. */
function renderSettings(settings: readonly Sql[]): Sql {
  return sql`select where (${join(settings, sql` operator(pg_catalog.||) `)}) is null`;
}

/** Lists all settings in order. The parameters come from {@linkcode plainParams}. */
function columns(
  form: SettingsForm,
  [searchPath, role, ...request]: readonly ParamValue[],
  { beforeRole, after }: {
    /** Settings that are set before the role, because the role may lack the privilege. */
    readonly beforeRole: readonly Sql[];
    readonly after: readonly Sql[];
  },
): readonly Sql[] {
  return [
    setting("search_path", param(searchPath!)),
    ...resets,
    ...formSettings[form],
    ...beforeRole,
    setting("role", param(role!)),
    ...request.map((value, index) =>
      setting(`request.${requestSettingNames[index]!}`, param(value))
    ),
    ...after,
  ];
}

/** Texts by form, then by {@linkcode plainKey}. */
const plainTexts: Readonly<Record<SettingsForm, readonly string[]>> = {
  block: plainTextsOf("block"),
  "read only": plainTextsOf("read only"),
  "read write": plainTextsOf("read write"),
};
