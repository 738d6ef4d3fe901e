/**
 * The pace at which a body must arrive while other clients wait for its connection.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { Clock } from "../lib/clock.ts";
import { deferred } from "../lib/deferred.ts";

/** Slower clients give way to clients that wait for a connection. */
const minBytesPerSecond = 1024;
/** A client may be silent for this time. */
const allowanceMs = 10_000;
/** Period in which a slow body is checked. */
const checkPeriodMs = 1000;

/** Watches one body. Time counts only while the service waits for the client. */
export class BodyPace {
  readonly #isContended: () => boolean;
  readonly #clock: Pick<Clock, "now" | "schedule">;
  #bytes = 0;
  #waitedMs = 0;

  constructor(isContended: () => boolean, clock: Pick<Clock, "now" | "schedule">) {
    this.#isContended = isContended;
    this.#clock = clock;
  }

  /** Counts bytes that have arrived. */
  count(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Settles as a read does. Rejects with `133` if the body is slow and others wait. */
  async inTime<Value>(read: Promise<Value>): Promise<Value> {
    const startedAt = this.#clock.now();
    const slow = deferred<never>();
    const check = () => {
      if (this.#isContended()) slow.reject(errors.bodyTooSlow());
      else cancel = this.#clock.schedule(check, checkPeriodMs);
    };
    const allowed = allowanceMs + this.#bytes / minBytesPerSecond * 1000 - this.#waitedMs;
    let cancel = this.#clock.schedule(check, Math.max(allowed, 0));
    // The read ends later, when the connection is closed.
    read.catch(() => {});
    try {
      return await Promise.race([read, slow.promise]);
    } finally {
      cancel();
      this.#waitedMs += this.#clock.now() - startedAt;
    }
  }
}
