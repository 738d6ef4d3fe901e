/** A database on one connection with an open transaction. Each transaction of this database is a
 * savepoint in the open transaction. @module */
import { readVersion } from "../server_version.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { type Transaction, type TransactionResult } from "../transaction.ts";
import type { Caller, Database, PoolCounts } from "../database.ts";
import type { Transport } from "../transport.ts";
import { Connection } from "./connection.ts";
import type { PendingTransaction } from "./execution.ts";
import { ConnectionClosedError, SqlSession, type StatementFailure } from "./sql_session.ts";

const options = {
  prepare: false,
  preparedLimit: 0,
  transactions: "savepoint",
  clock: systemClock,
} as const;

/**
 * Runs transactions one at a time as savepoints. Each sees the writes of the open transaction, and
 * nothing of concurrent transactions. They have the isolation level of the open transaction. Bodies
 * are complete, not streams.
 */
export class SavepointDatabase implements Database {
  #connection: Connection;
  #closedReason: string | null = null;
  #queue: Promise<void> = Promise.resolve();
  #finish: () => void = () => {};

  /** `transport` has an open transaction, and nothing else uses it. */
  constructor(private readonly transport: Transport) {
    this.#connection = this.#connect();
  }

  #connect(): Connection {
    return new Connection(this.transport, options, {
      idle: () => this.#finish(),
      closed: (reason) => {
        this.#closedReason = reason;
        this.#finish();
      },
    });
  }

  /**
   * Runs statements as the login role. The next transactions see their effect. Resolves with the
   * rows of the last statement. Await the promise before the next call. Rejects with {@linkcode
   * StatementError}. Outside of {@linkcode within}, the open transaction is then aborted.
   */
  async run(text: string): Promise<readonly (readonly (string | null)[])[]> {
    await this.#queue;
    const { results, failure } = await this.release().run(text);
    this.#connection = this.#connect();
    if (failure !== null) throw new StatementError(failure);
    return results.at(-1)?.rows ?? [];
  }

  /** Runs `use` in a savepoint, then undoes the effect of {@linkcode run} in it. Calls may nest. */
  async within<Result>(
    use: () => Promise<Result>,
    isKept: (result: Result) => boolean = () => false,
  ): Promise<Result> {
    await this.run("savepoint svc_change");
    let undo = "rollback to savepoint svc_change; ";
    try {
      const result = await use();
      if (isKept(result)) undo = "";
      return result;
    } finally {
      await this.run(`${undo}release savepoint svc_change`);
    }
  }

  /**
   * Releases the connection for other use. Throws {@linkcode ConnectionClosedError} if it is lost.
   */
  release(): SqlSession {
    if (this.#closedReason !== null) throw new ConnectionClosedError(this.#closedReason);
    return new SqlSession(this.transport);
  }

  transaction(transaction: Transaction, caller: Caller | null = null): Promise<TransactionResult> {
    rejectControl(transaction);
    return new Promise((resolve, reject) => {
      const events = caller?.events ?? null;
      const pending = { transaction: held(transaction), events, resolve, reject };
      this.#queue = this.#queue.then(() => this.#execute(pending, caller));
    });
  }

  version(): Promise<string> {
    return readVersion(this);
  }

  counts(): PoolCounts {
    const open = this.#closedReason === null ? 1 : 0;
    return { max: 1, open, inUse: open, waiting: 0, timeouts: 0 };
  }

  /** Waits for the pending transactions. The open transaction stays open. */
  async close(): Promise<void> {
    await this.#queue;
  }

  #execute(pending: PendingTransaction, caller: Caller | null): Promise<void> {
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

/** Reports that PostgreSQL refused a statement of {@linkcode SavepointDatabase.run}. */
export class StatementError extends Error {
  override readonly name = "StatementError";
  constructor({ message }: StatementFailure) {
    super(message);
  }
}

/** Returns the message of a {@linkcode StatementError}. Throws other errors. */
export function refusal(error: unknown): string {
  if (error instanceof StatementError) return error.message;
  throw error;
}

/** Returns a transaction whose body is complete, and that is never executed twice. */
function held(transaction: Transaction): Transaction {
  return transaction.access === "read only"
    ? { ...transaction, body: "hold", retry: "never" }
    : transaction;
}

/** Throws an `Error` for a statement that would end the transaction. */
function rejectControl({ statements }: Transaction): void {
  const control = statements.find(({ text }) => endsTransaction(text));
  if (control !== undefined) throw new Error(`cannot run in a savepoint: ${control.text}`);
}

export function endsTransaction(statement: string): boolean {
  return /^(?:begin|start|commit|end|rollback(?!\s+to\b)|abort|prepare\s+transaction)\b/i
    .test(statement);
}
