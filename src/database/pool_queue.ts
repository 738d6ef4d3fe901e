/**
 * Those who wait for a connection, in the order in which they came.
 *
 * @module
 */
import type { Task } from "./run.ts";

/** A batch that a pool was asked to run. */
export interface Asked extends Task {
  /** When it has waited too long, by `performance.now()`; never, while it does not wait. */
  deadline: number;
  /** It shared a write with one that held it up: it is not to share one again. */
  alone: boolean;
  /** Told when it leaves the queue. */
  onLeft: (() => void) | null;
}

/** Whether a batch may share a write with others now. */
export function mayShare({ batch: { pace }, alone }: Asked): boolean {
  return !alone && pace !== undefined && pace.isQuick;
}

/** A queue that forgets any member in constant time, and takes some back to its head. */
export class PoolQueue {
  /** Both keep the order of arrival. */
  #first = new Set<Asked>();
  readonly #waiting = new Set<Asked>();

  get size(): number {
    return this.#first.size + this.#waiting.size;
  }

  add(asked: Asked): void {
    this.#waiting.add(asked);
  }

  /** Puts back those who had their turn already. */
  putBack(asked: readonly Asked[]): void {
    this.#first = new Set([...asked, ...this.#first]);
  }

  remove(asked: Asked): void {
    if (!this.#waiting.delete(asked) && !this.#first.delete(asked)) return;
    asked.onLeft?.();
    asked.onLeft = null;
  }

  /** The ones that are next, without taking them out. */
  *[Symbol.iterator](): Iterator<Asked> {
    yield* this.#first;
    yield* this.#waiting;
  }

  /**
   * Takes out the next one and, when it may share its write, those behind it who may as well, at most
   * as many in all as `limit` says of the first.
   */
  take(limit: (first: Asked) => number): readonly Asked[] {
    const taken: Asked[] = [];
    let most = 1;
    for (const asked of this) {
      const shares = mayShare(asked);
      if (taken.length === 0) most = shares ? limit(asked) : 1;
      else if (!shares) break;
      taken.push(asked);
      if (taken.length >= most) break;
    }
    for (const asked of taken) this.remove(asked);
    return taken;
  }
}
