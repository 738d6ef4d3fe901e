/** Builds the commands that repeat settings where Citus distributes tables. Policies are evaluated on its
 * workers, and it forwards the command `SET LOCAL` in a block to them, but never `set_config()`. @module */
import { appSettingsPrefix } from "../config/names.ts";
import type { Statement } from "../database/batch.ts";
import { compile, ident, settingLiteral, type Sql, sql, tableSql } from "../sql/fragment.ts";
import { requestSettings, type TransactionSettings } from "./settings.ts";

/**
 * Returns the statement of the settings between commands that repeat some of them: the search path, the role,
 * the time zone, and what policies read. The others are the coordinator's.
 */
export function withCommands(
  all: Statement,
  settings: TransactionSettings,
): readonly Statement[] {
  const { searchPath, role, requestId, batchPosition, timezone, overrides } = settings;
  const values: readonly (readonly [name: string, value: string | null])[] = [
    ["role", role],
    ...requestSettings(settings),
    ["request.id", requestId],
    ["request.batch", batchPosition],
    ["timezone", timezone],
    ...overrides.filter(([name]) => name.startsWith(appSettingsPrefix)),
  ];
  return [
    command(sql`citus.propagate_set_commands = 'local'`),
    // Made by `searchPathOf()`: quoted identifiers, which SET takes one by one. The statement restores its text.
    command(sql`search_path to ${tableSql(searchPath)}`),
    all,
    ...values.flatMap(([name, value]) =>
      value === null ? [] : [command(sql`${ident(...name.split("."))} = ${settingLiteral(value)}`)]
    ),
  ];
}

function command(change: Sql): Statement {
  return { ...compile(sql`set local ${change}`), use: "none", hasValues: true, role: "settings" };
}
