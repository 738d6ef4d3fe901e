/**
 * The time that a batch may take: from the begin of its transaction, and within the time of its request.
 *
 * @module
 */
import type { Clock } from "../lib/clock.ts";
import type { Deadline } from "../lib/request_deadline.ts";

/** Begins when its batch does. */
export class BatchDeadline implements Deadline {
  readonly #milliseconds: number;
  readonly #request: Deadline | null;
  readonly #clock: Clock;
  #startedAt: number | null = null;
  #cancel: () => void = () => {};
  readonly #listeners = new Set<() => void>();

  /** `request` is the deadline of the request; null for none. */
  constructor(milliseconds: number, request: Deadline | null, clock: Clock) {
    this.#milliseconds = milliseconds;
    this.#request = request;
    this.#clock = clock;
  }

  /** Starts the time of the batch, unless it has started. */
  begin(): void {
    if (this.#startedAt !== null || this.#milliseconds === 0) return;
    this.#startedAt = this.#clock.now();
    this.#cancel = this.#clock.schedule(() => this.#pass(), this.#milliseconds);
  }

  /** Whether the time of the batch is over. A busy process may run its timer late. */
  get isBatchOver(): boolean {
    return this.#startedAt !== null && this.#clock.now() - this.#startedAt >= this.#milliseconds;
  }

  get isOver(): boolean {
    return this.isBatchOver || this.#request?.isOver === true;
  }

  onOver(run: () => void): () => void {
    if (this.isOver) {
      run();
      return () => {};
    }
    this.#listeners.add(run);
    const stop = this.#request?.onOver(run);
    return () => {
      this.#listeners.delete(run);
      stop?.();
    };
  }

  /** Ends the time of the batch, not that of the request. */
  clear(): void {
    this.#cancel();
    this.#listeners.clear();
  }

  #pass(): void {
    for (const run of [...this.#listeners]) run();
    this.#listeners.clear();
  }
}
