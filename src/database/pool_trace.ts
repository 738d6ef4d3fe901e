/**
 * Tells the steps of a pool to whoever watches it; the pool asks for nothing here unless somebody
 * does.
 *
 * @module
 */
import type { ConnectionStep, PoolEvent } from "./database.ts";
import type { Task } from "./run.ts";

/** Takes the steps of a pool. */
export type Trace = (event: PoolEvent) => void;

/** What a connection is called in the log, once it was told of. */
export interface Named {
  id: string | null;
}

/** Tells a step of a connection. */
export function traceConnection(trace: Trace, connection: Named, step: ConnectionStep): void {
  connection.id ??= crypto.randomUUID();
  trace({ kind: "pool-connection", id: connection.id, step });
}

/** A use of a connection that is watched. */
export interface TracedUse {
  /** To be run in the place of what was given. */
  readonly tasks: readonly Task[];
  /** To be called when the connection is free again. */
  readonly ended: () => void;
}

/** Tells the use of a connection from its beginning to its end. */
export function traceUse(trace: Trace, connection: Named, tasks: readonly Task[]): TracedUse {
  traceConnection(trace, connection, "used");
  let step: ConnectionStep = "available: session success";
  const watched = tasks.map((task): Task => ({
    ...task,
    reject: (error) => {
      step = "available: session failure";
      task.reject(error);
    },
  }));
  return {
    tasks: watched,
    ended: () => {
      traceConnection(trace, connection, step);
      for (const _ of tasks) trace({ kind: "pool-returned" });
    },
  };
}
