/**
 * Tests whether prepared statements outlive a transaction. With a pooler in transaction mode, the
 * next transaction of a connection may run on another server connection, which does not have them.
 * @module
 */
import { deferred } from "../../base/lib/deferred.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import { duplicateStatement, unknownStatement } from "../protocol/server_error.ts";
import { type Client, clients } from "./pg_client.ts";
import { connectToFirst } from "./hosts.ts";
import type { Targets } from "./targets.ts";

export interface PoolerFinding {
  /** Whether a connection finds its prepared statements again. */
  readonly keepsStatements: boolean;
  /** Whether several connections share a server connection, or the transactions of one run on several. */
  readonly sharesSession: boolean;
}

/** Result for a pooler that loses prepared statements. */
export const statementsLost: PoolerFinding = { keepsStatements: false, sharesSession: true };

interface PoolerProbeOptions {
  readonly targets: Targets;
  /** Timeout of the probe. A pooler whose only server connection is in use would delay it without end. */
  readonly timeoutMs: number;
  readonly schedule: Schedule;
}

/** Order in which the two connections run transactions. With plain alternation, a pooler that
 * assigns server connections in turn would always give each the same one. */
const order = [0, 1, 0, 0, 1, 1, 0, 1] as const;

/** Name of the statements of both connections. Their texts differ, so that a shared server
 * connection is noticed. */
const name = "svc_probe";
const texts = [
  "select pg_catalog.pg_backend_pid() as pid, 0 as connection",
  "select pg_catalog.pg_backend_pid() as pid, 1 as connection",
] as const;

/** SQLSTATEs that show that the statement was prepared on another server connection. */
const lossCodes: ReadonlySet<unknown> = new Set([unknownStatement, duplicateStatement]);

/** Prepares a statement on each of two connections, and executes it in eight transactions. If the
 * probe takes too long, statements count as lost. Rejects if it cannot connect. */
export async function probePooler(options: PoolerProbeOptions): Promise<PoolerFinding> {
  const { targets, timeoutMs, schedule } = options;
  const opened: Client[] = [];
  const timeout = deferred<PoolerFinding>();
  const cancel = schedule(() => timeout.resolve(statementsLost), timeoutMs);
  try {
    for (const _ of texts) opened.push(await connectToFirst(targets, clients));
    return await Promise.race([executeAll(opened), timeout.promise]);
  } finally {
    cancel();
    for (const client of opened) end(client);
  }
}

async function executeAll(opened: readonly Client[]): Promise<PoolerFinding> {
  const processes = texts.map(() => new Set<unknown>());
  try {
    for (const at of order) {
      const { rows } = await opened[at]!.query({ name, text: texts[at] });
      if (rows[0]?.["connection"] !== at) return statementsLost;
      processes[at]!.add(rows[0]?.["pid"]);
    }
  } catch (error) {
    if (lossCodes.has((error as { readonly code?: unknown }).code)) return statementsLost;
    throw error;
  }
  const distinct = new Set(processes.flatMap((each) => [...each]));
  return { keepsStatements: true, sharesSession: distinct.size !== texts.length };
}

/** Closes a connection without waiting, because a pooler answers a delayed transaction late. */
function end(client: Client): void {
  client.end().catch(() => {});
  client.connection.stream.unref?.();
}
