/** Counts the rows that a caller sees. @module */
import type { Identity } from "../../../state/auth/jwt_cache.ts";
import { readRoles, roleStatement } from "../../../state/config/in_database.ts";
import type { Config } from "../../../state/config/options.ts";
import { metadataTransaction } from "../../../database/transaction.ts";
import type { Database } from "../../../database/database.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { parsePreferences } from "../../../api/request/preferences.ts";
import type { QualifiedName } from "../../../state/schema_cache/schema_cache.ts";
import { compile, ident, type Sql, sql } from "../../../base/sql/fragment.ts";
import { preamble, settingsOf, sharedSettings } from "../../../api/transaction/preamble.ts";
import { planContextOf } from "../../../api/transaction/settings.ts";
import type { AccessCell } from "./cells.ts";

interface CountInput {
  readonly database: Database;
  readonly config: Config;
  readonly identity: Identity;
}

/** Runs a query as a caller, with the settings that a GET of the relation has. */
export type ReadAsCaller = (
  relation: QualifiedName,
  query: Sql,
) => Promise<readonly (readonly (string | null)[])[]>;

/** Adds the number of visible rows to cells of select. Each query runs for at most 1 s. */
export async function withCounts(
  cells: readonly AccessCell[],
  input: CountInput,
): Promise<readonly AccessCell[]> {
  const read = await callerReader(input);
  const counted: AccessCell[] = [];
  for (const cell of cells) {
    const isRead = cell.action === "select" && cell.may !== "no";
    counted.push(isRead ? { ...cell, visible: await countOf(cell.relation, read) } : cell);
  }
  return counted;
}

/** Returns a function that reads as the caller. A query may take 1 s. */
export async function callerReader(input: CountInput): Promise<ReadAsCaller> {
  const { database, config, identity } = input;
  const query = metadataTransaction([roleStatement(await database.version(), config.dialect)]);
  const { byRole, loginSetsTimeout } = readRoles(
    (await database.transaction(query)).rows.at(-1)![0]![0]!,
  );
  const defaults = byRole.get(identity.role);
  // Always uses SET commands: only Citus needs them, but they work in every database.
  const actor = { identity, defaults, loginSetsTimeout, usesSetCommands: true };
  const limited = { ...config, maxStatementTimeoutMs: 1000 };
  return async ({ schema, name }, text) => {
    const request = { cookies: {}, headers: {}, method: "GET", path: `/${name}`, schema };
    const get = { ...request, preferences: parsePreferences(null) };
    const settings = settingsOf(sharedSettings(get, null, actor, limited), get, actor);
    const { rows } = await database.transaction({
      ...metadataTransaction([], "rollback"),
      statements: [...preamble(settings, { config, actor }), { ...compile(text), use: "rows" }],
      retry: "never",
      planContext: planContextOf(settings),
    });
    return rows.at(-1)!;
  };
}

async function countOf(relation: string, read: ReadAsCaller): Promise<number | string> {
  // Splits a name such as `api."a.b"`.
  const [schema = "", name = ""] = Array.from(
    relation.matchAll(/"((?:[^"]|"")*)"|[^."]+/g),
    ([whole, quoted]) => quoted?.replaceAll('""', '"') ?? whole,
  );
  const rows = sql`select from ${ident(schema, name)} limit 10001`;
  try {
    const count = await read({ schema, name }, sql`select pg_catalog.count(*) from (${rows}) t`);
    return Number(count[0]![0]);
  } catch (thrown) {
    if (thrown instanceof DatabaseError) return thrown.failure.sqlstate;
    throw thrown;
  }
}
