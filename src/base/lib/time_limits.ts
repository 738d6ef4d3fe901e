/** Time limits of requests, bodies, transactions and other awaited work. @module */
import type { Clock } from "./clock.ts";
import { deferred } from "./deferred.ts";
import { type Schedule, scheduleAwaited } from "./timers.ts";

/** Creates the errors of requests that exceed their time limit. */
export interface TimeErrors {
  bodyTooSlow(): Error;
  requestTimeout(): Error;
}

export function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void scheduleAwaited(resolve, milliseconds));
}

/** Resolves with the work or after the timeout, whichever comes first. Rejects if the work does. */
export async function withTimeout(
  milliseconds: number,
  work: Promise<unknown>,
  schedule: Schedule = scheduleAwaited,
): Promise<void> {
  const timeout = deferred<void>();
  const cancel = schedule(timeout.resolve, milliseconds);
  try {
    await Promise.race([work, timeout.promise]);
  } finally {
    cancel();
  }
}

/** Conditions under which {@linkcode untilIdle} stops waiting. */
interface IdleCheck {
  readonly isBusy: () => boolean;
  /** Milliseconds between checks. */
  readonly periodMs: number;
  /** Number of consecutive idle checks that ends the wait. */
  readonly maxIdleChecks: number;
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
}

/** Resolves with the work, or after `maxIdleChecks` consecutive checks that find it idle. */
export async function untilIdle(
  work: Promise<unknown>,
  { isBusy, periodMs, maxIdleChecks, schedule }: IdleCheck,
): Promise<void> {
  let done = false;
  const ended = work.then(() => void (done = true));
  for (let idle = 0; !done && idle < maxIdleChecks; idle = isBusy() ? 0 : idle + 1) {
    await withTimeout(periodMs, ended, schedule);
  }
}

/** Settles as the work does, or rejects with the error that `limit` passes to `report`. `limit` starts
 * timers, and returns a function that cancels them. */
async function limited<Value>(
  work: Promise<Value>,
  limit: (report: (error: Error) => void) => () => void,
): Promise<Value> {
  const over = deferred<never>();
  const stop = limit(over.reject);
  // A rejection is handled here, because nothing awaits the work after the limit.
  work.catch(() => {});
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    stop();
  }
}

/** The time limit of a request, or of a batch within its request. */
export class Deadline {
  readonly #milliseconds: number;
  readonly #clock: Pick<Clock, "now" | "schedule">;
  readonly #outer: Deadline | null;
  #startedAt: number | null = null;
  #cancel: () => void = () => {};
  readonly #listeners = new Set<() => void>();

  /** Creates a limit; 0 ms sets no limit. If `outer` is exceeded, so is this limit. Default: null. */
  constructor(
    milliseconds: number,
    clock: Pick<Clock, "now" | "schedule">,
    outer: Deadline | null = null,
  ) {
    this.#milliseconds = milliseconds;
    this.#clock = clock;
    this.#outer = outer;
  }

