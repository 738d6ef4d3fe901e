/** Changes the rows that a caller cannot see. @module */
import { callerIdentity } from "../../../state/auth/authenticate.ts";
import {
  type SavepointDatabase,
  StatementError,
} from "../../../database/connection/savepoint_database.ts";
import { metadataTransaction } from "../../../database/transaction.ts";
import {
  and,
  catalogueSql,
  compile,
  ident,
  join,
  literal,
  type Sql,
  sql,
} from "../../../base/sql/fragment.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { callerReader } from "../access/counts.ts";
import type { CaseCaller } from "../policy_test/case_file.ts";
import type { CaseState } from "../policy_test/case_handler.ts";
import { freshValues, type JsonRow } from "../policy_test/requests.ts";
import { type PolicyTable, type TableColumn, tablesQuery } from "./tables.ts";

/** A row: the table that stores it with its place, and its values. */
export type StoredRow = readonly [place: string, values: JsonRow];

/** The rows of a table that a caller does not see, and one that it sees. */
export interface HiddenRows {
  readonly table: PolicyTable;
  readonly hidden: readonly StoredRow[];
  readonly visible: StoredRow | null;
  /** Resolves with the places of the rows that the caller sees. */
  readonly seen: (places: readonly string[]) => Promise<readonly string[]>;
}

/** How a world differs from the fixtures. */
export type Change = "changed" | "deleted" | "inserted";

/** Most rows of a table that are read, and most that are changed. */
const [maxRead, maxHidden] = [50, 8];

const place = sql`t.tableoid::pg_catalog.text || t.ctid::pg_catalog.text`;

function isAt(places: readonly string[]): Sql {
  const list = (texts: readonly string[]) =>
    sql`array[${join(texts.map(literal))}]::pg_catalog.text[]`;
  const tids = list(places.map((each) => each.replace(/^\d+/, "")));
  return sql`t.ctid = any (${tids}::pg_catalog.tid[]) and ${place} = any (${list(places)})`;
}

/** Reads the hidden rows of each table with row-level security. Rows of the fixtures precede others. */
export async function readHiddenRows(
  { appState, database }: CaseState,
  caller: CaseCaller | null,
): Promise<readonly HiddenRows[]> {
  const { config } = appState.snapshot;
  const claims = { role: config.dbAnonRole!, claims: "{}" };
  const identity = callerIdentity(caller ?? claims, config);
  const read = await callerReader({ database, config, identity });
  const statement = { text: tablesQuery, params: [identity.role], use: "rows" } as const;
  const { rows } = await database.transaction(metadataTransaction([statement], "rollback"));
  const found: HiddenRows[] = [];
  for (const table of JSON.parse(rows.at(-1)![0]![0]!) as PolicyTable[]) {
    const name = ident(table.schema, table.name);
    const seen = async (places: readonly string[]) => {
      if (table.access === "no" || places.length === 0) return [];
      return await database.within(async () => {
        // The place of a row needs the privilege on the table, and policies do not depend on it.
        const grant = sql`grant select on ${name} to ${ident(identity.role)}`;
        if (table.access === "some") await database.run(compile(grant).text);
        const query = sql`select ${place} from ${name} t where ${isAt(places)}`;
        return (await read(table, query).catch(noRows)).map(([each]) => each!);
      });
    };
    const isOwn =
      sql`t.xmin::pg_catalog.text::pg_catalog.int8 = pg_catalog.txid_current() % 4294967296`;
    const query = sql`select ${place}, pg_catalog.to_json(t.*)::pg_catalog.text from ${name} t
      order by ${isOwn} desc limit ${catalogueSql(String(maxRead))}`;
    const stored = (await database.run(compile(query).text))
      .map(([at, values]): StoredRow => [at!, JSON.parse(values!)]);
    const visible = new Set(await seen(stored.map(([at]) => at)));
    const hidden = stored.filter(([at]) => !visible.has(at)).slice(0, maxHidden);
    found.push({ table, hidden, visible: stored.find(([at]) => visible.has(at)) ?? null, seen });
  }
  return found;
}

/** Returns no rows for a read that PostgreSQL refuses. */
function noRows(error: unknown): [] {
  if (error instanceof DatabaseError) return [];
  throw error;
}

