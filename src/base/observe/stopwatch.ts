/** Measures a request: its stages, its wait for the database, and `Server-Timing`. @module */

export const stages = ["jwt", "parse", "plan", "transaction", "response"] as const;

type Stage = typeof stages[number];

/** Receives a finished stage, or a finished call of an agent. Times are epoch milliseconds. */
export type TraceStage = (
  stage: Stage | `tools/call ${string}`,
  times: { readonly start: number; readonly end: number },
) => void;

/** Measures stages in ms. Does nothing if it is off and has no `trace`. */
export class Stopwatch {
  readonly #laps: Map<Stage, number> | null;
  readonly #trace: TraceStage | null;
  readonly #now: () => number;
  #last: number;

  /** `now` returns milliseconds since `performance.timeOrigin`. */
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

  lap(stage: Stage): void {
    if (this.#laps === null && this.#trace === null) return;
    const [start, end] = [this.#last, this.#now()];
    this.#laps?.set(stage, end - start);
    const { timeOrigin } = performance;
    this.#trace?.(stage, { start: timeOrigin + start, end: timeOrigin + end });
    this.#last = end;
  }

  /** Returns the ms of all stages, 0 for skipped ones; null if the stopwatch is off. */
  timings(): Readonly<Record<Stage, number>> | null {
    const laps = this.#laps;
    if (laps === null) return null;
    return Object.fromEntries(stages.map((stage) => [stage, laps.get(stage) ?? 0])) as Record<
      Stage,
      number
    >;
  }
}

/** Milliseconds of the transactions of one request. */
export class RequestTiming {
  /** Time in the queue of the pool, which the pool sets. */
  queueMs = 0;
  #totalMs = 0;

  /** Time of the transactions without the time in the queue. */
  get databaseMs(): number {
    return Math.max(0, this.#totalMs - this.queueMs);
  }

  /** Measures a transaction, whether it succeeds or fails. */
  async measure<Result>(transaction: () => Promise<Result>): Promise<Result> {
    const start = performance.now();
    try {
      return await transaction();
    } finally {
      this.#totalMs += performance.now() - start;
    }
  }
}

/** Formats durations in ms, in the order of the record: `jwt;dur=0.4, plan;dur=12.0`. */
export function formatServerTiming(durations: Readonly<Record<string, number>>): string {
  return Object.entries(durations)
    .map(([name, milliseconds]) => `${name};dur=${milliseconds.toFixed(1)}`)
    .join(", ");
}
