/**
 * Applies the SQL of `db-embedded-init` to an embedded database, once.
 *
 * @module
 */
import type { PGlite } from "@electric-sql/pglite";
import { placeAt, placeOfCharacter, splitStatements } from "../../sql/statements.ts";
import { backend, readFields } from "../protocol/messages.ts";

/** SQL that initialises a database. */
export interface InitScript {
  readonly text: string;
  /** Name for errors: `init.sql`. */
  readonly name: string;
}

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
  if (mark !== null) return mark === hash || mark === unhashed ? "unchanged" : "changed";
  await engine.exec("begin");
  const failure = findCopy(text) ?? await runScript(engine, text);
  if (failure !== null) throw new Error(`${name}:${placeText(text, failure)}: ${failure.message}`);
  await engine.exec(
    "do $$ begin execute format('alter database %I set svc.initialised = " +
      `''${hash}''', current_database()); end $$`,
  );
  await engine.exec("commit");
  return "applied";
}

/** Mark of older versions. */
const unhashed = "yes";

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

/** An error in a script. */
interface InitScriptFailure {
  readonly message: string;
  /** Number of a character, from 1; null if PostgreSQL gives none. */
  readonly position: number | null;
  /** Number of statements before the one that failed. */
  readonly completed: number;
}

/** Runs a text as one simple query. Resolves with null if it succeeds. */
async function runScript(engine: PGlite, text: string): Promise<InitScriptFailure | null> {
  let completed = 0;
  let failure: InitScriptFailure | null = null;
  for (const [type, payload] of frames(await engine.execProtocolRaw(queryFrame(text)))) {
    if (type === backend.commandComplete) completed++;
    else if (type === backend.error) failure ??= readFailure(payload, completed);
  }
  return failure;
}

/** Returns the first statement that reads the client's input, at which the engine would stop. */
function findCopy(text: string): InitScriptFailure | null {
  const completed = splitStatements(text).findIndex(({ start, end }) =>
    /^copy\s[^;]*\sfrom\s+stdin\b/i.test(text.slice(start, end))
  );
  if (completed === -1) return null;
  return { message: "COPY FROM STDIN has no input here", position: null, completed };
}

function readFailure(payload: Uint8Array, completed: number): InitScriptFailure {
  const fields = readFields(payload);
  const position = fields.get("P");
  return {
    message: fields.get("M") ?? "",
    position: position === undefined ? null : Number(position),
    completed,
  };
}

/** Returns `line:column`, or the line of the statement if PostgreSQL gives no position. */
function placeText(text: string, { position, completed }: InitScriptFailure): string {
  if (position !== null) {
    const { line, column } = placeOfCharacter(text, position);
    return `${line}:${column}`;
  }
  const statements = splitStatements(text);
  const failed = statements[completed] ?? statements.at(-1);
  return String(placeAt(text, failed?.start ?? 0).line);
}

/** Returns the Query message of a text. */
function queryFrame(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const frame = new Uint8Array(bytes.length + 6);
  frame[0] = 0x51;
  new DataView(frame.buffer).setInt32(1, bytes.length + 5);
  frame.set(bytes, 5);
  return frame;
}

/** Lists the messages of a reply, which is complete. */
function* frames(reply: Uint8Array): Iterable<readonly [type: number, payload: Uint8Array]> {
  const view = new DataView(reply.buffer, reply.byteOffset, reply.byteLength);
  for (let at = 0; at + 5 <= reply.length;) {
    const end = at + 1 + view.getInt32(at + 1);
    yield [reply[at]!, reply.subarray(at + 5, end)];
    at = end;
  }
}
