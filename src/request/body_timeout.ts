/**
 * The time within which a client must send the next piece of its body.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { deferred } from "../lib/deferred.ts";
import type { Schedule } from "../lib/timers.ts";

/** Limits how long the service waits for a piece. Time in which it does not wait does not count. */
export interface BodyTimeout {
  /** 0 sets no limit. */
  readonly milliseconds: number;
  readonly schedule: Schedule;
}

/** Settles as a read from the client does. Rejects with `133` if that takes too long. */
export function inTime<Value>(read: Promise<Value>, timeout: BodyTimeout): Promise<Value> {
  return timeout.milliseconds === 0 ? read : raced(read, timeout);
}

async function raced<Value>(
  read: Promise<Value>,
  { milliseconds, schedule }: BodyTimeout,
): Promise<Value> {
  const overdue = deferred<never>();
  const cancel = schedule(() => overdue.reject(errors.bodyTooSlow()), milliseconds);
  // The read ends later, when the connection is closed.
  read.catch(() => {});
  try {
    return await Promise.race([read, overdue.promise]);
  } finally {
    cancel();
  }
}
