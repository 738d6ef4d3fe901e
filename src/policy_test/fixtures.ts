/** Runs the fixtures of a file in a transaction that rolls back. @module */
import { endsTransaction, SavepointDatabase } from "../database/connection/savepoint_database.ts";
import { SqlSession, type TextResult } from "../database/connection/sql_session.ts";
import { connectionSetup } from "../database/database.ts";
import type { Transport } from "../database/transport.ts";
import { placeAt, splitStatements } from "../sql/statements.ts";

/** SQL with its name for errors. */
export interface FixtureScript {
  readonly name: string;
  readonly text: string;
}

/** Returns the file of `\i` in a script. Throws an `Error` if it cannot be read. */
export type ReadInclude = (path: string, from: FixtureScript) => FixtureScript;

/** Reports that PostgreSQL refused the fixtures. */
export class FixtureError extends Error {
  constructor(readonly result: TextResult, readonly script: FixtureScript) {
    super(`cannot run the fixtures of ${script.name}`);
  }
}

const begin = `${connectionSetup}; begin isolation level read committed read write; ` +
  "set local lock_timeout = '2s'";

/** Checks what the fixtures deferred, which each case would check otherwise; the constraints stay deferred. */
const checkConstraints = `do $svc$ begin
set constraints all immediate;
execute coalesce((
  select 'set constraints ' || string_agg(format('%I.%I', nspname, conname), ', ') || ' deferred'
  from pg_constraint c join pg_namespace n on n.oid = connamespace where condeferred
    and has_schema_privilege(n.oid, 'USAGE')
), 'set constraints all immediate');
end $svc$`;

/**
 * Runs fixtures and then `use` in one transaction, and rolls it back. Rejects with {@linkcode FixtureError}
 * if the fixtures fail, and with an `Error` before the first statement if they end the transaction.
 */
export async function withFixtures<Result>(
  transport: Transport,
  { script, readInclude }: { readonly script: FixtureScript; readonly readInclude: ReadInclude },
  use: (database: SavepointDatabase) => Promise<Result>,
): Promise<Result> {
  const { name } = script;
  const parts = partsOf(script, readInclude);
  for (const part of parts) rejectControl(part, name);
  const check = { name: `${name}, deferred constraints`, text: checkConstraints };
  const session = new SqlSession(transport);
  let database: SavepointDatabase | null = null;
  try {
    for (const part of [{ name, text: begin }, ...parts, check]) {
      const result = await session.run(part.text);
      if (result.failure !== null) throw new FixtureError(result, part);
    }
    database = new SavepointDatabase(transport);
    return await use(database);
  } finally {
    if (!database?.isLost) {
      const ending = database === null ? session : new SqlSession(transport);
      await ending.run("rollback");
      // Advisory locks, for example, survive a rollback.
      await ending.run("discard all");
    }
  }
}

/** Divides a script at its lines `\i FILE`. Empty lines keep the numbers of the others. */
function partsOf(script: FixtureScript, readInclude: ReadInclude): readonly FixtureScript[] {
  const lines = script.text.split("\n");
  const isInclude = (line: string) => /^\\ir?\s+\S/.test(line);
  const end = lines.findIndex(isInclude);
  if (end === -1) return [script];
  const before = { ...script, text: lines.slice(0, end).join("\n") };
  const path = lines[end]!.replace(/^\S+\s+|\s+$/g, "");
  const rest = [...lines.slice(0, end + 1).map(() => ""), ...lines.slice(end + 1)];
  return [
    before,
    ...partsOf(readInclude(path, script), readInclude),
    ...partsOf({ ...script, text: rest.join("\n") }, readInclude),
  ];
}

function rejectControl({ name, text }: FixtureScript, file: string): void {
  for (const { start, end } of splitStatements(text)) {
    const statement = text.slice(start, end);
    if (!endsTransaction(statement)) continue;
    const place = `${name === file ? "" : `${name} `}line ${placeAt(text, start).line}`;
    const word = statement.split(/\W/, 1)[0]!.toUpperCase();
    throw new Error(`cannot run ${file}: ${place}: fixtures cannot contain ${word}`);
  }
}
