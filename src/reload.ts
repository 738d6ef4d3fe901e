/**
 * When a thing that can fail is loaded again: requests for it are collapsed, failures are retried
 * with growing pauses.
 *
 * @module
 */

/** How a {@linkcode Reloader} works. */
export interface ReloaderOptions {
  /** Loads; a rejection is a failure. */
  readonly load: () => Promise<void>;
  /** Told before a pause, in seconds. */
  readonly onRetry: (seconds: number) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Loads a thing when asked. */
export interface Loading {
  /** Whether attempts fail at present. */
  readonly failing: boolean;
  /** Whole seconds until the next attempt; at least 1. */
  secondsLeft(): number;
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
    secondsLeft: () => 1,
    request: () => load().catch(() => {}),
    recover: () => {},
    stop: () => {},
  };
}

/** Seconds between attempts: doubling from 1 to 32. */
const longestPause = 32;

/** Runs a load when asked: never two at once, one more for whatever was asked meanwhile. */
export class Reloader implements Loading {
  readonly #options: ReloaderOptions;
  #running: Promise<void> | null = null;
  #again = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #pause = 1;
  #nextAttempt = 0;
  #stopped = false;

  constructor(options: ReloaderOptions) {
    this.#options = options;
  }

  /** Whether attempts fail at present. */
  get failing(): boolean {
    return this.#nextAttempt > 0;
  }

  /** Whole seconds until the next attempt; at least 1 while there is one to wait for. */
  secondsLeft(): number {
    if (this.#timer === null) return 1;
    return Math.max(1, Math.ceil((this.#nextAttempt - this.#options.now()) / 1000));
  }

  /**
   * Asks for a load. Resolves when one that began after the call has ended, well or not; failures are
   * retried behind the scenes.
   */
  request(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#clearTimer();
    if (this.#running === null) return this.#start();
    this.#again = true;
    return this.#running.then(() => this.#running ?? undefined);
  }

  /** Asks for a load unless one runs or a retry is due. */
  recover(): void {
    if (this.#running === null && this.#timer === null) this.request();
  }

  /** Ends all retries. */
  stop(): void {
    this.#stopped = true;
    this.#clearTimer();
  }

  #start(): Promise<void> {
    this.#again = false;
    this.#running = this.#attempt().finally(() => {
      this.#running = null;
      if (this.#again && !this.#stopped) this.#start();
    });
    return this.#running;
  }

  async #attempt(): Promise<void> {
    try {
      await this.#options.load();
      this.#pause = 1;
      this.#nextAttempt = 0;
    } catch {
      if (!this.#again && !this.#stopped) this.#retryLater();
    }
  }

  #retryLater(): void {
    const seconds = this.#pause;
    this.#pause = Math.min(seconds * 2, longestPause);
    this.#nextAttempt = this.#options.now() + seconds * 1000;
    this.#options.onRetry(seconds);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.request();
    }, seconds * 1000);
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
