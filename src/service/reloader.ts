/**
 * When a thing that can fail is loaded again: requests for it are collapsed, failures are retried
 * with growing pauses.
 *
 * @module
 */
import { nextPause, type Schedule } from "../lib/timers.ts";

/** How a {@linkcode Reloader} works. */
export interface ReloaderOptions {
  /** Loads; a rejection is a failure. */
  readonly load: () => Promise<void>;
  /** Whether a failure is followed by another attempt. */
  readonly isRetried: (error: unknown) => boolean;
  /** Told before a pause, in seconds. */
  readonly onRetry: (seconds: number) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Loads a thing when asked. */
export interface Loading {
  /** Whether the last attempt failed. */
  readonly failing: boolean;
  /** Whole seconds, at least 1, until the next attempt; null when none is planned. */
  secondsLeft(): number | null;
  /** Asks for a load; resolves when one that began after the call has ended, well or not. */
  request(): Promise<void>;
  /** Asks for a load unless one is under way. */
  recover(): void;
  /** Ends everything that is planned. */
  stop(): void;
}

/**
 * Loads for whoever asks, once, and tries nothing again: for runtimes in which a timer or a socket
 * ends with the request that it began in.
 */
export function unsharedLoading(load: () => Promise<void>): Loading {
  return {
    failing: false,
    secondsLeft: () => null,
    request: () => load().catch(() => {}),
    recover: () => {},
    stop: () => {},
  };
}

/** Milliseconds after a load in which requests for another one are collapsed into one. */
const collapsedAfter = 100;

/** A load that will begin later. */
interface Planned {
  readonly cause: "request" | "retry";
  readonly at: number;
  readonly cancel: () => void;
  /** Settles with the end of that load. */
  readonly ended: Promise<void>;
  readonly settle: (end: void | Promise<void>) => void;
}

/**
 * Runs a load when asked: never two at once, and one more, a little later, for whatever was asked
 * during a load or soon after it.
 */
export class Reloader implements Loading {
  readonly #options: ReloaderOptions;
  #running: Promise<void> | null = null;
  #planned: Planned | null = null;
  #again = false;
  #pause = 1;
  #endedAt = -Infinity;
  #failing = false;
  #stopped = false;

  constructor(options: ReloaderOptions) {
    this.#options = options;
  }

  get failing(): boolean {
    return this.#failing;
  }

  secondsLeft(): number | null {
    if (this.#planned?.cause !== "retry") return null;
    return Math.max(1, Math.ceil((this.#planned.at - this.#options.now()) / 1000));
  }

  /**
   * Asks for a load. Resolves when one that began after the call has ended, well or not; failures are
   * retried behind the scenes.
   */
  request(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    if (this.#running !== null) {
      this.#again = true;
      return this.#running.then(() => this.#planned?.ended);
    }
    if (this.#planned?.cause === "request") return this.#planned.ended;
    const wait = this.#endedAt + collapsedAfter - this.#options.now();
    return wait > 0 ? this.#plan("request", wait) : this.#start();
  }

  /** Asks for a load unless one runs or is planned. */
  recover(): void {
    if (this.#running === null && this.#planned === null) this.request();
  }

  stop(): void {
    this.#stopped = true;
    this.#forget()?.settle();
  }

  /** Begins now. Who waits for a load that was planned, waits for this one. */
  #start(): Promise<void> {
    const planned = this.#forget();
    this.#again = false;
    const running = this.#attempt().finally(() => {
      this.#running = null;
      this.#endedAt = this.#options.now();
      if (this.#again && !this.#stopped) this.#plan("request", collapsedAfter);
    });
    this.#running = running;
    planned?.settle(running);
    return running;
  }

  async #attempt(): Promise<void> {
    try {
      await this.#options.load();
      this.#pause = 1;
      this.#failing = false;
    } catch (error) {
      this.#failing = true;
      if (this.#stopped || !this.#options.isRetried(error) || this.#again) return;
      const seconds = this.#pause;
      this.#pause = nextPause(seconds);
      this.#options.onRetry(seconds);
      this.#plan("retry", seconds * 1000);
    }
  }

  #plan(cause: Planned["cause"], milliseconds: number): Promise<void> {
    this.#forget()?.settle();
    let settle!: Planned["settle"];
    const ended = new Promise<void>((resolve) => settle = resolve);
    const cancel = this.#options.schedule(() => void this.#start(), milliseconds);
    this.#planned = { cause, at: this.#options.now() + milliseconds, cancel, ended, settle };
    return ended;
  }

  #forget(): Planned | null {
    const planned = this.#planned;
    this.#planned = null;
    planned?.cancel();
    return planned;
  }
}
