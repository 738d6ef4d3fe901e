/** Runs the fixtures of a file in a transaction that is rolled back. @module */
import {
  endsTransaction,
  SavepointDatabase,
} from "../../../database/connection/savepoint_database.ts";
import {
  failureLines,
  SqlSession,
  type TextResult,
} from "../../../database/connection/sql_session.ts";
import { connectionSetup } from "../../../database/database.ts";
import type { Transport } from "../../../database/transport.ts";
import { placeAt, splitStatements } from "../../../base/sql/statements.ts";

/** SQL with its name for errors. */
export interface FixtureScript {
  readonly name: string;
  readonly text: string;
}

/** Returns the file of `\i` in a script. Throws an `Error` if it cannot be read. */
export type ReadInclude = (path: string, from: FixtureScript) => FixtureScript;

/** Reports that PostgreSQL refused fixtures, with the position. */
export class FixtureError extends Error {
  constructor(readonly result: TextResult, script: FixtureScript) {
    const isRefused = result.failure?.sqlstate === "42501";
    super(
      failureLines(result, script).join("\n") +
        (isRefused ? "\nlog in as the tables' owner: --db-uri=postgres://owner@…" : ""),
    );
  }
}

const begin = `${connectionSetup}; begin isolation level read committed read write; ` +
  "set local lock_timeout = '2s'";

/** Resets the role to the login, and checks deferred constraints, which would otherwise be checked
 * in each case. */
const finish = `reset session authorization; reset role; do $svc$ begin
set constraints all immediate;
execute coalesce((select 'set constraints ' || string_agg(format('%I.%I', nspname, conname), ', ') || ' deferred'
  from pg_constraint c join pg_namespace n on n.oid = connamespace
  where condeferred and has_schema_privilege(n.oid, 'USAGE')), 'set constraints all immediate');
end $svc$`;

/**
 * Runs fixtures and then `use` in one transaction, and rolls it back. Rejects with {@linkcode
 * FixtureError} if the fixtures fail, and with `ConnectionClosedError` if the connection is lost.
 * Rejects with an `Error` before the first statement if the fixtures would end the transaction.
 */
export async function withFixtures<Result>(
  transport: Transport,
  { script, readInclude }: { readonly script: FixtureScript; readonly readInclude: ReadInclude },
  use: (database: SavepointDatabase) => Promise<Result>,
): Promise<Result> {
  const { name } = script;
  const parts = partsOf(script, name, readInclude);
  const check = { name: `${name}, deferred constraints`, text: finish };
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
    const ending = database?.release() ?? session;
    await ending.run("rollback");
    // A rollback does not undo everything. Advisory locks, for example, end with DISCARD ALL.
    await ending.run("discard all");
  }
}

/** Maximum depth of includes, because a file may include itself. */
const maxDepth = 10;

/** Splits a script at its statements `\i FILE`. Empty lines keep the line numbers correct. */
function partsOf(
  script: FixtureScript,
  file: string,
  readInclude: ReadInclude,
  depth = 0,
): readonly FixtureScript[] {
  const { name, text } = script;
  for (const { start, end } of splitStatements(text)) {
    const statement = text.slice(start, end);
    const [line, path] = /^\\ir?[ \t]+(.*\S).*/.exec(statement) ?? [];
    const isEnd = endsTransaction(statement);
    if (isEnd || (path !== undefined && depth === maxDepth)) {
      const place = `${name === file ? "" : `${name} `}line ${placeAt(text, start).line}`;
      const word = isEnd ? statement.split(/\W/, 1)[0]!.toUpperCase() : `${maxDepth} nested \\i`;
      throw new Error(`cannot run ${file}: ${place}: fixtures cannot contain ${word}`);
    }
    if (line === undefined || path === undefined) continue;
    const [before, behind] = [text.slice(0, start), text.slice(start + line.length)];
    return [
      { name, text: before },
      ...partsOf(readInclude(path, script), file, readInclude, depth + 1),
      ...partsOf({ name, text: before.replace(/[^\n]+/g, "") + behind }, file, readInclude, depth),
    ];
  }
  return [script];
}