/** Keeps the effect of `use` if it resolves with true. */
async function attempt(database: SavepointDatabase, use: () => Promise<boolean>): Promise<boolean> {
  await database.run("savepoint svc_attempt");
  const isKept = await use().catch((error) => {
    if (error instanceof StatementError) return false;
    throw error;
  });
  await database.run(
    `${isKept ? "" : "rollback to savepoint svc_attempt; "}release savepoint svc_attempt`,
  );
  return isKept;
}

/**
 * Applies a change to hidden rows in the open savepoint, as far as constraints and triggers let it, and as the rows
 * stay hidden. Resolves with the number of changes.
 */
export async function applyChange(
  database: SavepointDatabase,
  change: Change,
  { table, hidden, seen }: HiddenRows,
): Promise<number> {
  const name = ident(table.schema, table.name);
  let places = hidden.map(([at]) => at);
  const run = (statement: Sql, count: number) =>
    attempt(database, async () => {
      const written = await database.run(compile(sql`${statement} returning ${place}`).text);
      const after = written.map(([at]) => at!);
      // Deferred constraints are checked at the end of each request.
      await database.within(() => database.run("set constraints all immediate"));
      if (
        after.length < count || change !== "deleted" && (await seen(after)).length > 0
      ) return false;
      if (change === "changed") places = after;
      return true;
    });
  let applied = 0;
  if (change === "changed") {
    for (const column of places.length === 0 ? [] : table.columns) {
      if (column.isKey || column.isGenerated || column.isReferenced) continue;
      for (const value of otherValues(column, table)) {
        const update = sql`update ${name} t set ${catalogueSql(column.name)} = ${value} where ${
          isAt(places)
        }`;
        if (!await run(update, places.length)) continue;
        applied++;
        break;
      }
    }
  }
  for (const at of change === "deleted" ? places : []) {
    const condition = and([isAt([at]), catalogueSql(table.unreferenced)]);
    if (await run(sql`delete from ${name} t where ${condition}`, 1)) applied++;
  }
  for (const at of change === "inserted" ? places : []) {
    for (const parents of ["same", "other"] as const) {
      if (applied === 0 && await run(insertOf(table, at, parents), 1)) applied++;
    }
  }
  return applied;
}

/** Copies a row with other keys. */
function insertOf(table: PolicyTable, at: string, parents: "same" | "other"): Sql {
  const name = ident(table.schema, table.name);
  const columns = table.columns.filter(({ isGenerated }) => !isGenerated);
  const values = columns.map((column) => {
    const isCopied = !(column.isKey || column.isUnique) ||
      column.parent !== null && parents === "same";
    const fresh = freshValues.find(([type]) => type.test(column.type));
    return isCopied
      ? sql`t.${catalogueSql(column.name)}`
      : column.parent !== null || fresh === undefined
      ? otherValues(column, table)[0]!
      : literal(String(fresh[1]));
  });
  return sql`insert into ${name} as t (${join(columns.map((column) => catalogueSql(column.name)))})
    overriding system value select ${join(values)} from ${name} t where ${isAt([at])}`;
}

/** Returns other values of a column of the row `t`, the most different first. */
function otherValues({ name, type, category, parent }: TableColumn, table: PolicyTable): Sql[] {
  const value = catalogueSql(`t.${name}`);
  const text = sql`coalesce(${value}::pg_catalog.text, '')`;
  const byCategory: Readonly<Record<string, readonly Sql[]>> = {
    B: [sql`not coalesce(${value}, false)`],
    N: [sql`coalesce(${value}, 0) + 7919`, sql`coalesce(${value}, 0) + 1`],
    S: [sql`${text} || 'x'`],
    D: [sql`coalesce(${value}, pg_catalog.now()) + interval '1 day'`],
    T: [sql`coalesce(${value}, interval '0') + interval '1 day'`],
    A: [sql`${value} || ${value}`],
    E: [sql`(select e from pg_catalog.unnest(pg_catalog.enum_range(null::${catalogueSql(type)})) e
      where e is distinct from ${value} limit 1)`],
  };
  const other = (from: string, column: string) =>
    sql`(select o.${catalogueSql(column)} from ${catalogueSql(from)} o
      where o.${catalogueSql(column)} is distinct from ${value} order by 1 desc limit 1)`;
  if (parent !== null) return [other(...parent), sql`null`];
  const own = type === "uuid"
    ? [sql`pg_catalog.md5(${text})::pg_catalog.uuid`]
    : byCategory[category] ?? [sql`'{"svc": 1}'`];
  return [...own, other(table.sql, name), sql`null`];
}
