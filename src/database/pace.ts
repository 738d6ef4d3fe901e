/**
 * How long statements of one kind keep the server busy, to know which of them may share a write: one
 * that is slow would hold up the others.
 *
 * @module
 */

/** A batch that took so many milliseconds once has to show anew that it is quick. */
const slow = 20;
/** What takes less than so many milliseconds is quick. */
const quick = 1;
/** Measurements before the first verdict. */
const needed = 2;
/** What takes at most so many milliseconds when it is run behind others waits for no disk. */
const prompt = 0.2;
/** After more than that so many are run by themselves before it is tried again. */
const patience = 1000;
/** After a failure so many have to end well. */
const smooth = 100;

/** Milliseconds that the server spends on batches of one kind: the least that was measured lately. */
export class Pace {
  #ms = Infinity;
  #whole = Infinity;
  #measured = 0;
  #isExact = false;
  /** How many have ended well since the last failure. */
  #smooth = smooth;
  /** How many are still to be run by themselves. */
  #patience = 0;

  /** Whether a batch of this kind may be expected to be over soon. */
  get isQuick(): boolean {
    return this.#measured >= needed && this.#ms < quick;
  }

  /**
   * Whether batches of this kind may be run one after the other although each ends with a write to the
   * disk: where that takes its time, several connections wait for it together.
   */
  get isPrompt(): boolean {
    return this.#patience === 0;
  }

  /** Whether a batch of this kind may be expected to end well, which one that fails spoils for others. */
  get isSmooth(): boolean {
    return this.#smooth >= smooth;
  }

  /** Notes whether a batch ended well. */
  ended(well: boolean): void {
    this.#smooth = well ? this.#smooth + 1 : 0;
  }

  /** Milliseconds of a batch; null until several of a write have shown them. */
  get cost(): number | null {
    return this.#isExact ? this.#ms : null;
  }

  /** Milliseconds of a batch from its write to its answer: the least that was measured lately. */
  get whole(): number {
    return this.#whole;
  }

  /** What a batch that was sent alone took from its write to its answer. */
  noteWhole(ms: number): void {
    if (this.#patience > 0) this.#patience--;
    this.#whole = Math.min(this.#whole * 1.05 + 0.001, ms);
  }

  /**
   * What a batch took on the server, as far as is known: by itself, when the time of the way is not
   * quite known, or as one of several.
   */
  note(ms: number, as: "alone" | "shared"): void {
    this.#measured++;
    const isExact = as === "shared";
    if (ms > slow) {
      // From now on it runs alone, and is to be measured so.
      this.#ms = ms;
      this.#isExact = false;
      return;
    }
    if (isExact && !this.#isExact) this.#ms = ms;
    else if (isExact || !this.#isExact) this.#ms = Math.min(this.#ms * 1.05 + 0.001, ms);
    if (isExact && this.#ms > prompt) this.#patience = patience;
    // What is not quick runs alone, which is then all that can show that it is quick after all.
    this.#isExact = (this.#isExact || isExact) && this.#ms < quick;
  }

  /** Something about a batch shows that it is none for sharing. */
  refuse(): void {
    this.note(2 * slow, "alone");
  }
}

/** The time that a message takes to the server and back, as the least that any batch took lately. */
export class RoundTrip {
  #ms = Infinity;

  /** Milliseconds; null before anything was noted. */
  get ms(): number | null {
    return this.#ms === Infinity ? null : this.#ms;
  }

  /** Notes what a single batch took; returns what is left for the server. */
  without(ms: number): number {
    this.#ms = Math.min(this.#ms * 1.001, ms);
    return ms - this.#ms;
  }

  /** What each of several batches took that were sent together and were over after so long. */
  share(ms: number, batches: number): number {
    // Where all took less than that, it is known to be too much.
    const way = ms < this.#ms ? ms / batches : this.#ms;
    return (ms - way) / (batches - 1);
  }
}
