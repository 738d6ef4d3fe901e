/** Cancels the running statement of a connection. @module */
import type { Clock } from "../../base/lib/clock.ts";

/** Pauses after each cancel request. After the last pause, the server is considered silent. */
const pausesMs = [100, 900, 4000];

interface CancelOptions {
  /** Sends one cancel request. */
  readonly send: () => void;
  /** Called when the statement still runs after the last pause, 5 s after the first request. */
  readonly onSilent: () => void;
  readonly clock: Pick<Clock, "schedule">;
}

/** Repeats a cancel request, because PostgreSQL drops one that arrives before its statement. */
export class CancelRequests {
  readonly #options: CancelOptions;
  #cancelTimer: () => void = () => {};

  constructor(options: CancelOptions) {
    this.#options = options;
  }

  start(): void {
    this.stop();
    this.#repeat(0);
  }

  stop(): void {
    this.#cancelTimer();
  }

  #repeat(count: number): void {
    const { send, onSilent, clock } = this.#options;
    send();
    const pauseMs = pausesMs[count];
    if (pauseMs === undefined) return onSilent();
    this.#cancelTimer = clock.schedule(() => this.#repeat(count + 1), pauseMs);
  }
}
