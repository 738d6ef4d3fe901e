/**
 * Tests whether prepared statements outlive a transaction. With a pooler in transaction mode, the
 * next transaction of a connection may run on another server connection, which does not have them.
 * @module
 */
import { deferred } from "../../base/lib/deferred.ts";
import { schedule } from "../../base/lib/timers.ts";
import type { Targets } from "../connect/targets.ts";
import { Connection } from "../connection/connection.ts";
import { executeSingle, singleStatementOptions } from "../connection/single_statement.ts";
import { statementNamePrefix } from "../failure.ts";
import { connect, type SocketTransport } from "./socket_transport.ts";

export interface PoolerFinding {
  /** Whether each connection can execute its prepared statements in later transactions. */
  readonly keepsStatements: boolean;
  /** Whether connections share a server connection, or one connection has several server connections. */
  readonly sharesSession: boolean;
}

/** Result for a pooler that loses prepared statements. */
export const statementsLost: PoolerFinding = { keepsStatements: false, sharesSession: true };

/** Order in which the two connections run transactions. If they alternated, a pooler that assigns
 * server connections in turn would always give a connection the same server connection. */
const order = [0, 1, 0, 0, 1, 1, 0, 1] as const;

/** The statements of both connections. Their names are equal and their texts differ, so that the
 * probe notices a shared server connection. */
const preparing = {
  ...singleStatementOptions,
  prepare: true,
  preparedLimit: 1,
  statementPrefix: () => `${statementNamePrefix}probe`,
} as const;
const texts = [
  "select pg_catalog.pg_backend_pid() as pid, 0 as connection",
  "select pg_catalog.pg_backend_pid() as pid, 1 as connection",
] as const;

/** Prepares a statement on each of two connections, and executes it in eight transactions. After
 * `timeoutMs`, statements are considered lost: a pooler whose only server connection is in use would
 * delay the probe without end. Rejects if it cannot connect. */
export async function probePooler(targets: Targets, timeoutMs: number): Promise<PoolerFinding> {
  const opened: SocketTransport[] = [];
  const loss = deferred<PoolerFinding>();
  const statementForgotten = () => loss.resolve(statementsLost);
  const cancel = schedule(statementForgotten, timeoutMs);
  try {
    for (const _ of texts) opened.push(await connect(targets));
    const connections = opened.map((transport) =>
      new Connection(transport, preparing, { statementForgotten })
    );
    return await Promise.race([executeAll(connections, timeoutMs), loss.promise]);
  } finally {
    cancel();
    // A pooler may answer a delayed transaction late. The process need not wait for the answer.
    for (const transport of opened) transport.unref();
    for (const transport of opened) transport.end();
  }
}

async function executeAll(
  connections: readonly Connection[],
  maxMs: number,
): Promise<PoolerFinding> {
  const processes = texts.map(() => new Set<unknown>());
  for (const at of order) {
    const [row] = await executeSingle(texts[at], { connection: connections[at]!, maxMs });
    if (row?.[1] !== String(at)) return statementsLost;
    processes[at]!.add(row[0]);
  }
  const distinct = new Set(processes.flatMap((each) => [...each]));
  return { keepsStatements: true, sharesSession: distinct.size !== texts.length };
}
