/**
 * How long statements of one kind keep the server busy, to know which of them may share a write: one
 * that is slow would hold up the others.
 *
 * @module
 */

/** A statement that took so many milliseconds once has to show anew that it is quick. */
const slow = 20;
/** What takes less than so many milliseconds is quick. */
const quick = 1;
/** Measurements before the first verdict. */
const needed = 2;

/** Milliseconds of batches of one kind: the least that was measured lately. */
export class Pace {
  #ms = Infinity;
  #measured = 0;

  /** Whether a batch of this kind may be expected to be over soon. */
  get isQuick(): boolean {
    return this.#measured >= needed && this.#ms < quick;
  }

  /** What a batch took on the server, as far as is known. */
  note(ms: number): void {
    this.#measured++;
    // The least, as the service itself may have been late to look; growing, as data do.
    this.#ms = ms > slow ? ms : Math.min(this.#ms * 1.05 + 0.001, ms);
  }

  /** Something about a batch shows that it is none for sharing. */
  refuse(): void {
    this.note(2 * slow);
  }
}

/** The time that a message takes to the server and back, as the least that any batch took lately. */
export class RoundTrip {
  #ms = Infinity;

  /** Notes what a batch took whose write began a round trip; returns what is left for the server. */
  without(ms: number): number {
    this.#ms = Math.min(this.#ms * 1.001, ms);
    return ms - this.#ms;
  }
}
