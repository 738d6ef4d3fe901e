/** Events of a pool's connections, emitted while the log asks for them. @module */
import type { ConnectionStep, PoolEvent } from "../database.ts";

/** Receives the events of a pool. */
export type PoolTrace = (event: PoolEvent) => void;

/** A connection with the identifier that the log uses; null until its first event. */
export interface TracedConnection {
  id: string | null;
}

/** Emits a step of a connection; does nothing without a trace. */
export function traceStep(
  trace: PoolTrace | null,
  connection: TracedConnection,
  step: ConnectionStep,
): void {
  if (trace === null) return;
  connection.id ??= crypto.randomUUID();
  trace({ kind: "pool-connection", id: connection.id, step });
}
