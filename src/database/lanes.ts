/**
 * How many connections of a pool carry short batches, and how many of these share a write.
 *
 * @module
 */
import { type Pace, RoundTrip } from "./pace.ts";
import { type Asked, mayShare } from "./pool_queue.ts";

/** So many batches share a write at most, and so many milliseconds of the server's time. */
const mostShared = 16;
const longestShared = 1;
/**
 * So many connections at least carry short batches. While they are busy, those that come wait, although
 * other connections may be free: one write for several spares both sides work, and a server that does
 * few things at a time does them sooner than one whose processes take the processor from each other.
 * What keeps the server busy for longer gets a connection more for each so many milliseconds, as then
 * it is the server that has to work at several things at a time.
 */
const fewestLanes = 2;
const laneStep = 0.2;
/**
 * The same for what shares no write, for each so many milliseconds above so many from the write to the
 * answer: while that is on its way, or the server waits for its disk, others can be served.
 */
const aloneStep = 0.04;
const aloneAtLeast = 0.12;

/** The connections that carry short batches. */
export class Lanes {
  readonly #max: number;
  readonly #roundTrip = new RoundTrip();
  /** How many connections carry some at present. */
  taken = 0;

  /** `max` is the number of connections that there may be. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Whether a short batch is to wait for others of its kind to be over. */
  areFullFor(asked: Asked): boolean {
    return this.taken >= this.#mostFor(asked);
  }

  /** How many of those that wait, from this one on, are to share a write. */
  share(asked: Asked, waiting: number): number {
    const free = Math.max(1, this.#mostFor(asked) - this.taken);
    const few = Math.ceil(longestShared / (asked.batch.pace?.cost ?? laneStep));
    return Math.min(mostShared, few, Math.ceil(waiting / free));
  }

  /** Notes how long batches took that were sent in one write. */
  took(paces: readonly Pace[], ms: number): void {
    if (paces.length === 1) {
      paces[0]!.noteWhole(ms);
      return paces[0]!.note(this.#roundTrip.without(ms), "alone");
    }
    const each = this.#roundTrip.share(ms, paces.length);
    for (const pace of new Set(paces)) pace.note(each, "shared");
  }

  #mostFor(asked: Asked): number {
    const { pace } = asked.batch;
    const more = mayShare(asked)
      ? (pace?.cost ?? 0) / laneStep
      : Math.max(0, (pace?.whole ?? 0) - aloneAtLeast) / aloneStep;
    return Math.min(this.#max, fewestLanes + Math.floor(more));
  }
}
