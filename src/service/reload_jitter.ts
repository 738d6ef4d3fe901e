/**
 * Delays the reloads that notifications request. A notification reaches all instances of a database at
 * once, and each of them reads the whole catalogue.
 *
 * @module
 */
import type { ReloadTarget } from "../database/notifications/listener.ts";
import type { Schedule } from "../lib/timers.ts";

/** Longest delay of a reload in ms. */
const maxDelayMs = 250;

/** Dependencies of a {@linkcode ReloadJitter}. */
export interface ReloadJitterOptions {
  readonly reload: (what: ReloadTarget) => void;
  /** Returns numbers from 0 to less than 1. */
  readonly random: () => number;
  readonly schedule: Schedule;
}

/** Merges the requests of up to 250 ms, at random. */
export class ReloadJitter {
  readonly #options: ReloadJitterOptions;
  readonly #requested = new Set<ReloadTarget>();
  #cancel: (() => void) | null = null;

  constructor(options: ReloadJitterOptions) {
    this.#options = options;
  }

  /** Requests a reload. That of revocations is not delayed: until then, revoked tokens are valid. */
  request(what: ReloadTarget): void {
    if (what === "revocations") return this.#options.reload(what);
    this.#requested.add(what);
    const { random, schedule } = this.#options;
    this.#cancel ??= schedule(() => this.#reload(), random() * maxDelayMs);
  }

  /** Drops the requests that wait. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#requested.clear();
  }

  #reload(): void {
    const requested = [...this.#requested];
    this.stop();
    for (const what of requested) this.#options.reload(what);
  }
}
