/** Computes the number of rows that a caller sees. @module */
import type { Identity } from "../../../state/auth/jwt_cache.ts";
import { readRoles, roleStatement } from "../../../state/config/in_database.ts";
import type { Config } from "../../../state/config/options.ts";
import { metadataTransaction } from "../../../database/transaction.ts";
import type { Database } from "../../../database/database.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { parsePreferences } from "../../../api/request/preferences.ts";
import { compile, ident, sql } from "../../../base/sql/fragment.ts";
import {
  preamble,
  settingsOf,
  sharedSettings,
  type TransactionOwner,
} from "../../../api/transaction/preamble.ts";
import { planContextOf } from "../../../api/transaction/settings.ts";
import type { AccessCell } from "./cells.ts";

interface CountInput {
  readonly database: Database;
  readonly config: Config;
  readonly identity: Identity;
}

/** Returns the cells with the number of visible rows for each select. Each query runs after the
 * settings of a GET, for at most 1 s. */
export async function withCounts(
  cells: readonly AccessCell[],
  input: CountInput,
): Promise<readonly AccessCell[]> {
  const { database, config: { dialect }, identity } = input;
  const settings = metadataTransaction([roleStatement(await database.version(), dialect)]);
  const { rows } = await database.transaction(settings);
  const { byRole, loginSetsTimeout } = readRoles(rows.at(-1)![0]![0]!);
  const owner = { identity, defaults: byRole.get(identity.role), loginSetsTimeout };
  const counted: AccessCell[] = [];
  for (const cell of cells) {
    const isRead = cell.action === "select" && cell.may !== "no";
    counted.push(isRead ? { ...cell, visible: await countOf(cell.relation, owner, input) } : cell);
  }
  return counted;
}

async function countOf(
  relation: string,
  owner: TransactionOwner,
  { database, config }: CountInput,
): Promise<number | string> {
  // The names of `api."a.b"`.
  const [schema = "", name = ""] = Array.from(
    relation.matchAll(/"((?:[^"]|"")*)"|[^."]+/g),
    ([whole, quoted]) => quoted?.replaceAll('""', '"') ?? whole,
  );
  const request = { cookies: {}, headers: {}, method: "GET", path: `/${name}`, schema };
  const get = { ...request, preferences: parsePreferences(null) };
  const limited = { ...config, maxStatementTimeoutMs: 1000 };
  const settings = settingsOf(sharedSettings(get, null, owner, limited), get, owner);
  const count = sql`select pg_catalog.count(*) from (select from ${
    ident(schema, name)
  } limit 10001) t`;
  try {
    const { rows } = await database.transaction({
      ...metadataTransaction([], "rollback"),
      statements: [...preamble(settings, { config, owner }), { ...compile(count), use: "rows" }],
      retry: "never",
      planContext: planContextOf(settings),
    });
    return Number(rows.at(-1)![0]![0]);
  } catch (thrown) {
    if (thrown instanceof DatabaseError) return thrown.failure.sqlstate;
    throw thrown;
  }
}
