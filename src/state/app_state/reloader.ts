/** Schedules loads that may fail. Merges requests for loads, and retries failures with exponential
 * backoff. @module */
import { deferred } from "../../base/lib/deferred.ts";
import { nextBackoff, type Schedule } from "../../base/lib/timers.ts";

interface ReloaderOptions {
  /** Loads the data. A rejection means a failure. */
  readonly load: () => Promise<void>;
  /** Whether a failed load is retried. */
  readonly isRetried: (error: unknown) => boolean;
  /** Receives the seconds of each backoff before it begins. */
  readonly onRetry: (seconds: number) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
  /** `unshared`: each request has its own load, without retries. Used if timers and sockets end
   * with the request that opened them. */
  readonly sharing: "shared" | "unshared";
}

/** Milliseconds after a load in which all requests are merged into one further load. */
const mergeWindowMs = 100;

/** Milliseconds after a recovery in which requests may still fail on old connections. */
const recoveryWindowMs = 2000;

/** A load that begins later. */
interface ScheduledLoad {
  readonly cause: "request" | "retry";
  readonly at: number;
  readonly cancel: () => void;
  /** Settles with the load. */
  readonly ended: Promise<void>;
  readonly settle: (end: void | Promise<void>) => void;
}

/**
 * Runs one load at a time. Merges the requests that arrive during a load, or within 100 ms after it,
 * into one further load.
 */
export class Reloader {
  readonly #options: ReloaderOptions;
  #running: Promise<void> | null = null;
  #scheduled: ScheduledLoad | null = null;
  #isRequested = false;
  #backoffSeconds = 1;
  #endedAt = -Infinity;
  #isFailing = false;
  #isStopped = false;
  #recoveredAt = -Infinity;

  constructor(options: ReloaderOptions) {
    this.#options = options;
  }

  /** Returns whole seconds, at least 1, until the next retry; null if none is scheduled. */
  secondsLeft(): number | null {
    if (this.#scheduled?.cause !== "retry") return null;
    return Math.max(1, Math.ceil((this.#scheduled.at - this.#options.now()) / 1000));
  }

  /** Requests a load. Resolves when a load that began after the call has succeeded or failed. */
  request(): Promise<void> {
    const { load, now, sharing } = this.#options;
    if (sharing === "unshared") return load().catch(() => {});
    if (this.#isStopped) return Promise.resolve();
    if (this.#running !== null) {
      this.#isRequested = true;
      return this.#running.then(() => this.#scheduled?.ended);
    }
    if (this.#scheduled?.cause === "request") return this.#scheduled.ended;
    const wait = this.#endedAt + mergeWindowMs - now();
    return wait > 0 ? this.#schedule("request", wait) : this.#start();
  }

  /** Requests a load, unless one runs or is scheduled, or a recovery ended within the last 2 seconds. */
  recover(): void {
    const { now, sharing } = this.#options;
    if (sharing === "unshared" || this.#running !== null || this.#scheduled !== null) return;
    if (now() - this.#recoveredAt < recoveryWindowMs) return;
    this.#recoveredAt = now();
    this.request();
  }

  /** Cancels scheduled loads and ignores further requests. */
  stop(): void {
    this.#isStopped = true;
    this.#unschedule()?.settle();
  }

  /** Starts a load now. A scheduled load is cancelled, and its requests wait for the new load. */
  #start(): Promise<void> {
    const scheduled = this.#unschedule();
    this.#isRequested = false;
    const running = this.#attempt().finally(() => {
      this.#running = null;
      this.#endedAt = this.#options.now();
      if (this.#isRequested && !this.#isStopped) this.#schedule("request", mergeWindowMs);
    });
    this.#running = running;
    scheduled?.settle(running);
    return running;
  }

  async #attempt(): Promise<void> {
    try {
      await this.#options.load();
      this.#backoffSeconds = 1;
      if (this.#isFailing) this.#recoveredAt = this.#options.now();
      this.#isFailing = false;
    } catch (error) {
      this.#isFailing = true;
      if (this.#isStopped || !this.#options.isRetried(error) || this.#isRequested) return;
      const seconds = this.#backoffSeconds;
      this.#backoffSeconds = nextBackoff(seconds);
      this.#options.onRetry(seconds);
      this.#schedule("retry", seconds * 1000);
    }
  }

  #schedule(cause: ScheduledLoad["cause"], milliseconds: number): Promise<void> {
    this.#unschedule()?.settle();
    const { promise: ended, resolve: settle } = deferred<void>();
    const cancel = this.#options.schedule(() => void this.#start(), milliseconds);
    this.#scheduled = { cause, at: this.#options.now() + milliseconds, cancel, ended, settle };
    return ended;
  }

  #unschedule(): ScheduledLoad | null {
    const scheduled = this.#scheduled;
    this.#scheduled = null;
    scheduled?.cancel();
    return scheduled;
  }
}
