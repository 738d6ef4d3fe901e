/** Counts the rows that a caller sees. @module */
import type { Identity } from "../auth/jwt_cache.ts";
import { readRoles, roleStatement } from "../config/in_database.ts";
import type { Config } from "../config/options.ts";
import { metadataBatch } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { DatabaseError } from "../errors/service_error.ts";
import { parsePreferences } from "../request/preferences.ts";
import { compile, ident, sql } from "../sql/fragment.ts";
import { preamble, settingsOf, type TransactionOwner } from "../transaction/preamble.ts";
import { planContextOf } from "../transaction/settings.ts";
import type { AccessCell } from "./cells.ts";

/** Most milliseconds of one count. */
const maxCountMs = 1000;

/** Returns the cells with counts of those that read rows, each behind the settings of a GET. */
export async function withCounts(
  cells: readonly AccessCell[],
  { database, config, identity }: {
    readonly database: Database;
    readonly config: Config;
    readonly identity: Identity;
  },
): Promise<readonly AccessCell[]> {
  const settings = metadataBatch([roleStatement(await database.version(), config.dialect)]);
  const { rows } = await database.transaction(settings);
  const { byRole, loginSetsTimeout } = readRoles(rows.at(-1)![0]![0]!);
  const owner = { identity, defaults: byRole.get(identity.role), loginSetsTimeout };
  const counted: AccessCell[] = [];
  for (const cell of cells) {
    const isRead = cell.action === "select" && cell.may !== "no";
    const visible = isRead ? await countOf(cell.relation, { database, owner, config }) : null;
    counted.push({ ...cell, visible });
  }
  return counted;
}

interface CountContext {
  readonly database: Database;
  readonly owner: TransactionOwner;
  readonly config: Config;
}

async function countOf(
  relation: string,
  { database, owner, config }: CountContext,
): Promise<number | string> {
  const [schema = "", name = ""] = unquoted(relation);
  const request = { cookies: {}, headers: {}, preferences: parsePreferences(null), schema };
  const get = { ...request, method: "GET", path: `/${name}` };
  const limited = { ...config, maxStatementTimeoutMs: maxCountMs };
  const settings = settingsOf(get, null, owner, limited);
  const count = sql`select count(*) from (select from ${ident(schema, name)} limit 10001) t`;
  try {
    const { rows } = await database.transaction({
      ...metadataBatch([], "rollback"),
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

/** Returns the names of `api."a.b"`. */
function unquoted(relation: string): readonly string[] {
  return Array.from(
    relation.matchAll(/"((?:[^"]|"")*)"|[^."]+/g),
    ([whole, quoted]) => quoted?.replaceAll('""', '"') ?? whole,
  );
}
