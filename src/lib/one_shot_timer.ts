/**
 * A timer that runs once, however often it is started before that.
 *
 * @module
 */
import type { Schedule } from "./timers.ts";

/** Runs a function some time after the first of several starts. */
export class OneShotTimer {
  readonly #run: () => void;
  readonly #schedule: Schedule;
  #cancel: (() => void) | null = null;

  constructor(schedule: Schedule, run: () => void) {
    this.#run = run;
    this.#schedule = schedule;
  }

  /** Starts it, unless it is started already. */
  start(milliseconds: number): void {
    this.#cancel ??= this.#schedule(() => {
      this.#cancel = null;
      this.#run();
    }, milliseconds);
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
