/** A clock that moves when the test moves it. @module */
import { setImmediate } from "node:timers";
import type { Clock } from "../../../src/base/lib/clock.ts";
import type { Schedule } from "../../../src/base/lib/timers.ts";

/** Time in milliseconds, from 0. */
export interface FakeClock extends Clock {
  /** Milliseconds until what is scheduled next; null for nothing. */
  next(): number | null;
  /** Moves on, running what becomes due, and lets everything settle that follows of it. */
  pass(milliseconds: number): Promise<void>;
}

export function fakeClock(): FakeClock {
  let time = 0;
  const due = new Set<{ readonly at: number; readonly run: () => void }>();
  const earliest = () => [...due].sort((one, other) => one.at - other.at)[0];
  const schedule: Schedule = (run, milliseconds) => {
    const entry = { at: time + milliseconds, run };
    due.add(entry);
    return () => void due.delete(entry);
  };
  return {
    now: () => time,
    schedule,
    scheduleAwaited: schedule,
    next: () => {
      const entry = earliest();
      return entry === undefined ? null : entry.at - time;
    },
    async pass(milliseconds) {
      const end = time + milliseconds;
      for (let entry = earliest(); entry !== undefined && entry.at <= end; entry = earliest()) {
        due.delete(entry);
        time = entry.at;
        entry.run();
        await settled();
      }
      time = end;
      await settled();
    },
  };
}

/** Lets everything happen that is due already: takes one turn of the event loop, and no time. */
export function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
