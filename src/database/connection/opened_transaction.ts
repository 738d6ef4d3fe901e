/** A transaction that is open on a connection, for its caller. @module */
import { deferred } from "../../lib/deferred.ts";
import type { BatchResult, OpenTransaction, Statement, TransactionEnd } from "../batch.ts";
import type { TransactionStep } from "./execution.ts";

export class OpenedTransaction implements OpenTransaction {
  readonly #failed = deferred<never>();
  readonly #write: (step: TransactionStep) => void;

  /** `write` sends further statements, and settles their result. */
  constructor(write: (step: TransactionStep) => void) {
    this.#write = write;
    // Most callers look at the results alone.
    this.#failed.promise.catch(() => {});
  }

  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  send(statements: readonly Statement[]): Promise<BatchResult> {
    return this.#step(statements, null);
  }

  end(end: TransactionEnd, last: readonly Statement[] = []): Promise<BatchResult> {
    return this.#step(last, end);
  }

  /** The transaction was rolled back, or its connection is lost. */
  fail(error: unknown): void {
    this.#failed.reject(error);
  }

  #step(statements: readonly Statement[], end: TransactionEnd | null): Promise<BatchResult> {
    return new Promise((resolve, reject) => this.#write({ statements, end, resolve, reject }));
  }
}
