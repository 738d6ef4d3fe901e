/** Changes the rows that a caller cannot see. @module */
import { callerIdentity } from "../../../state/auth/authenticate.ts";
import {
  refusal,
  type SavepointDatabase,
} from "../../../database/connection/savepoint_database.ts";
import { readJson } from "../../../database/read_rows.ts";
import {
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
import type { CallerRole, CaseState } from "../policy_test/case_handler.ts";
import { freshValues, type JsonRow } from "../policy_test/requests.ts";
import { type Change, type PolicyTable, tablesQuery } from "./tables.ts";

/** A stored row. `place` is its table, and its position in the table. */
export type StoredRow = readonly [place: string, values: JsonRow];

/** The rows of a table that a caller does not see, and one row that it sees. */
export interface HiddenRows {
  readonly table: PolicyTable;
  readonly hidden: readonly StoredRow[];
  readonly visible: StoredRow | null;
  /** Resolves with the positions of the rows that the caller sees. */
  readonly seen: (places: readonly string[]) => Promise<readonly string[]>;
}

/** Maximum rows of a table that are read, and that are changed. */
const [maxRead, maxHidden] = [50, 8];

const place = sql`t.tableoid::pg_catalog.text || t.ctid::pg_catalog.text`;

function isAt(places: readonly string[]): Sql {
  const list = (texts: readonly string[]) =>
    sql`array[${join(texts.map(literal))}]::pg_catalog.text[]`;
  const tids = list(places.map((each) => each.replace(/^\d+/, "")));
  return sql`t.ctid = any (${tids}::pg_catalog.tid[]) and ${place} = any (${list(places)})`;
}

/** Reads the hidden rows of each table with row-level security. Rows of the fixtures come first. */
export async function readHiddenRows(
  { appState, database }: CaseState,
  { caller, role }: CallerRole,
): Promise<readonly HiddenRows[]> {
  const { config } = appState.snapshot;
  const identity = callerIdentity(caller ?? { role, claims: "{}" }, config);
  const read = await callerReader({ database, config, identity });
  const params = [identity.role, JSON.stringify(freshValues)];
  const statement = { text: tablesQuery, params, use: "rows" } as const;
  const tables: HiddenRows[] = [];
  for (const table of await readJson<readonly PolicyTable[]>(database, statement)) {
    const name = ident(table.schema, table.name);
    const seen = async (places: readonly string[]) => {
      if (table.access === "no" || places.length === 0) return [];
      return await database.within(async () => {
        // The GRANT does not affect policies. Reading `ctid` needs SELECT on the whole table.
        const grant = sql`grant select on ${name} to ${ident(identity.role)}`;
        if (table.access === "some") await database.run(compile(grant).text);
        const query = sql`select ${place} from ${name} t where ${isAt(places)}`;
        const rows = await read(table, query).catch((error) => {
          if (error instanceof DatabaseError) return [];
          throw error;
        });
        return rows.map(([each]) => each!);
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
    tables.push({ table, hidden, visible: stored.find(([at]) => visible.has(at)) ?? null, seen });
  }
  return tables;
}

/** Changes hidden rows in the open savepoint, if constraints and triggers permit it and the rows
 * stay hidden. Resolves with the number of changes. */
export async function applyChange(
  database: SavepointDatabase,
  change: Change,
  { table, hidden, seen }: HiddenRows,
): Promise<number> {
  let places = hidden.map(([at]) => at);
  let count = 0;
  /** Resolves with true if the statement has changed all rows and the rows are still hidden. */
  const write = async (statement: string, at: readonly string[]) => {
    const query = sql`${catalogueSql(statement)} and ${isAt(at)} returning ${place}`;
    const written = (await database.run(compile(query).text)).map(([each]) => each!);
    // Checks deferred constraints here, because otherwise the end of each later request would check them.
    await database.within(() => database.run("set constraints all immediate"));
    if (written.length < at.length) return false;
    if (change !== "deleted" && (await seen(written)).length > 0) return false;
    if (change === "changed") places = written;
    return true;
  };
  for (const statements of hidden.length === 0 ? [] : table.changes[change]) {
    for (const at of change === "changed" ? [places] : places.map((each) => [each])) {
      for (const statement of statements) {
        const use = () => write(statement, at);
        if (await database.within(use, (isKept) => isKept).catch(refusal) !== true) continue;
        count++;
        break;
      }
      if (change === "inserted" && count > 0) break;
    }
  }
  return count;
}
