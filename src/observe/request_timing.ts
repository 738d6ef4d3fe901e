/** Measures how long a request waits for the database. @module */

/** Milliseconds of the transactions of one request. */
export class RequestTiming {
  /** Time in the queue of the pool, which the pool sets. */
  queueMs = 0;
  #totalMs = 0;

  /** Time of the transactions without that in the queue. */
  get databaseMs(): number {
    return Math.max(0, this.#totalMs - this.queueMs);
  }

  /** Measures a transaction, whether it succeeds or fails. */
  async measure<Result>(transaction: () => Promise<Result>): Promise<Result> {
    const start = performance.now();
    try {
      return await transaction();
    } finally {
      this.#totalMs += performance.now() - start;
    }
  }
}
