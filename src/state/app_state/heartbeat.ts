/** Asks the database each second whether it answers. @module */
import { type Schedule, untilNextSecond } from "../../base/lib/timers.ts";
import type { Observation } from "../../base/observe/observation.ts";

interface HeartbeatOptions {
  /**
   * Sends a question over an open connection; null where none is free. Rejects if the connection is
   * lost, which the heartbeat ignores.
   */
  readonly ask: () => Promise<void> | null;
  /** Sends a question over any connection, or opens one. The heartbeat asks it while the database is silent. */
  readonly askAnew: () => Promise<unknown>;
  /** Called when the database falls silent: no open connection may be trusted. */
  readonly onSilent: () => void;
  /** Called when the database answers again. */
  readonly onAnswer: () => void;
  readonly observe: (event: Observation) => void;
  /** Milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** The longest wait for an answer. */
const maxSilenceMs = 1000;

/** Knows whether the database answers. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  /** When the first question without an answer was sent; null while the database answers. */
  #silentSince: number | null = null;
  #cancelTimer = () => {};
  #isStopped = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Whether a question had no answer within a second, and none has had one since. */
  get isSilent(): boolean {
    return this.#silentSince !== null;
  }

  start(): void {
    this.#pause();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  #pause(): void {
    if (this.#isStopped) return;
    const { schedule, now } = this.#options;
    this.#cancelTimer = schedule(() => this.#ask(), untilNextSecond(now()));
  }

  #ask(): void {
    const { ask, askAnew, now, schedule } = this.#options;
    const question = ask() ?? (this.isSilent ? askAnew() : null);
    if (question === null) return this.#pause();
    const askedAt = now();
    // If the thread was busy, the answer may have arrived already: it is read before the second
    // timer.
    this.#cancelTimer = schedule(() => {
      this.#cancelTimer = schedule(() => this.#recordSilence(askedAt), 0);
    }, maxSilenceMs);
    question.then(() => this.#recordAnswer(), () => {}).finally(() => {
      this.#cancelTimer();
      this.#pause();
    });
  }

  #recordSilence(since: number): void {
    if (this.isSilent) return;
    this.#silentSince = since;
    this.#options.observe({ kind: "database-silent" });
    this.#options.onSilent();
  }

  #recordAnswer(): void {
    if (this.#silentSince === null || this.#isStopped) return;
    const ms = this.#options.now() - this.#silentSince;
    this.#silentSince = null;
    this.#options.observe({ kind: "database-answers", ms });
    this.#options.onAnswer();
  }
}
