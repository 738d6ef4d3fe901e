/** Applies the SQL of `db-embedded-init` to an embedded database, once. @module */
import type { PGlite } from "@electric-sql/pglite";
import { failurePlace, splitStatements } from "../../sql/statements.ts";
import type { InitScript } from "../database.ts";
import { backend, readFields } from "../protocol/messages.ts";
import { frames, queryFrame } from "../protocol/simple_query.ts";

/** Result of {@linkcode applyInit}. `changed`: another text was applied before. */
export type InitResult = "applied" | "unchanged" | "changed";

/**
 * Applies the SQL in one transaction, unless the database is marked as initialised. It sets the mark, the
 * SHA-256 of the text, in the same transaction, so a process that dies half-way leaves neither. Rejects
 * with an `Error` such as `init.sql:3:8: syntax error at or near "tabel"`.
 */
export async function applyInit(
  engine: PGlite,
  { text, name }: InitScript,
): Promise<InitResult> {
  const hash = await sha256(text);
  const mark = await readMark(engine);
  if (mark !== null) return mark === hash ? "unchanged" : "changed";
  await engine.exec("begin");
  const failure = findCopy(text) ?? await runScript(engine, text);
  if (failure !== null) {
    throw new Error(`${name}:${failurePlace(text, failure)}: ${failure.message}`);
  }
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

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

interface InitFailure {
  readonly message: string;
  /** Number of a character, from 1; null if PostgreSQL gives none. */
  readonly position: number | null;
  /** Number of statements before the one that failed. */
  readonly completed: number;
}

/** Runs a text as one simple query. Resolves with null if it succeeds. */
async function runScript(engine: PGlite, text: string): Promise<InitFailure | null> {
  let completed = 0;
  let failure: InitFailure | null = null;
  for (const [type, payload] of frames(await engine.execProtocolRaw(queryFrame(text)))) {
    if (type === backend.commandComplete) completed++;
    else if (type === backend.error) failure ??= readFailure(payload, completed);
  }
  return failure;
}

/** Returns the first statement that reads the client's input, at which the engine would stop. */
function findCopy(text: string): InitFailure | null {
  const completed = splitStatements(text).findIndex(({ start, end }) =>
    /^copy\s[^;]*\sfrom\s+stdin\b/i.test(text.slice(start, end))
  );
  if (completed === -1) return null;
  return { message: "COPY FROM STDIN has no input here", position: null, completed };
}

function readFailure(payload: Uint8Array, completed: number): InitFailure {
  const fields = readFields(payload);
  const position = fields.get("P");
  return {
    message: fields.get("M") ?? "",
    position: position === undefined ? null : Number(position),
    completed,
  };
}
