/** A transaction that is open on a connection, for its caller. @module */
import type { BatchResult, OpenTransaction, Statement, TransactionEnd } from "../batch.ts";
import type { TransactionStep } from "./execution.ts";

/** The handle of a transaction. */
export class OpenedTransaction implements OpenTransaction {
  readonly failed: Promise<never>;
  readonly #write: (step: TransactionStep) => void;
  readonly #fail: (error: unknown) => void;

  /** `write` sends further statements, and settles their result. */
  constructor(write: (step: TransactionStep) => void) {
    this.#write = write;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.#fail = reject;
    // Most callers look at the results alone.
    promise.catch(() => {});
  }

  send(statements: readonly Statement[]): Promise<BatchResult> {
    return this.#step(statements, null);
  }

  end(end: TransactionEnd, last: readonly Statement[] = []): Promise<BatchResult> {
    return this.#step(last, end);
  }

  /** The transaction was rolled back, or its connection is lost. */
  fail(error: unknown): void {
    this.#fail(error);
  }

  #step(statements: readonly Statement[], end: TransactionEnd | null): Promise<BatchResult> {
    return new Promise((resolve, reject) => this.#write({ statements, end, resolve, reject }));
  }
}
