/**
 * Limits how long a caller waits for work.
 *
 * @module
 */
import { deferred } from "./deferred.ts";
import { type Schedule, scheduleAwaited } from "./timers.ts";

/** Resolves after this many milliseconds. */
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
export interface IdleCheck {
  readonly isBusy: () => boolean;
  /** Milliseconds between checks. */
  readonly periodMs: number;
  /** Number of consecutive idle checks that ends the wait. */
  readonly maxIdleChecks: number;
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
}

/**
 * Resolves when the work is done, or after `maxIdleChecks` consecutive checks that find it idle.
 * Rejects if the work does.
 */
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
