/**
 * The end of the time that a request may take.
 *
 * @module
 */
import type { Schedule } from "./timers.ts";

/** A time that is over at some moment. */
export interface Deadline {
  readonly isOver: boolean;
  /** Runs a function when the time is over, or at once if it is. Returns a function that ends this. */
  onOver(run: () => void): () => void;
  /** Ends the deadline: its time is never over. */
  clear(): void;
}

/** Begins with its creation. */
export class RequestDeadline implements Deadline {
  readonly #cancel: () => void;
  #isOver = false;
  readonly #listeners = new Set<() => void>();

  constructor(milliseconds: number, schedule: Schedule) {
    this.#cancel = schedule(() => this.#pass(), milliseconds);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  onOver(run: () => void): () => void {
    if (this.#isOver) run();
    else this.#listeners.add(run);
    return () => void this.#listeners.delete(run);
  }

  clear(): void {
    this.#cancel();
    this.#listeners.clear();
  }

  #pass(): void {
    this.#isOver = true;
    for (const run of [...this.#listeners]) run();
    this.#listeners.clear();
  }
}
