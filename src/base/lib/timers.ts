/** Timers and exponential backoff. @module */

/** Runs a function after a delay in ms. Returns a function that cancels it. */
export type Schedule = (run: () => void, milliseconds: number) => () => void;

/** Schedules with `setTimeout`. A pending timer keeps the process alive. */
export const scheduleAwaited: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds);
  return () => clearTimeout(timer);
};

/** Schedules with `setTimeout`. A pending timer does not keep the process alive. */
export const schedule: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds);
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
};

/** Returns the milliseconds until the next full second of a clock. Periodic tasks run at full seconds,
 * so that the process wakes once for all of them. */
export function untilNextSecond(now: number): number {
  return Math.ceil(1000 - now % 1000);
}

/** Resolves in the next turn of the event loop, after other pending work has had its turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** The longest pause between two attempts to connect or to load the schema, as in PostgREST. */
const maxBackoffSeconds = 32;

/** Returns the backoff, in seconds, that follows `seconds`: it doubles from 1 to 32. */
export function nextBackoff(seconds: number): number {
  return Math.min(seconds * 2, maxBackoffSeconds);
}
