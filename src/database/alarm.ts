/**
 * Doing something later, once for however many asked for it.
 *
 * @module
 */
import { type Schedule, schedule } from "../timers.ts";

/** Runs a function a while after it was first asked for. */
export class Alarm {
  readonly #run: () => void;
  readonly #schedule: Schedule;
  #cancel: (() => void) | null = null;

  constructor(run: () => void, how: Schedule = schedule) {
    this.#run = run;
    this.#schedule = how;
  }

  /** Sets it to so many milliseconds from now, unless it is set. */
  set(milliseconds: number): void {
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
