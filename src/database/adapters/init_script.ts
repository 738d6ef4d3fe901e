/** Applies the SQL of `db-embedded-init` to an embedded database once. @module */
import type { PGlite } from "@electric-sql/pglite";
import { hexOf, sha256 } from "../../base/lib/sha256.ts";
import { failurePlace, splitStatements } from "../../base/sql/statements.ts";
import type { InitScript } from "../database.ts";
import { failureLines, SqlSession } from "../connection/sql_session.ts";
import { EngineTransport } from "./engine_transport.ts";

/** Result of {@linkcode applyInit}. `changed`: another text was applied before. */
export type InitResult = "applied" | "unchanged" | "changed";

/**
 * Applies the SQL in one transaction, unless the database is marked as initialised. The same
 * transaction sets the mark, the SHA-256 of the text. So a process that dies half-way sets no mark.
 * Rejects with an `Error` such as `init.sql:3:8: syntax error at or near "tabel"`.
 */
export async function applyInit(
  engine: PGlite,
  { text, name }: InitScript,
): Promise<InitResult> {
  const hash = hexOf(await sha256(text));
  const mark = await readMark(engine);
  if (mark !== null) return mark === hash ? "unchanged" : "changed";
  await engine.exec("begin");
  rejectCopy({ text, name });
  const result = await new SqlSession(new EngineTransport(engine)).run(text);
  const [failure] = failureLines(result, { text, name });
  if (failure !== undefined) throw new Error(failure);
  await engine.exec(
    "do $$ begin execute format('alter database %I set svc.initialised = " +
      `''${hash}''', current_database()); end $$`,
  );
  await engine.exec("commit");
  return "applied";
}

async function readMark(engine: PGlite): Promise<string | null> {
  const { rows } = await engine.query<{ mark: string }>(
    "select substr(c, length('svc.initialised=') + 1) as mark " +
      "from pg_catalog.pg_db_role_setting s, unnest(s.setconfig) c " +
      "where c like 'svc.initialised=%'",
  );
  return rows[0]?.mark ?? null;
}

/** Throws an `Error` for COPY FROM STDIN, because the engine would wait for input for ever. */
function rejectCopy({ text, name }: InitScript): void {
  const completed = splitStatements(text).findIndex(({ start, end }) =>
    /^copy\s[^;]*\sfrom\s+stdin\b/i.test(text.slice(start, end))
  );
  if (completed === -1) return;
  const place = failurePlace(text, { position: null, completed });
  throw new Error(`${name}:${place}: COPY FROM STDIN has no input here`);
}
