/** Tries servers in order until one matches `target_session_attrs`. @module */
import type { SessionTarget, Settings, Targets } from "./targets.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

export interface ServerState {
  /** Whether the server is a standby. */
  readonly inRecovery: boolean;
  /** Whether transactions are read-only by default. */
  readonly readOnly: boolean;
}

export interface Connector<Connection> {
  /** Opens and authenticates a connection. Throws an `Error` with the reason if that fails. */
  readonly open: (settings: Settings) => Promise<Connection>;
  readonly state: (connection: Connection) => Promise<ServerState>;
  readonly close: (connection: Connection) => void;
}

/** A failure after which no other server is tried, such as a wrong password. */
export class ConnectionRefused extends Error {
  override readonly name = "ConnectionRefused";
}

/** Why a session does not match a value of `target_session_attrs`; null if it matches. */
const sessionMismatch: Readonly<
  Record<Exclude<SessionTarget, "any" | "prefer-standby">, (state: ServerState) => string | null>
> = {
  "read-write": ({ inRecovery, readOnly }) =>
    inRecovery || readOnly ? "session is read-only" : null,
  "read-only": ({ inRecovery, readOnly }) =>
    inRecovery || readOnly ? null : "session is not read-only",
  "primary": ({ inRecovery }) => inRecovery ? "server is in hot standby mode" : null,
  "standby": ({ inRecovery }) => inRecovery ? null : "server is not in hot standby mode",
};

/**
 * Connects to the first server that matches. Rejects with an `Error` that lists the problem of each
 * server. After a {@linkcode ConnectionRefused} no other server is tried.
 */
export async function connectToFirst<Connection>(
  { servers, session }: Targets,
  connector: Connector<Connection>,
): Promise<Connection> {
  if (session !== "prefer-standby") return await tryInOrder(servers, session, connector);
  try {
    return await tryInOrder(servers, "standby", connector);
  } catch (error) {
    if (error instanceof ConnectionRefused) throw error;
    return await tryInOrder(servers, "any", connector);
  }
}

async function tryInOrder<Connection>(
  servers: readonly Settings[],
  session: Exclude<SessionTarget, "prefer-standby">,
  connector: Connector<Connection>,
): Promise<Connection> {
  const problems: string[] = [];
  for (const settings of servers) {
    let close = () => {};
    try {
      const connection = await connector.open(settings);
      if (session === "any") return connection;
      close = () => connector.close(connection);
      const problem = sessionMismatch[session](await connector.state(connection));
      if (problem === null) return connection;
      problems.push(`${placeOf(settings)} failed: ${problem}\n`);
    } catch (error) {
      if (error instanceof ConnectionRefused) throw error;
      problems.push(errorMessage(error));
    }
    close();
  }
  throw new Error(problems.join(""));
}

/** Returns the place for messages: `connection to server at "localhost", port 5432`. */
export function placeOf({ host, port }: Settings, address?: string): string {
  const [name, number] = [String(host ?? "localhost"), String(port ?? 5432)];
  if (name.startsWith("/")) return `connection to server on socket "${name}/.s.PGSQL.${number}"`;
  const numeric = address === undefined || address === name ? "" : ` (${address})`;
  return `connection to server at "${name}"${numeric}, port ${number}`;
}
