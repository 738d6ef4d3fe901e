/**
 * Waiting, and waiting no longer.
 *
 * @module
 */
import { type Schedule, scheduleAwaited } from "../lib/timers.ts";

/** Resolves after so many milliseconds. */
export function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void scheduleAwaited(resolve, milliseconds));
}

/** Resolves when the work is done or the time is over; rejects when the work does before that. */
export async function atMost(
  milliseconds: number,
  work: Promise<unknown>,
  schedule: Schedule = scheduleAwaited,
): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = schedule(late.resolve, milliseconds);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}

/** When waiting is in vain. */
export interface Stillness {
  readonly isBusy: () => boolean;
  /** Milliseconds between looks. */
  readonly period: number;
  /** So many looks one after the other at which nothing is busy are enough. */
  readonly looks: number;
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
}

/** Resolves when the work is done, or when nothing has been busy with it for long; rejects with it. */
export async function whileBusy(
  work: Promise<unknown>,
  { isBusy, period, looks, schedule }: Stillness,
): Promise<void> {
  let done = false;
  const ended = work.then(() => void (done = true));
  for (let still = 0; !done && still < looks; still = isBusy() ? 0 : still + 1) {
    await atMost(period, ended, schedule);
  }
}
