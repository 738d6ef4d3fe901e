/** Checks each second whether the database answers. @module */
import { type Schedule, untilNextSecond } from "../../base/lib/timers.ts";
import { type Database, keepsConnections } from "../../database/database.ts";
import type { Observation } from "../../base/observe/observation.ts";

interface HeartbeatOptions {
  readonly database: Pick<Database, "embedded" | "pool" | "version">;
  /** Sends a query over the listening connection; null without such a connection. Default: null. */
  readonly askListener?: () => Promise<void> | null;
  /** Called when the database answers again. Default: nothing is called. */
  readonly onAnswer?: () => void;
  /** Receives reports of silence. Default: silence is not reported. */
  readonly observe?: (event: Observation) => void;
  /** Milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Maximum time to wait for an answer. */
const maxSilenceMs = 1000;

/** Knows whether the database answers. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  /** Time of the first unanswered query; null while the database answers. */
  #silentSince: number | null = null;
  #cancelTimer = () => {};
  #isStopped = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Whether a query had no answer within a second, and no later query was answered. */
  get isSilent(): boolean {
    return this.#silentSince !== null;
  }

  /** Starts the checks, unless no connection stays open, or the database is embedded. */
  start(): void {
    if (keepsConnections(this.#options.database)) this.#pause();
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
    const { askListener, database, now, schedule } = this.#options;
    const question = askListener?.() ?? database.pool?.ask() ??
      (this.isSilent ? database.version() : null);
    if (question === null) return this.#pause();
    const askedAt = now();
    // Two timers, because a busy thread may read an answer between the first and the second.
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
    this.#options.observe?.({ kind: "database-silent" });
    // The pool tests its connections, because all of them may be broken.
    this.#options.database.pool?.suspect();
  }

  #recordAnswer(): void {
    if (this.#silentSince === null || this.#isStopped) return;
    const ms = this.#options.now() - this.#silentSince;
    this.#silentSince = null;
    this.#options.observe?.({ kind: "database-answers", ms });
    this.#options.onAnswer?.();
  }
}
