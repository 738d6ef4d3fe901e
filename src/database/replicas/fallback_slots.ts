/** Limits how many reads the primary executes in place of standbys, so that writes find
 * connections. @module */
import { errors } from "../../errors/catalogue.ts";
import type { Clock } from "../../lib/clock.ts";

interface Waiting {
  start(): void;
}

export class FallbackSlots {
  readonly #max: number;
  readonly #clock: Clock;
  readonly #queue = new Set<Waiting>();
  #used = 0;

  constructor(max: number, clock: Clock) {
    this.#max = max;
    this.#clock = clock;
  }

  /** Takes a slot. Rejects with `135` if none becomes free within `waitMs`. */
  acquire(waitMs: number): Promise<void> {
    if (this.#used < this.#max) {
      this.#used++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        start: () => {
          cancelTimer();
          resolve();
        },
      };
      const cancelTimer = this.#clock.scheduleAwaited(() => {
        this.#queue.delete(waiting);
        reject(errors.fallbacksFull());
      }, waitMs);
      this.#queue.add(waiting);
    });
  }

  /** Gives a slot to the read that has waited longest. */
  release(): void {
    const [next] = this.#queue;
    if (next === undefined) {
      this.#used--;
      return;
    }
    this.#queue.delete(next);
    next.start();
  }
}
