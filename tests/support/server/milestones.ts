/** Counts events and resolves promises at numbers of them. @module */

/** A count that tests wait for. */
export class Milestones {
  #count = 0;
  readonly #waiting = new Set<{ readonly goal: number; readonly resolve: () => void }>();

  /** Counts one event. */
  add(): void {
    this.#count++;
    for (const waiter of this.#waiting) {
      if (this.#count < waiter.goal) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** Resolves after so many further events. */
  more(times: number): Promise<void> {
    const goal = this.#count + times;
    return new Promise((resolve) => this.#waiting.add({ goal, resolve }));
  }
}
