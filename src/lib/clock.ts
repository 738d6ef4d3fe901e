/**
 * The time, as the parts that wait take it: tests hand in a clock of their own.
 *
 * @module
 */
import { type Schedule, schedule, scheduleAwaited } from "./timers.ts";

/** A clock with timers. */
export interface Clock {
  /** Milliseconds since an arbitrary start; never goes back. */
  now(): number;
  /** Runs a function later; a process may end before that. */
  readonly schedule: Schedule;
  /** Runs a function later; a process does not end before that. */
  readonly scheduleAwaited: Schedule;
}

/** The runtime's clock. */
export const systemClock: Clock = { now: () => performance.now(), schedule, scheduleAwaited };
