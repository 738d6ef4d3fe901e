/**
 * How many connections of a pool carry short batches, and how many of these share a write.
 *
 * @module
 */
import { type Pace, RoundTrip } from "./pace.ts";
import { type Asked, sharingOf } from "./pool_queue.ts";

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
 * What keeps the server busy for fewer milliseconds has one connection: it is this side then that has
 * more to do, and more of them share a write.
 */
const shortest = 0.05;
/** Not for so many batches after one that was short by its kind and took long: others were behind it. */
const unsteady = 1000;
/**
 * Where the way to the server and back takes more milliseconds than this, several are on their way on
 * connections of their own, one more for each so many.
 */
const nearest = 0.3;
const wayStep = 0.2;
/**
 * The same for what shares no write, for each so many milliseconds above so many from the write to the
 * answer: while that is on its way, or the server waits for its disk, others can be served.
 */
const aloneStep = 0.04;
const aloneAtLeast = 0.12;

/** Sums of parts of one are not exact. */
const nearly = 1 - 1e-6;

/**
 * The connections that carry short batches. A batch takes up as much of them as the number of lanes
 * says that is right for its kind: half of all with two lanes. Whatever comes first goes first, so
 * that no kind can keep another waiting.
 */
export class Lanes {
  readonly #max: number;
  readonly #roundTrip = new RoundTrip();
  #taken = 0;
  /** How much of all lanes is taken up, from 0 to 1 or a little more. */
  #load = 0;
  /** For how many batches a single connection is not enough. */
  #unsteady = 0;

  /** `max` is the number of connections that there may be. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Whether a short batch is to wait for others to be over. */
  get areFull(): boolean {
    return this.#load >= nearly;
  }

  /** Takes a lane for a batch, or several that share a write; gives how much of all that is. */
  enter(first: Asked): number {
    const part = 1 / this.#mostFor(first);
    this.#taken++;
    this.#load += part;
    return part;
  }

  /** Frees a lane of what takes long after all. */
  giveUp(part: number): void {
    this.leave(part);
    this.#unsteady = unsteady;
  }

  /** Frees a lane, of which {@linkcode enter} gave the part. */
  leave(part: number): void {
    this.#taken--;
    this.#load = this.#taken === 0 ? 0 : this.#load - part;
  }

  /** How many of those that wait, from this one on, are to share a write. */
  share(asked: Asked, waiting: number): number {
    const free = Math.max(1, Math.round((1 - this.#load) * this.#mostFor(asked)));
    const few = Math.ceil(longestShared / (asked.batch.pace?.cost ?? laneStep));
    return Math.min(mostShared, few, Math.ceil(waiting / free));
  }

  /** Notes how long batches took that were sent in one write. */
  took(paces: readonly Pace[], ms: number): void {
    this.#unsteady = Math.max(0, this.#unsteady - paces.length);
    if (paces.length === 1) {
      paces[0]!.noteWhole(ms);
      return paces[0]!.note(this.#roundTrip.without(ms), "alone");
    }
    const each = this.#roundTrip.share(ms, paces.length);
    for (const pace of new Set(paces)) pace.note(each, "shared");
  }

  #mostFor(asked: Asked): number {
    const { pace } = asked.batch;
    if (sharingOf(asked) === null) {
      const above = Math.max(0, (pace?.whole ?? 0) - aloneAtLeast);
      return Math.min(this.#max, fewestLanes + Math.floor(above / aloneStep));
    }
    const cost = pace?.cost ?? null;
    const way = Math.max(0, (this.#roundTrip.ms ?? 0) - nearest);
    const isLone = cost !== null && cost < shortest && way === 0 && this.#unsteady === 0;
    if (isLone) return 1;
    const more = (cost ?? 0) / laneStep + way / wayStep;
    return Math.min(this.#max, fewestLanes + Math.floor(more));
  }
}
