/** How long the server takes for batches of one kind. @module */

/** A batch above this resets the estimate: its kind has to prove again that it is short. */
const resetAboveMs = 20;
/** Kinds below this are short. */
const maxShortMs = 1;
/** Measurements before the first verdict. */
const minSamples = 2;
/** A minimum that grows faster follows the load, which the connections that it allows raise. */
const growth = 1.01;
/** Milliseconds by which it grows as well, so that it leaves 0. */
const minGrowthMs = 0.0002;
/** After a batch that delayed others, this many have to run alone before its kind is pipelined again. */
const cooldownBatches = 1000;

/** Service time of one kind of batch in milliseconds: a decaying minimum, without the network. */
export class ServiceTime {
  #ms = Infinity;
  #samples = 0;
  #cooldown = 0;

  /** The estimate; Infinity before the first measurement. */
  get ms(): number {
    return this.#ms;
  }

  /** Whether a batch of this kind can be expected to end soon. */
  get isShort(): boolean {
    return this.#cooldown === 0 && this.#samples >= minSamples && this.#ms < maxShortMs;
  }

  record(ms: number): void {
    this.#samples++;
    if (this.#cooldown > 0) this.#cooldown--;
    this.#ms = ms > resetAboveMs ? ms : Math.min(this.#ms * growth + minGrowthMs, ms);
  }

  /** Records that a batch held up others, by a lock or by the size of its result. */
  recordDelay(): void {
    this.#cooldown = cooldownBatches;
  }
}

/** The time a message takes to the server and back: the least that any batch took lately. */
export class MinRoundTrip {
  #ms = Infinity;

  /** Milliseconds; 0 before the first measurement. */
  get ms(): number {
    return this.#ms === Infinity ? 0 : this.#ms;
  }

  /** Records what one write took up to its last reply; returns the service time of each of its batches. */
  serviceTime(ms: number, batches: number): number {
    if (batches === 1) {
      this.#ms = Math.min(this.#ms * 1.001, ms);
      return ms - this.#ms;
    }
    // The minimum was measured too high if several batches took less.
    const roundTrip = ms < this.#ms ? ms / batches : this.#ms;
    return (ms - roundTrip) / (batches - 1);
  }
}
