/**
 * Doing something later.
 *
 * @module
 */

/** Runs a function after so many milliseconds; returns what takes that back. */
export type Schedule = (run: () => void, milliseconds: number) => () => void;

/** By the runtime's clock. A process does not end while something is scheduled. */
export const scheduleAwaited: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds);
  return () => clearTimeout(timer);
};

/** By the runtime's clock. A process may end although something is scheduled. */
export const schedule: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds);
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
};

/** Seconds of the longest pause between two attempts. */
const maxBackoffSeconds = 32;

/** The pause after one of so many seconds: pauses double from 1 to 32 seconds. */
export function nextBackoff(seconds: number): number {
  return Math.min(seconds * 2, maxBackoffSeconds);
}
