/** The clock that timers and timeouts use. Tests pass a fake clock. @module */
import { type Schedule, schedule, scheduleAwaited } from "./timers.ts";

export interface Clock {
  /** Milliseconds since an arbitrary start; never goes back. */
  now(): number;
  /** Runs a function later. The timer does not keep the process alive. */
  readonly schedule: Schedule;
  /** Runs a function later. The timer keeps the process alive. */
  readonly scheduleAwaited: Schedule;
}

export const systemClock: Clock = { now: () => performance.now(), schedule, scheduleAwaited };
