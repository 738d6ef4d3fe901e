/** A connection whose server is the test. @module */
import type {
  Batch,
  BatchResult,
  ReadBatch,
  Statement,
  WriteBatch,
} from "../../../src/database/batch.ts";
import {
  Connection,
  type ConnectionEvents,
  type ConnectionOptions,
} from "../../../src/database/connection/connection.ts";
import type { PendingBatch } from "../../../src/database/connection/execution.ts";
import { DatabaseError, ServiceError } from "../../../src/base/errors/service_error.ts";
import { executed, FakeTransport, join } from "./fake_backend.ts";
import { fakeClock, settled } from "../timing/fake_clock.ts";

export const main: Statement = { text: "select main", params: [], use: "result" };
export const settings: Statement = { text: "select settings", params: ["a"], use: "none" };
export const block = { form: "block", isolation: "read committed", end: "commit" } as const;

/** A read in a block, of two statements. */
export const blockRead: ReadBatch = {
  access: "read only",
  transaction: block,
  statements: [settings, main],
  planContext: null,
  kind: null,
  body: "stream",
  retry: "safe",
};

/** A write in a block, of two statements. */
export const blockWrite: WriteBatch = {
  access: "read write",
  transaction: block,
  statements: [settings, main],
  planContext: null,
  kind: null,
};

/** The same with a Sync alone. */
export const implicitRead: ReadBatch = { ...blockRead, transaction: { form: "implicit" } };
export const implicitWrite: WriteBatch = { ...blockWrite, transaction: { form: "implicit" } };

/** The replies up to the main statement of a batch in a block. */
export const begun = join(executed("BEGIN"), executed("SELECT 1"));

/** A connection, its transport and its events. */
export class FakeConnection {
  readonly transport = new FakeTransport();
  readonly connection: Connection;
  /** Events in order: `idle`, `closed: <reason>`, `requeued: 2`, `forgotten: 26000`, `success: 4`. */
  readonly log: string[] = [];
  /** Batches that were requeued. */
  readonly requeued: PendingBatch[] = [];
  readonly clock = fakeClock();

  constructor(options: Partial<ConnectionOptions> = {}) {
    const defaults = { prepare: true, preparedLimit: 4, clock: this.clock };
    this.connection = new Connection(this.transport, { ...defaults, ...options }, this.#events());
  }

  /** Starts batches in one write. */
  readonly execute = (...batches: readonly Batch[]): readonly Promise<BatchResult>[] => {
    const promises: Promise<BatchResult>[] = [];
    const pending = batches.map((batch) => {
      const { promise, resolve, reject } = Promise.withResolvers<BatchResult>();
      // Tests look at some of the results only.
      promise.catch(() => {});
      promises.push(promise);
      return { batch, resolve, reject };
    });
    this.connection.execute(pending);
    return promises;
  };

  /** Executes one batch up to its end. */
  readonly run = async (batch: Batch): Promise<BatchResult> => {
    const [promise] = this.execute(batch);
    const reply = await promise!;
    await settled();
    return reply;
  };

  #events(): ConnectionEvents {
    return {
      idle: () => void this.log.push("idle"),
      closed: (reason) => void this.log.push(`closed: ${reason}`),
      requeued: (batches) => {
        this.log.push(`requeued: ${batches.length}`);
        this.requeued.push(...batches);
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
  promises: readonly Promise<BatchResult>[],
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
