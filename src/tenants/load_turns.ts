/**
 * Bounds how many tenants are loaded at the same time.
 *
 * @module
 */
import { withTimeout } from "../lib/deadline.ts";
import { type Deferred, deferred } from "../lib/deferred.ts";
import type { Schedule } from "../lib/timers.ts";

/** Lets loads begin in the order of their requests. */
export class LoadTurns {
  readonly #schedule: Schedule;
  #free: number;
  readonly #waiting: Deferred<void>[] = [];

  constructor({ max, schedule }: { readonly max: number; readonly schedule: Schedule }) {
    this.#free = max;
    this.#schedule = schedule;
  }

  /** Resolves when a load may begin. */
  async begin(): Promise<void> {
    if (this.#free > 0) return void this.#free--;
    const turn = deferred<void>();
    this.#waiting.push(turn);
    await turn.promise;
  }

  /** Gives the turn to the next load after this one, or after a time: a database may never answer. */
  async endAfter(load: Promise<unknown>, milliseconds: number): Promise<void> {
    await withTimeout(milliseconds, load, this.#schedule).catch(() => {});
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next.resolve();
  }
}
