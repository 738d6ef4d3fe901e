/**
 * How long the stages of a request take.
 *
 * @module
 */

/** Stages that are timed, in the order of `Server-Timing`. */
export const stages = ["jwt", "parse", "plan", "transaction", "response"] as const;

export type Stage = typeof stages[number];

/** Is told of a stage that has ended; times are milliseconds since 1970. */
export type TraceStage = (
  stage: Stage,
  times: { readonly start: number; readonly end: number },
) => void;

/** Measures laps in milliseconds; does nothing when it is switched off and nobody is told. */
export class Stopwatch {
  readonly #laps: Map<Stage, number> | null;
  readonly #trace: TraceStage | null;
  readonly #now: () => number;
  #last: number;

  /** `now` gives milliseconds since `performance.timeOrigin`. */
  constructor(
    on: boolean,
    trace: TraceStage | null = null,
    now: () => number = () => performance.now(),
  ) {
    this.#laps = on ? new Map() : null;
    this.#trace = trace;
    this.#now = now;
    this.#last = on || trace !== null ? now() : 0;
  }

  /** Ends a stage. */
  lap(stage: Stage): void {
    if (this.#laps === null && this.#trace === null) return;
    const [start, end] = [this.#last, this.#now()];
    this.#laps?.set(stage, end - start);
    const { timeOrigin } = performance;
    this.#trace?.(stage, { start: timeOrigin + start, end: timeOrigin + end });
    this.#last = end;
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