  /** Starts the timer, unless it is started. */
  begin(): void {
    if (this.#startedAt !== null || this.#milliseconds === 0) return;
    this.#startedAt = this.#clock.now();
    this.#cancel = this.#clock.schedule(() => this.#pass(), this.#milliseconds);
  }

  /** Whether this limit is exceeded, regardless of the outer one. Compares times, since a busy
   * process may run its timer late. */
  get isOwnOver(): boolean {
    return this.#startedAt !== null && this.#clock.now() - this.#startedAt >= this.#milliseconds;
  }

  get isOver(): boolean {
    return this.isOwnOver || this.#outer?.isOver === true;
  }

  /** Runs a function when the limit is exceeded, or at once if it already is. Returns a function
   * that cancels the run. */
  onOver(run: () => void): () => void {
    if (this.isOver) {
      run();
      return () => {};
    }
    this.#listeners.add(run);
    const stop = this.#outer?.onOver(run);
    return () => {
      this.#listeners.delete(run);
      stop?.();
    };
  }

  /** Stops the timer. If the limit is not exceeded yet, it never will be. */
  clear(): void {
    this.#cancel();
    this.#listeners.clear();
    if (!this.isOwnOver) this.#startedAt = null;
  }

  #pass(): void {
    // The limit is exceeded now, even if the runtime runs the timer a moment early.
    this.#startedAt = -Infinity;
    for (const run of [...this.#listeners]) run();
    this.#listeners.clear();
  }
}

/** Settles as the work does. Rejects with `requestTimeout` if the limit is exceeded first. */
export function beforeDeadline<Value>(
  work: Promise<Value>,
  deadline: Deadline | null,
  errors: Pick<TimeErrors, "requestTimeout">,
): Promise<Value> {
  if (deadline === null) return work;
  return limited(work, (report) => deadline.onOver(() => report(errors.requestTimeout())));
}

/** Limits how long the service waits for a chunk of a body. Time is measured only while the service
 * waits for the client. */
export interface BodyTimeout {
  /** 0 sets no limit. */
  readonly milliseconds: number;
  readonly schedule: Schedule;
  /** Time limit of the whole request. Default: null. */
  readonly deadline?: Deadline | null;
  /**
   * Required pace while other clients wait for the connection. Default: null, for no requirement.
   */
  readonly pace?: BodyPace | null;
}

/** Settles as a read from the client does, or rejects when it takes too long. */
export function inTime<Value>(
  read: Promise<Value>,
  { milliseconds, schedule, deadline = null, pace = null }: BodyTimeout,
  errors: TimeErrors,
): Promise<Value> {
  const paced = pace === null ? read : pace.inTime(read);
  if (milliseconds === 0) return beforeDeadline(paced, deadline, errors);
  return limited(paced, (report) => {
    const stopTimer = schedule(() => report(errors.bodyTooSlow()), milliseconds);
    const stopDeadline = deadline?.onOver(() => report(errors.requestTimeout()));
    return () => {
      stopTimer();
      stopDeadline?.();
    };
  });
}

/** Period in which a slow body is checked. */
const checkPeriodMs = 1000;

/** Required bytes per second of a body that holds a connection for which other clients wait. */
const contendedRate = { minBytesPerSecond: 1024, allowanceMs: 10_000 };
/** Required bytes per second of a divided body, which holds connections that other clients need. */
const dividedRate = { minBytesPerSecond: 64 * 1024, allowanceMs: 5000 };

/**
 * The pace at which a body must arrive while other clients wait for its connection. Time is measured
 * only while the service waits for the client. A client may send nothing for `allowanceMs` of this
 * time.
 */
export class BodyPace {
  #bytes = 0;
  #waitedMs = 0;

  constructor(
    private readonly isContended: () => boolean,
    private readonly clock: Pick<Clock, "now" | "schedule">,
    private readonly errors: TimeErrors,
    private readonly rate = contendedRate,
  ) {}

  count(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Settles as a read does. Rejects with `bodyTooSlow` if the body is slow and other clients
   * wait. */
  async inTime<Value>(read: Promise<Value>): Promise<Value> {
    const { schedule, now } = this.clock;
    const startedAt = now();
    const earned = this.#bytes / this.rate.minBytesPerSecond * 1000;
    const allowed = this.rate.allowanceMs + earned - this.#waitedMs;
    try {
      return await limited(read, (report) => {
        const check = () => {
          if (this.isContended()) report(this.errors.bodyTooSlow());
          else cancel = schedule(check, checkPeriodMs);
        };
        let cancel = schedule(check, Math.max(allowed, 0));
        return () => cancel();
      });
    } finally {
      this.#waitedMs += now() - startedAt;
    }
  }
}

/** The minimum rate of a divided body, which occupies space in files or a connection to the database. */
export class MinRate {
  readonly #pace: BodyPace;
  #isOn = false;

  constructor(clock: Pick<Clock, "now" | "schedule">, errors: TimeErrors) {
    this.#pace = new BodyPace(() => true, clock, errors, dividedRate);
  }

  start(): void {
    this.#isOn = true;
  }

  /** Yields the same chunks. Throws `bodyTooSlow` if they arrive too slowly. */
  async *watch(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const next = chunks.next();
        const { done, value } = this.#isOn ? await this.#pace.inTime(next) : await next;
        if (done) return;
        if (this.#isOn) this.#pace.count(value.length);
        yield value;
      }
    } finally {
      // The generator may wait for bytes of the client, so its end is not awaited.
      void chunks.return(undefined).catch(() => {});
    }
  }
}
