/** A connection of the pool: the transactions that it executes, and when the pool closes it. @module */
import type { Caller, ConnectionStep, PoolEvent } from "../database.ts";
import type { Connection } from "../connection/connection.ts";
import type { QueuedTransaction } from "./wait_queue.ts";

type CloseReason = "max lifetime" | "max idletime" | "release";

export interface Work {
  readonly transactions: readonly QueuedTransaction[];
  readonly startedAt: number;
  /** Share of the concurrency limit; null if the work has none, or has released it. */
  share: number | null;
  failures: number;
  /**
   * Stops listening for the caller of a slow transaction to disconnect; null if nothing listens.
   */
  stopListening: (() => void) | null;
  /** Whether a cancel request was sent. No further transaction may use this connection. */
  isCancelled: boolean;
}

/** A connection of the pool. Times are by the pool's clock. */
export interface PooledConnection {
  /** Identifier in the log; null until its first event. */
  id: string | null;
  readonly connection: Connection;
  readonly openedAt: number;
  /** Number of flushes of the pool before the connection was opened. */
  readonly generation: number;
  idleSince: number;
  /** Null while the connection is idle. */
  work: Work | null;
  /** Null until the pool closes the connection. */
  closeReason: CloseReason | null;
}

/** After this time a transaction is slow: the pool listens for its caller to disconnect, and moves
 * the transactions sent after it. */
export const slowTransactionMs = 50;
/** Minimum time of an abandoned transaction before it is canceled. Short lock waits end earlier. */
const minAbandonedMs = 250;

export function close(pooled: PooledConnection, reason: CloseReason): void {
  pooled.closeReason = reason;
  pooled.connection.end();
}

/** Returns the work of a connection that has been busy for at least `minMs`; otherwise null. */
export function workSince(
  { work }: PooledConnection,
  now: number,
  minMs: number,
): Work | null {
  return work !== null && now - work.startedAt >= minMs ? work : null;
}

/** Moves the transactions that were sent after a slow one. Cancels a read whose caller has left. */
export function handleSlowWork(pooled: PooledConnection, work: Work, now: number): void {
  if (work.isCancelled) return;
  const awaited = pooled.connection.requeuePending();
  const [slow] = awaited as readonly QueuedTransaction[];
  if (slow === undefined) {
    if (now - work.startedAt >= minAbandonedMs) cancel(pooled, work);
    return;
  }
  if (work.stopListening !== null) return;
  slow.serviceTime?.recordDelay();
  if (awaited.length > 1 || slow.transaction.access !== "read only" || slow.caller === null) return;
  work.stopListening = onLeave(slow.caller, () => cancel(pooled, work));
}

/** How long a connection waits for the reader of a body, in milliseconds. After that, the body is spooled. */
const maxReaderWaitMs = 20;
/** Bytes that are spooled per check, for all bodies: 200 MB/s. More would delay short requests in
 * this process. */
const spooledBytesPerCheck = 2 * 1024 * 1024;

/** Resumes connections whose readers are slow. The spool stores the unread bytes. */
export function spoolSlowReaders(
  connections: Iterable<PooledConnection>,
  contention: { readonly isContended: boolean },
): void {
  const slow = [...connections].filter((pooled) => isReadSlowly(pooled, contention));
  for (const { connection } of slow) connection.body?.spool(spooledBytesPerCheck / slow.length);
}

/** Returns whether the reader is slow enough to spool the body. The spool costs a copy. */
function isReadSlowly(
  { connection }: PooledConnection,
  { isContended }: { readonly isContended: boolean },
): boolean {
  const { body } = connection;
  if (body === undefined) return false;
  if (body.isPaced || body.stalledFor() >= maxReaderWaitMs) return true;
  return isContended && body.waitedFor() >= maxReaderWaitMs;
}

/** Cancels a running transaction whose time limit is exceeded, unless the cancel could reach the
 * next transaction. */
export function cancelOverdue(pooled: PooledConnection): void {
  const { work } = pooled;
  if (work === null || work.isCancelled) return;
  if (!work.transactions.some(({ deadline }) => deadline?.isOver)) return;
  const [running, ...behind] = pooled.connection.requeuePending() as readonly QueuedTransaction[];
  if (running?.deadline?.isOver && behind.length === 0) cancel(pooled, work);
}

/** Cancels the running statement. The connection is closed afterwards, because a cancel may arrive late. */
function cancel({ connection }: PooledConnection, work: Work): void {
  work.isCancelled = true;
  connection.cancel();
}

/** Runs a function when a caller disconnects, at once if it has. Returns a function that stops listening. */
export function onLeave({ signal }: Caller, run: (reason: unknown) => void): () => void {
  const listener = () => run(signal.reason);
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** If other transactions wait, a connection is closed when its body is not read for this time. */
export const maxContendedStallMs = 3000;
const maxStallMs = 30_000;

/**
 * Destroys connections whose body is not read, sooner if other transactions wait for connections.
 */
export function destroyUnread(
  connections: Iterable<PooledConnection>,
  { isContended }: { readonly isContended: boolean },
): void {
  const maxMs = isContended ? maxContendedStallMs : maxStallMs;
  for (const { connection } of [...connections]) {
    if ((connection.body?.stalledFor() ?? 0) > maxMs) {
      connection.destroy("the response was not read");
    }
  }
}

/** Destroys the connection that has waited longest for the reader of a body, if the wait is too long. */
export function destroySlowestReader(connections: Iterable<PooledConnection>): void {
  let slowest: PooledConnection | null = null;
  let longestMs = maxContendedStallMs;
  for (const pooled of connections) {
    const waitedMs = pooled.connection.body?.waitedFor() ?? 0;
    if (waitedMs > longestMs) [slowest, longestMs] = [pooled, waitedMs];
  }
  slowest?.connection.destroy("the response was read too slowly while others waited");
}

export type PoolTrace = (event: PoolEvent) => void;

export function traceStep(
  trace: PoolTrace | null,
  connection: Pick<PooledConnection, "id">,
  step: ConnectionStep,
): void {
  if (trace === null) return;
  connection.id ??= crypto.randomUUID();
  trace({ kind: "pool-connection", id: connection.id, step });
}
