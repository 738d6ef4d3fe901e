/**
 * The least rate of a body that is received while it holds a connection to the database.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { Clock } from "../lib/clock.ts";

/** Slower clients would keep connections from others. */
const minBytesPerSecond = 64 * 1024;
/** A client may be silent for this long at the start. */
const allowanceMs = 5000;

/** Watches one body. Time counts only while the service waits for the client. */
export class MinRate {
  readonly #clock: Pick<Clock, "now" | "schedule">;
  #isOn = false;
  #bytes = 0;
  #waitedMs = 0;

  constructor(clock: Pick<Clock, "now" | "schedule">) {
    this.#clock = clock;
  }

  /** Begins to watch. */
  start(): void {
    this.#isOn = true;
  }

  /** Yields the same pieces. Throws `133` when they come too slowly. */
  async *watch(pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const next = pieces.next();
        const { done, value } = this.#isOn ? await this.#inTime(next) : await next;
        if (done) return;
        if (this.#isOn) this.#bytes += value.length;
        yield value;
      }
    } finally {
      // A read that waits for the client would delay the end.
      void pieces.return(undefined).catch(() => {});
    }
  }

  async #inTime<Result>(next: Promise<Result>): Promise<Result> {
    const startedAt = this.#clock.now();
    const allowed = allowanceMs + this.#bytes / minBytesPerSecond * 1000 - this.#waitedMs;
    let cancel = () => {};
    const overdue = new Promise<never>((_, reject) => {
      cancel = this.#clock.schedule(() => reject(errors.bodyTooSlow()), allowed);
    });
    next.catch(() => {});
    try {
      return await Promise.race([next, overdue]);
    } finally {
      cancel();
      this.#waitedMs += this.#clock.now() - startedAt;
    }
  }
}
