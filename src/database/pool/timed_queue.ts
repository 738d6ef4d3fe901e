/** The queue of a pool, with a time limit for waiting transactions. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { Clock } from "../../base/lib/clock.ts";
import { OneShotTimer } from "../../base/lib/one_shot_timer.ts";
import { Histogram } from "../../base/observe/metric_registry.ts";
import { maxContendedStallMs, onLeave, slowTransactionMs } from "./pooled_connection.ts";
import { type QueuedTransaction, WaitQueue } from "./wait_queue.ts";

/** Bounds of the buckets in seconds. Most transactions do not wait at all. */
const queueHistogram = {
  help: "Time that transactions waited for a connection of the pool",
  bounds: [0, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
};

export class TimedQueue extends WaitQueue {
  readonly seconds = new Histogram(queueHistogram);
  #timeouts = 0;
  readonly #timer: OneShotTimer;

  constructor(private readonly clock: Clock, private readonly maxWaitMs: number) {
    super();
    this.#timer = new OneShotTimer(clock.scheduleAwaited, () => this.rejectOverdue());
  }

  /** Number of transactions that have waited too long. */
  get timeouts(): number {
    return this.#timeouts;
  }

  override add(queued: QueuedTransaction): void {
    queued.since = this.clock.now();
    super.add(queued);
    this.#timer.start(this.maxWaitMs);
  }

  /** Puts transactions at the head of the queue. Each will be executed alone. Rejects transactions whose
   * time limit is exceeded. */
  override putBack(transactions: readonly QueuedTransaction[]): void {
    const now = this.clock.now();
    for (const queued of transactions) {
      queued.isRequeued = true;
      if (queued.since === 0) queued.since = now;
    }
    super.putBack(transactions);
    for (const queued of transactions) {
      if (queued.deadline?.isOver) this.reject(queued, errors.requestTimeout());
    }
  }

  reject(queued: QueuedTransaction, error: unknown): void {
    this.remove(queued);
    queued.reject(error);
  }

  rejectAll(error: Error): void {
    for (const queued of this) this.reject(queued, error);
  }

  /** Rejects the transactions that have waited too long. Searches the whole queue, because requeued
   * transactions precede transactions that have waited longer. */
  rejectOverdue(): void {
    const now = this.clock.now();
    const overdue = now - this.maxWaitMs;
    let oldest = Infinity;
    for (const queued of this) {
      if (queued.since > overdue) {
        oldest = Math.min(oldest, queued.since);
        continue;
      }
      this.#timeouts++;
      this.recordWait(queued, now);
      this.reject(queued, errors.acquisitionTimeout());
    }
    this.#timer.clear();
    if (oldest !== Infinity) this.#timer.start(Math.ceil(oldest - overdue));
  }

  /** Records how long a transaction was in the queue. For a requeued one, the time begins with its
   * first arrival. */
  recordWait({ since, timing, isRequeued }: QueuedTransaction, now: number): void {
    const waitMs = since === 0 ? 0 : now - since;
    if (!isRequeued) this.seconds.record(waitMs / 1000);
    if (timing !== null) timing.queueMs = waitMs;
  }

  /** Removes slow reads whose callers disconnect. */
  listenToCallers(now: number): void {
    for (const queued of this) {
      if (now - queued.since < slowTransactionMs) continue;
      if (queued.caller === null || queued.stopListening !== null) continue;
      queued.stopListening = onLeave(queued.caller, (reason) => this.reject(queued, reason));
    }
  }

  /** Whether the first transaction has waited for half of the timeout, or for the maximum time of a stall. */
  get isLate(): boolean {
    const maxMs = Math.min(maxContendedStallMs, this.maxWaitMs / 2);
    for (const { since } of this) if (this.clock.now() - since > maxMs) return true;
    return false;
  }

  clearTimer(): void {
    this.#timer.clear();
  }
}
