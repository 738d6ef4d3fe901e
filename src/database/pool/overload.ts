/**
 * Decides when batches wait too long because more of them arrive than the pool can execute.
 *
 * The rule is that of CoDel for queues of servers: Nichols and Jacobson, "Controlling Queue Delay" (2012);
 * Maurer, "Fail at Scale" (2015). A queue that was empty a moment ago absorbs a burst: its batches may wait
 * long. A queue that never empties only adds delay to each of them.
 *
 * @module
 */

/** A queue that has had no calm moment for this time is overloaded. */
const intervalMs = 100;
/** Weight of the last batch in the mean service time. */
const meanWeight = 0.1;
const maxRetryAfterSeconds = 30;

/** The state of one queue. Times in milliseconds of the pool's clock. */
export class OverloadControl {
  #targetMs = 0;
  /** When the queue was empty last, or a batch left it after a short wait. */
  #calmAt = 0;
  #meanServiceMs = 0;

  /** The longest wait in an overloaded queue; 0 if no queue counts as overloaded. */
  get targetMs(): number {
    return this.#targetMs;
  }

  configure(targetMs: number): void {
    this.#targetMs = targetMs;
  }

  /** Whether the queue, which is not empty, is overloaded. */
  isOverloaded(now: number): boolean {
    return this.#targetMs > 0 && now - this.#calmAt > intervalMs;
  }

  /** The queue is empty. */
  recordEmpty(now: number): void {
    this.#calmAt = now;
  }

  /** A batch leaves the queue. Under overload the newest one does, whose wait says nothing. */
  recordWait(waitMs: number, now: number): void {
    if (waitMs < this.#targetMs && !this.isOverloaded(now)) this.#calmAt = now;
  }

  /** A connection has executed batches. */
  recordService(ms: number, batches: number): void {
    this.#meanServiceMs += meanWeight * (ms / batches - this.#meanServiceMs);
  }

  /** Returns the seconds, from 1 to 30, after which the queue may have become short. */
  retryAfter(waiting: number, connections: number): number {
    const seconds = Math.ceil(waiting * this.#meanServiceMs / connections / 1000);
    return Math.min(Math.max(seconds, 1), maxRetryAfterSeconds);
  }
}
