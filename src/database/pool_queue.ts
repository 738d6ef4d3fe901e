/**
 * Those who wait for a connection, in the order in which they came.
 *
 * @module
 */
import type { Task } from "./run.ts";

/** Who may go is looked for among so many. */
const farthest = 100;

/** Where one stands in the queue. */
interface Place {
  readonly asked: Asked;
  before: Place | null;
  behind: Place | null;
}

/** A batch that a pool was asked to run. */
export interface Asked extends Task {
  /** Since when it waits, by `performance.now()`; 0 unless it has. */
  since: number;
  /** It shared a write with one that held it up: it is not to share one again. */
  alone: boolean;
  /** Ends listening for its client to leave while it waits; null unless that is listened for. */
  stopListening: (() => void) | null;
  /** Where it stands in the queue; null while it does not. */
  place: Place | null;
}

/** Whether a batch is short, so that it may wait for others of its kind. */
export function isShort({ batch: { pace }, alone }: Asked): boolean {
  return !alone && pace !== undefined && pace.isQuick;
}

/** Which batches share a write: only those of one kind do. */
export type Sharing = "reads" | "writes";

/** With which others a batch may share a write now; null for none. */
export function sharingOf(asked: Asked): Sharing | null {
  if (!isShort(asked)) return null;
  const { once, undoable, pace } = asked.batch;
  if (once !== true) return "reads";
  return undoable === true && pace?.isPrompt === true ? "writes" : null;
}

/**
 * A queue that forgets any member in constant time, and takes some back to its head.
 *
 * It is a list of its own and not a `Set`: the table of a set that is added to and taken from all the
 * time is made anew again and again, and each old one keeps alive what was in it, and the next one,
 * until memory is cleaned up thoroughly.
 */
export class PoolQueue {
  #head: Place | null = null;
  #tail: Place | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(asked: Asked): void {
    this.#insert(asked, null);
  }

  /** Puts back those who had their turn already, before all others. */
  putBack(asked: readonly Asked[]): void {
    const head = this.#head;
    for (const each of asked) this.#insert(each, head);
  }

  remove(asked: Asked): void {
    const { place } = asked;
    if (place === null) return;
    const { before, behind } = place;
    if (before === null) this.#head = behind;
    else before.behind = behind;
    if (behind === null) this.#tail = before;
    else behind.before = before;
    place.before = null;
    place.behind = null;
    asked.place = null;
    this.#size--;
    asked.stopListening?.();
    asked.stopListening = null;
  }

  /** The ones that are next, without taking them out; each may be removed when its turn has come. */
  *[Symbol.iterator](): Iterator<Asked> {
    for (let place = this.#head; place !== null;) {
      const { asked, behind } = place;
      yield asked;
      place = behind;
    }
  }

  #insert(asked: Asked, behind: Place | null): void {
    const before = behind === null ? this.#tail : behind.before;
    const place: Place = { asked, before, behind };
    if (before === null) this.#head = place;
    else before.behind = place;
    if (behind === null) this.#tail = place;
    else behind.before = place;
    asked.place = place;
    this.#size++;
  }

  /**
   * Takes out the first one that may go and, when it may share its write, those behind it who may as
   * well, at most as many in all as `limit` says of the first.
   */
  take(mayGo: (asked: Asked) => boolean, limit: (first: Asked) => number): readonly Asked[] {
    const taken: Asked[] = [];
    let most = 1;
    let sharing: Sharing | null = null;
    for (let place = this.#first(mayGo); place !== null; place = place.behind) {
      const { asked } = place;
      const wanted = sharingOf(asked);
      if (taken.length === 0) {
        sharing = wanted;
        most = wanted === null ? 1 : limit(asked);
      } else if (wanted !== sharing) break;
      taken.push(asked);
      if (taken.length >= most) break;
    }
    for (const asked of taken) this.remove(asked);
    return taken;
  }

  #first(mayGo: (asked: Asked) => boolean): Place | null {
    let place = this.#head;
    for (let looks = 0; place !== null && looks < farthest; looks++, place = place.behind) {
      if (mayGo(place.asked)) return place;
    }
    return null;
  }
}
