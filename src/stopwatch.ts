/**
 * How long the stages of a request take.
 *
 * @module
 */

/** Stages that are timed, in the order of `Server-Timing`. */
export const stages = ["jwt", "parse", "plan", "transaction", "response"] as const;

export type Stage = typeof stages[number];

/** Measures laps in milliseconds; does nothing when it is switched off. */
export class Stopwatch {
  readonly #laps: Map<Stage, number> | null;
  #last: number;

  constructor(on: boolean) {
    this.#laps = on ? new Map() : null;
    this.#last = on ? performance.now() : 0;
  }

  /** Ends a stage. */
  lap(stage: Stage): void {
    if (this.#laps === null) return;
    const now = performance.now();
    this.#laps.set(stage, now - this.#last);
    this.#last = now;
  }

  /** Milliseconds of all stages; those that did not take place took none. Null when switched off. */
  timings(): Readonly<Record<Stage, number>> | null {
    const laps = this.#laps;
    if (laps === null) return null;
    return Object.fromEntries(stages.map((stage) => [stage, laps.get(stage) ?? 0])) as Record<
      Stage,
      number
    >;
  }
}
