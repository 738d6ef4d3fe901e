/**
 * The time within which a client must send the next piece of its body.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { deferred } from "../lib/deferred.ts";
import type { Deadline } from "../lib/request_deadline.ts";
import type { Schedule } from "../lib/timers.ts";
import type { BodyPace } from "./body_pace.ts";

/** Limits how long the service waits for a piece. Time in which it does not wait does not count. */
export interface BodyTimeout {
  /** 0 sets no limit. */
  readonly milliseconds: number;
  readonly schedule: Schedule;
  /** The end of the whole request's time. Default: null, for none. */
  readonly deadline?: Deadline | null;
  /** The pace while other clients wait for the connection. Default: null, for any. */
  readonly pace?: BodyPace | null;
}

/**
 * Settles as a read from the client does. Rejects with `133` if that takes too long, and with `134` when
 * the request's time is over.
 */
export function inTime<Value>(read: Promise<Value>, timeout: BodyTimeout): Promise<Value> {
  const { milliseconds, deadline = null, pace = null } = timeout;
  const paced = pace === null ? read : pace.inTime(read);
  return milliseconds > 0 || deadline !== null ? raced(paced, timeout) : paced;
}

async function raced<Value>(
  read: Promise<Value>,
  { milliseconds, schedule, deadline }: BodyTimeout,
): Promise<Value> {
  const overdue = deferred<never>();
  const stopTimer = milliseconds === 0
    ? () => {}
    : schedule(() => overdue.reject(errors.bodyTooSlow()), milliseconds);
  const stopDeadline = deadline?.onOver(() => overdue.reject(errors.requestTimeout()));
  // The read ends later, when the connection is closed.
  read.catch(() => {});
  try {
    return await Promise.race([read, overdue.promise]);
  } finally {
    stopTimer();
    stopDeadline?.();
  }
}
