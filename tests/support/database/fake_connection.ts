/** A connection whose server is the test. @module */
import type {
  ReadTransaction,
  Statement,
  Transaction,
  TransactionResult,
  WriteTransaction,
} from "../../../src/database/transaction.ts";
import {
  Connection,
  type ConnectionEvents,
  type ConnectionOptions,
} from "../../../src/database/connection/connection.ts";
import type { PendingTransaction } from "../../../src/database/connection/execution.ts";
import { DatabaseError, ServiceError } from "../../../src/base/errors/service_error.ts";
import { executed, FakeTransport, join } from "./fake_backend.ts";
import { fakeClock, settled } from "../timing/fake_clock.ts";

export const main: Statement = { text: "select main", params: [], use: "result" };
export const settings: Statement = { text: "select settings", params: ["a"], use: "none" };
export const block = { isolation: "read committed", end: "commit" } as const;

/** A read in a block, of two statements. */
export const blockRead: ReadTransaction = {
  access: "read only",
  block,
  statements: [settings, main],
  planContext: null,
  kind: null,
  body: "stream",
  retry: "safe",
};

/** A write in a block, of two statements. */
export const blockWrite: WriteTransaction = {
  access: "read write",
  block,
  statements: [settings, main],
  planContext: null,
  kind: null,
};

/** The same with a Sync alone. */
export const implicitRead: ReadTransaction = { ...blockRead, block: null };
export const implicitWrite: WriteTransaction = { ...blockWrite, block: null };

/** The replies up to the main statement of a transaction in a block. */
export const begun = join(executed("BEGIN"), executed("SELECT 1"));

/** A connection, its transport and its events. */
export class FakeConnection {
  readonly transport = new FakeTransport();
  readonly connection: Connection;
  /** Events in order: `idle`, `closed: <reason>`, `requeued: 2`, `forgotten: 26000`, `success: 4`. */
  readonly log: string[] = [];
  /** Transactions that were requeued. */
  readonly requeued: PendingTransaction[] = [];
  readonly clock = fakeClock();

  constructor(options: Partial<ConnectionOptions> = {}) {
    const defaults = { prepare: true, preparedLimit: 4, clock: this.clock };
    this.connection = new Connection(this.transport, { ...defaults, ...options }, this.#events());
  }

  /** Starts transactions in one write. */
  readonly execute = (
    ...transactions: readonly Transaction[]
  ): readonly Promise<TransactionResult>[] => {
    const promises: Promise<TransactionResult>[] = [];
    const pending = transactions.map((transaction) => {
      const { promise, resolve, reject } = Promise.withResolvers<TransactionResult>();
      // Tests look at some of the results only.
      promise.catch(() => {});
      promises.push(promise);
      return { transaction, resolve, reject };
    });
    this.connection.execute(pending);
    return promises;
  };

  /** Executes one transaction up to its end. */
  readonly run = async (transaction: Transaction): Promise<TransactionResult> => {
    const [promise] = this.execute(transaction);
    const reply = await promise!;
    await settled();
    return reply;
  };

  #events(): ConnectionEvents {
    return {
      idle: () => void this.log.push("idle"),
      closed: (reason) => void this.log.push(`closed: ${reason}`),
      requeued: (transactions) => {
        this.log.push(`requeued: ${transactions.length}`);
        this.requeued.push(...transactions);
      },
      statementForgotten: (sqlstate) => void this.log.push(`forgotten: ${sqlstate}`),
      finished: (_, result, bodyLength) => void this.log.push(`${result}: ${bodyLength}`),
    };
  }
}

/**
 * What became of each result by now: `1` (the columns), `22P02` (PostgreSQL's error), `001` (an error of
 * the service), `waits`.
 */
export async function outcomesOf(
  promises: readonly Promise<TransactionResult>[],
): Promise<readonly string[]> {
  const outcomes = promises.map(() => "waits");
  promises.forEach((promise, index) =>
    promise.then(
      ({ columns }) => outcomes[index] = columns.join(),
      (error) => outcomes[index] = codeOf(error),
    )
  );
  await settled();
  return outcomes;
}

/** Returns the SQLSTATE or code of an error, else its message. */
export function codeOf(error: unknown): string {
  if (error instanceof DatabaseError) return error.failure.sqlstate;
  if (error instanceof ServiceError) return error.fields.code;
  return error instanceof Error ? error.message : String(error);
}
