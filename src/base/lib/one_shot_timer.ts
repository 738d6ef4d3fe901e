/** A timer that coalesces several starts into one run. @module */
import type { Schedule } from "./timers.ts";

/** Runs a function once per series of starts, timed from the first start. */
export class OneShotTimer {
  readonly #run: () => void;
  readonly #schedule: Schedule;
  #cancel: (() => void) | null = null;

  constructor(schedule: Schedule, run: () => void) {
    this.#run = run;
    this.#schedule = schedule;
  }

  /** Starts the timer. Does nothing while the timer is running. */
  start(milliseconds: number): void {
    this.#cancel ??= this.#schedule(() => {
      this.#cancel = null;
      this.#run();
    }, milliseconds);
  }

  /** Stops the timer without running the function. */
  clear(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
