/**
 * Tries servers in order until one is what is wanted.
 *
 * @module
 */
import type { SessionTarget, Settings, Targets } from "./targets.ts";

/** What a server says of a new session. */
export interface ServerState {
  /** It replays the log of another server. */
  readonly inRecovery: boolean;
  /** Transactions are read-only unless they say otherwise. */
  readonly readOnly: boolean;
}

/** How to reach one server. */
export interface Connector<Connection> {
  /** Opens and authenticates. What it throws tells why that failed. */
  readonly open: (settings: Settings) => Promise<Connection>;
  readonly state: (connection: Connection) => Promise<ServerState>;
  readonly close: (connection: Connection) => void;
  /** Gives numbers from 0 to less than 1; those of the runtime unless told. */
  readonly random?: () => number;
}

/** A failure that the other servers are not asked after, such as a wrong password. */
export class ConnectionRefused extends Error {
  override readonly name = "ConnectionRefused";
}

/** Why a session is not what is wanted; null when it is. */
const sessionMismatch: {
  readonly [Target in Exclude<SessionTarget, "any" | "prefer-standby">]: (
    state: ServerState,
  ) => string | null;
} = {
  "read-write": ({ inRecovery, readOnly }) =>
    inRecovery || readOnly ? "session is read-only" : null,
  "read-only": ({ inRecovery, readOnly }) =>
    inRecovery || readOnly ? null : "session is not read-only",
  "primary": ({ inRecovery }) => inRecovery ? "server is in hot standby mode" : null,
  "standby": ({ inRecovery }) => inRecovery ? null : "server is not in hot standby mode",
};

/**
 * Connects to the first server that fits. Rejects with an `Error` that says of each server what was
 * wrong with it; after a {@linkcode ConnectionRefused} the others are not tried.
 */
export async function connectToFirst<Connection>(
  { servers: named, session, order }: Targets,
  connector: Connector<Connection>,
): Promise<Connection> {
  const servers = order === "random" ? shuffled(named, connector.random ?? Math.random) : named;
  if (session !== "prefer-standby") return await tryInOrder(servers, session, connector);
  try {
    return await tryInOrder(servers, "standby", connector);
  } catch (error) {
    if (error instanceof ConnectionRefused) throw error;
    return await tryInOrder(servers, "any", connector);
  }
}

/** Returns the servers in an order of which each is as likely as any other (Fisher and Yates). */
function shuffled(servers: readonly Settings[], random: () => number): readonly Settings[] {
  const mixed = [...servers];
  for (let end = mixed.length - 1; end > 0; end--) {
    const at = Math.floor(random() * (end + 1));
    [mixed[end], mixed[at]] = [mixed[at]!, mixed[end]!];
  }
  return mixed;
}

async function tryInOrder<Connection>(
  servers: readonly Settings[],
  session: Exclude<SessionTarget, "prefer-standby">,
  connector: Connector<Connection>,
): Promise<Connection> {
  const problems: string[] = [];
  for (const settings of servers) {
    try {
      const connection = await connector.open(settings);
      const problem = session === "any" ? null : await examine(connection, session, connector);
      if (problem === null) return connection;
      problems.push(`${placeOf(settings)} failed: ${problem}\n`);
    } catch (error) {
      if (error instanceof ConnectionRefused) throw error;
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(problems.join(""));
}

/** Says why a session does not fit and closes it; null when it fits. */
async function examine<Connection>(
  connection: Connection,
  session: keyof typeof sessionMismatch,
  { state, close }: Connector<Connection>,
): Promise<string | null> {
  try {
    const problem = sessionMismatch[session](await state(connection));
    if (problem !== null) close(connection);
    return problem;
  } catch (error) {
    close(connection);
    throw error;
  }
}

/** `connection to server at "localhost", port 5432` */
export function placeOf({ host, port }: Settings, address?: string): string {
  const [name, number] = [String(host ?? "localhost"), String(port ?? 5432)];
  if (name.startsWith("/")) return `connection to server on socket "${name}/.s.PGSQL.${number}"`;
  const numeric = address === undefined || address === name ? "" : ` (${address})`;
  return `connection to server at "${name}"${numeric}, port ${number}`;
}
