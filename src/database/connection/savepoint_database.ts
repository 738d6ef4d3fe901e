/** A database on one connection with an open transaction, whose batches are savepoints. @module */
import { readVersion } from "../server_version.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { type Batch, type BatchResult } from "../batch.ts";
import type { Caller, Database, PoolCounts } from "../database.ts";
import type { Transport } from "../transport.ts";
import { Connection } from "./connection.ts";
import type { PendingBatch } from "./execution.ts";
import { ConnectionClosedError, SqlSession } from "./sql_session.ts";

const options = {
  prepare: false,
  preparedLimit: 0,
  transactions: "savepoint",
  clock: systemClock,
} as const;

/**
 * Runs one batch after the other. A batch sees what was written to the transaction before, and nothing of
 * other batches. Isolation levels are those of the transaction, and bodies are whole.
 */
export class SavepointDatabase implements Database {
  /** A notification ends with its transaction, which rolls back. */
  readonly subscribe = null;
  readonly #connection: Connection;
  #closedReason: string | null = null;
  #queue: Promise<void> = Promise.resolve();
  #finish: () => void = () => {};

  /** `transport` has an open transaction that no other connection needs, and is otherwise unused. */
  constructor(private readonly transport: Transport) {
    this.#connection = new Connection(transport, options, {
      idle: () => this.#finish(),
      closed: (reason) => {
        this.#closedReason = reason;
        this.#finish();
      },
    });
  }

  /** Returns the connection for other use. Throws {@linkcode ConnectionClosedError} if it is lost. */
  release(): SqlSession {
    if (this.#closedReason !== null) throw new ConnectionClosedError(this.#closedReason);
    return new SqlSession(this.transport);
  }

  transaction(batch: Batch, caller: Caller | null = null): Promise<BatchResult> {
    rejectControl(batch);
    return new Promise((resolve, reject) => {
      const events = caller?.events ?? null;
      const pending = { batch: held(batch), events, resolve, reject };
      this.#queue = this.#queue.then(() => this.#execute(pending, caller));
    });
  }

  version(): Promise<string> {
    return readVersion(this);
  }

  flush(): void {}

  configure(): void {}

  watch(): void {}

  counts(): PoolCounts {
    const open = this.#closedReason === null ? 1 : 0;
    return { max: 1, open, inUse: open, waiting: 0, timeouts: 0 };
  }

  /** Waits for the batches so far. The transaction stays open. */
  async close(): Promise<void> {
    await this.#queue;
  }

  #execute(pending: PendingBatch, caller: Caller | null): Promise<void> {
    const connection = this.#connection;
    if (connection.state === "closed") {
      return Promise.resolve(pending.reject(errors.connectionLost(null)));
    }
    const ignoreDeadline = caller?.deadline?.onOver(() => connection.cancel());
    const done = new Promise<void>((resolve) => this.#finish = resolve);
    connection.execute([pending]);
    return done.then(ignoreDeadline);
  }
}

/** Returns a batch whose result is whole and that is executed once. */
function held(batch: Batch): Batch {
  return batch.access === "read only" ? { ...batch, body: "hold", retry: "never" } : batch;
}

/** Throws an `Error` for a statement that would end the transaction. */
function rejectControl({ statements }: Batch): void {
  const control = statements.find(({ text }) => endsTransaction(text));
  if (control !== undefined) throw new Error(`cannot run in a savepoint: ${control.text}`);
}

export function endsTransaction(statement: string): boolean {
  return /^(?:begin|start|commit|end|rollback(?!\s+to\b)|abort|prepare\s+transaction)\b/i
    .test(statement);
}
