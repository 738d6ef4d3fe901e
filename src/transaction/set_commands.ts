/** Builds the statements that prepare a transaction where Citus distributes tables. Policies are evaluated on
 * its workers, and it forwards the command `SET LOCAL` in a block to them, but never `set_config()`. @module */
import type { Statement } from "../database/batch.ts";
import { updatedRowsSetting } from "../query/on_conflict.ts";
import { compile, ident, param, settingLiteral, type Sql, sql, tableSql } from "../sql/fragment.ts";
import {
  blockSettings,
  identifierSettings,
  loginRole,
  named,
  renderSettings,
  requestSettings,
  resets,
  restoredSetting,
  type Setting,
  setting,
  timeout,
  type TransactionSettings,
} from "./settings.ts";

/**
 * Returns the statements that set everything. Workers get the role, the search path, the time zone, and the
 * settings with a prefix, which policies read. The others are the coordinator's: Citus tells its connections by
 * `application_name`. Throws for NUL in a value.
 */
export function settingCommands(
  settings: TransactionSettings,
  { jwtClaimSettings }: { readonly jwtClaimSettings: boolean },
): readonly Statement[] {
  const { restored, roleSettings, overrides, requestId, batchPosition, timezone } = settings;
  const builtIn = overrides.filter(([name]) => !hasPrefix(name));
  return [
    command(sql`citus.propagate_set_commands = 'local'`),
    // Made by `searchPathOf()`: quoted identifiers, which SET takes one by one.
    command(sql`search_path to ${tableSql(settings.searchPath)}`),
    ownSettings(settings),
    ...restored.filter(hasPrefix).map((name) => command(sql`${nameOf(name)} to default`)),
    command(sql`role ${settingLiteral(settings.role)}`),
    ...[
      ...roleSettings.filter(([name]) => hasPrefix(name)),
      ...requestSettings(settings),
      ...(jwtClaimSettings ? claimSettings(settings.claims) : []),
      ...optional("request.id", requestId),
      ...optional("request.batch", batchPosition),
      ...optional("timezone", timezone),
      ...overrides.filter(([name]) => hasPrefix(name)),
    ].map(([name, value]) => command(sql`${nameOf(name)} = ${settingLiteral(value)}`)),
    ...(builtIn.length === 0 ? [] : [ownStatement(named(builtIn))]),
  ];
}

/** Returns the statement of the coordinator's own settings, before the role is set. */
function ownSettings(
  settings: TransactionSettings,
): Statement {
  const { searchPath, restored, roleSettings, timeoutMs, applicationName, batchPosition } =
    settings;
  return ownStatement([
    // Its text is then that of other databases.
    setting("search_path", param(searchPath)),
    ...resets,
    ...blockSettings,
    ...(timeoutMs === null ? [] : timeout(timeoutMs)),
    // A function may have left another role on the connection.
    loginRole,
    ...restored.filter((name) => !hasPrefix(name)).map(restoredSetting),
    ...named(roleSettings.filter(([name]) => !hasPrefix(name))),
    ...identifierSettings({ applicationName, requestId: null, batchPosition: null }),
    ...(batchPosition === null ? [] : [setting(updatedRowsSetting, sql`''`)]),
  ]);
}

function ownStatement(settings: readonly Sql[]): Statement {
  return { ...compile(renderSettings(settings)), use: "none", isShared: true, role: "settings" };
}

function command(change: Sql): Statement {
  return { ...compile(sql`set local ${change}`), use: "none", hasValues: true, role: "settings" };
}

function hasPrefix(name: string): boolean {
  return name.includes(".");
}

function nameOf(name: string): Sql {
  return ident(...name.split("."));
}

function optional(name: string, value: string | null): readonly Setting[] {
  return value === null ? [] : [[name, value]];
}

/** Returns the settings of claims whose names can be those of settings. */
function claimSettings(claims: string): readonly Setting[] {
  return Object.entries(JSON.parse(claims) as Readonly<Record<string, unknown>>).flatMap(
    ([name, value]) => {
      if (value === null || !/^[A-Za-z_][A-Za-z0-9_$]{0,62}$/.test(name)) return [];
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return [[`request.jwt.claim.${name}`, text]];
    },
  );
}
