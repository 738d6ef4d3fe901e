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
  override readonly name = "FixtureError";

  constructor(readonly result: TextResult, readonly script: FixtureScript) {
    super(`cannot run the fixtures of ${script.name}`);
  }
}

/** The longest wait for a lock of another session. */
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
  const parts = partsOf(script, readInclude);
  for (const part of parts) rejectControl(part, script);
  const session = new SqlSession(transport);
  let database: SavepointDatabase | null = null;
  try {
    const { name } = script;
    const check = { name: `${name}, deferred constraints`, text: checkConstraints };
    for (const part of [{ name, text: begin }, ...parts, check]) await run(session, part);
    database = new SavepointDatabase(transport);
    return await use(database);
  } finally {
    if (!database?.isLost) await rollBack(transport);
  }
}

/** DISCARD ends what survives a rollback, such as advisory locks. */
async function rollBack(transport: Transport): Promise<void> {
  const session = new SqlSession(transport);
  await session.run("rollback");
  await session.run("discard all");
}

async function run(session: SqlSession, script: FixtureScript): Promise<void> {
  const result = await session.run(script.text);
  if (result.failure !== null) throw new FixtureError(result, script);
}

/** Divides a script at its lines `\i FILE`. Empty lines keep the numbers of the others. */
function partsOf(script: FixtureScript, readInclude: ReadInclude): readonly FixtureScript[] {
  const parts: FixtureScript[] = [];
  const lines = script.text.split("\n");
  let start = 0;
  const addPart = (end: number) => {
    const text = "\n".repeat(start) + lines.slice(start, end).join("\n");
    parts.push({ name: script.name, text });
  };
  for (const [index, line] of lines.entries()) {
    const [, path] = /^\\ir?\s+(\S.*?)\s*$/.exec(line) ?? [];
    if (path === undefined) continue;
    addPart(index);
    parts.push(...partsOf(readInclude(path, script), readInclude));
    start = index + 1;
  }
  addPart(lines.length);
  return parts;
}

function rejectControl({ name, text }: FixtureScript, file: FixtureScript): void {
  for (const { start, end } of splitStatements(text)) {
    const statement = text.slice(start, end);
    if (!endsTransaction(statement)) continue;
    const place = `${name === file.name ? "" : `${name} `}line ${placeAt(text, start).line}`;
    const [word = ""] = /^\w+/.exec(statement) ?? [];
    throw new Error(
      `cannot run ${file.name}: ${place}: fixtures cannot contain ${word.toUpperCase()}`,
    );
  }
}
