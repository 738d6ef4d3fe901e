/** Runs SQL texts of several statements, as `psql` does, over a connection of its own. @module */
import { connectToFirst } from "../connect/hosts.ts";
import { type Client, clients } from "../connect/pg_client.ts";
import { serverTargets } from "./postgres.ts";

export interface ScriptConnection {
  /** `localhost:5432`; for a Unix socket its folder replaces the host. */
  readonly place: string;
  readonly database: string;
  readonly user: string;
  /**
   * Runs a text of statements. Without BEGIN in the text they are one transaction. Resolves with the
   * error of the first statement that fails, or with null. Rejects if the connection is lost.
   */
  run(text: string): Promise<ScriptFailure | null>;
}

/** The error of a statement. */
export interface ScriptFailure {
  readonly sqlstate: string;
  readonly message: string;
  readonly detail: string | null;
  readonly hint: string | null;
  /** Position in the text, in characters from 1; null for errors without one. */
  readonly position: number | null;
  /** Number of statements before the failed one. */
  readonly completed: number;
}

/** Lends a connection. Rejects with an `Error` that has the reason if connecting fails. */
export async function withScriptConnection<Result>(
  uri: string,
  applicationName: string,
  use: (connection: ScriptConnection) => Promise<Result>,
): Promise<Result> {
  const client = await connectToFirst(serverTargets(uri, applicationName), clients);
  try {
    const { rows } = await client.query("select current_database() as name, current_user as user");
    return await use({
      place: `${client.host}:${client.port}`,
      database: String(rows[0]!["name"]),
      user: String(rows[0]!["user"]),
      run: (text) => run(client, text),
    });
  } finally {
    await client.end().catch(() => {});
  }
}

async function run(client: Client, text: string): Promise<ScriptFailure | null> {
  let completed = 0;
  const count = () => void completed++;
  const messages = client.connection as unknown as NodeJS.EventEmitter;
  messages.on("commandComplete", count);
  try {
    await client.query(text);
    return null;
  } catch (error) {
    const failure = error as Partial<Record<"code" | "detail" | "hint" | "position", string>>;
    if (!(error instanceof Error) || !/^[0-9A-Z]{5}$/.test(failure.code ?? "")) throw error;
    return {
      sqlstate: failure.code!,
      message: error.message,
      detail: failure.detail ?? null,
      hint: failure.hint ?? null,
      position: failure.position === undefined ? null : Number(failure.position),
      completed,
    };
  } finally {
    messages.removeListener("commandComplete", count);
  }
}
