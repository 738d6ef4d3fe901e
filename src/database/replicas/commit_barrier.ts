/**
 * Waits until the primary shows what a standby may have shown already.
 *
 * A commit is in the write-ahead log, and so on standbys, before the primary shows it. With synchronous
 * replication, the primary waits for the confirmation of standbys in between (PostgreSQL documentation,
 * "Synchronous Replication"). The transaction counts as running until then.
 *
 * @module
 */
import type { Clock } from "../../lib/clock.ts";
import type { Statement } from "../batch.ts";
import type { ServerProbe } from "./probe_connection.ts";

/** Time between questions. */
const periodMs = 2;
/**
 * A transaction that has run for this time is not waited for: its client works on it, as a confirmation
 * takes a round trip.
 */
const maxCommitMs = 100;

/** Reads the running transactions that have a number: `741,745`. */
const runningStatement: Statement = {
  text: "select pg_catalog.array_to_string(array(" +
    "select pg_catalog.pg_snapshot_xip(pg_catalog.pg_current_snapshot())), ',')",
  params: [],
  use: "rows",
};

/** Waits for transactions that may have written their commit. */
export class CommitBarrier {
  readonly #probe: ServerProbe;
  readonly #clock: Clock;
  /** Running transactions with the time at which they were first seen. */
  #running: ReadonlyMap<string, number> = new Map();
  #isStopped = false;
  #current: Promise<unknown> = Promise.resolve();
  /** The question that follows the current one, which callers share. */
  #next: Promise<void> | null = null;

  constructor(probe: ServerProbe, clock: Clock) {
    this.#probe = probe;
    this.#clock = clock;
  }

  /**
   * Resolves when the transactions that run now have ended, but for long ones; at once after
   * {@linkcode stop}. Rejects if the primary does not answer.
   */
  async pass(): Promise<void> {
    if (this.#isStopped) return;
    await this.#ask();
    let pending = [...this.#running.keys()].filter((id) => this.#mayBeCommit(id));
    while (pending.length > 0) {
      await new Promise<void>((resolve) => this.#clock.scheduleAwaited(resolve, periodMs));
      if (this.#isStopped) return;
      await this.#ask();
      pending = pending.filter((id) => this.#mayBeCommit(id));
    }
  }

  /** Sends no more questions. */
  stop(): void {
    this.#isStopped = true;
  }

  #mayBeCommit(id: string): boolean {
    const seenAt = this.#running.get(id);
    return seenAt !== undefined && this.#clock.now() - seenAt < maxCommitMs;
  }

  /** Reads the running transactions, later than now. */
  #ask(): Promise<void> {
    this.#next ??= this.#current.then(() => {
      this.#next = null;
      const asked = this.#probe.ask(runningStatement).then(([ids]) => this.#record(ids ?? ""));
      this.#current = asked.catch(() => {});
      return asked;
    });
    return this.#next;
  }

  #record(ids: string): void {
    const now = this.#clock.now();
    const running = ids === "" ? [] : ids.split(",");
    this.#running = new Map(running.map((id) => [id, this.#running.get(id) ?? now]));
  }
}
