/** Monitors the primary: its WAL position, its timeline, and its identifier. @module */
import type { Clock } from "../../base/lib/clock.ts";
import type { Statement, WalPosition } from "../transaction.ts";
import { positionStatement, readPosition } from "../wal_position.ts";
import { askIdentifier, maxAnswerMs, monitor, type ServerProbe } from "./monitor.ts";

export class PrimaryMonitor {
  readonly samples: LagRing;
  readonly #barrier: CommitBarrier;
  #stop: () => void = () => {};
  #timeline: number | null = null;
  #timelineChanges = 0;
  #systemIdentifier: string | null = null;
  #hasAnswered = false;

  constructor(
    private readonly options: {
      readonly probe: ServerProbe;
      readonly clock: Clock;
      readonly maxLagMs: number;
      /** Called when a sample was taken. */
      readonly onSample: () => void;
    },
  ) {
    this.samples = new LagRing(options.maxLagMs);
    this.#barrier = new CommitBarrier(options.probe, options.clock);
  }

  /** Null while the timeline is unknown. */
  get timeline(): number | null {
    return this.#timeline;
  }

  /** Whether the primary has had one timeline since the monitor was started. */
  get hasFirstTimeline(): boolean {
    return this.#timelineChanges === 0;
  }

  get systemIdentifier(): string | null {
    return this.#systemIdentifier;
  }

  start(): void {
    this.#stop = monitor({
      ask: () => this.#ask(),
      answered: (answer) => this.#answered(answer),
      failed: () => {},
    }, this.options.clock);
  }

  async close(): Promise<void> {
    this.#stop();
    await this.options.probe.close();
  }

  /** Returns the current position; null if the server does not report it. Rejects if it is unreachable. */
  async position(): Promise<WalPosition | null> {
    return readPosition(await this.options.probe.ask(positionStatement));
  }

  /** Resolves when the primary shows all commits that a standby may show; at once if the primary
   * does not answer. */
  async showsCommits(): Promise<void> {
    await this.#barrier.pass().catch(() => {});
  }

  recordTimeline(timeline: number): void {
    if (this.#timeline !== null && timeline <= this.#timeline) return;
    if (this.#timeline !== null) this.#timelineChanges++;
    this.#timeline = timeline;
    this.samples.clear();
  }

  async #ask(): Promise<WalPosition | null> {
    const position = await this.position();
    if (!this.#hasAnswered) this.#systemIdentifier = await askIdentifier(this.options.probe);
    return position;
  }

  #answered(position: WalPosition | null): void {
    this.#hasAnswered = true;
    // A server in recovery is not the primary. It has no timeline, so its position is ignored.
    if (position !== null && position.timeline !== null) {
      this.recordTimeline(position.timeline);
      if (position.timeline === this.#timeline) {
        this.samples.add({ time: this.options.clock.now(), lsn: position.lsn });
      }
    }
    this.options.onSample();
  }
}

const periodMs = 2;
/** Maximum time that the barrier waits for a transaction. A commit takes one round trip, but
 * clients may hold transactions open. */
const maxCommitMs = 100;

/** Reads the identifiers of running transactions that have written: `741,745`. */
const runningStatement: Statement = {
  text: "select pg_catalog.array_to_string(array(" +
    "select pg_catalog.pg_snapshot_xip(pg_catalog.pg_current_snapshot())), ',')",
  params: [],
  use: "rows",
};

/** Waits for transactions whose commit may be in the WAL and not yet visible. */
export class CommitBarrier {
  /** Time at which each running transaction was first seen. */
  #running: ReadonlyMap<string, number> = new Map();
  #current: Promise<unknown> = Promise.resolve();
  /** The next query, which all callers during the current one share. */
  #next: Promise<void> | null = null;

  constructor(private readonly probe: ServerProbe, private readonly clock: Clock) {}

  /** Resolves when the transactions that run now have ended. Does not wait for long ones. */
  async pass(): Promise<void> {
    await this.#ask();
    let pending = [...this.#running.keys()].filter((id) => this.#mayBeCommit(id));
    while (pending.length > 0) {
      await new Promise<void>((resolve) => this.clock.scheduleAwaited(resolve, periodMs));
      await this.#ask();
      pending = pending.filter((id) => this.#mayBeCommit(id));
    }
  }

  #mayBeCommit(id: string): boolean {
    const seenAt = this.#running.get(id);
    return seenAt !== undefined && this.clock.now() - seenAt < maxCommitMs;
  }

  /** Starts a query of the running transactions. */
  #ask(): Promise<void> {
    this.#next ??= this.#current.then(() => {
      this.#next = null;
      const asked = this.probe.ask(runningStatement).then(([ids]) => this.#record(ids ?? ""));
      this.#current = asked.catch(() => {});
      return asked;
    });
    return this.#next;
  }

  #record(ids: string): void {
    const now = this.clock.now();
    const running = ids === "" ? [] : ids.split(",");
    this.#running = new Map(running.map((id) => [id, this.#running.get(id) ?? now]));
  }
}

interface PositionSample {
  /** Milliseconds of the monitors' clock. */
  readonly time: number;
  readonly lsn: bigint;
}

/** Maximum number of samples. For a long span, they are further apart. */
const maxSamples = 1000;

/** Samples of the last `spanMs` milliseconds, oldest first. */
export class LagRing {
  #samples: PositionSample[] = [];
  #newest: PositionSample | null = null;

  constructor(private spanMs: number) {}

  /** Sets how far back the samples reach. */
  configure(spanMs: number): void {
    this.spanMs = spanMs;
  }

  add(sample: PositionSample): void {
    if (this.#newest !== null && sample.lsn < this.#newest.lsn) return;
    this.#newest = sample;
    const last = this.#samples.at(-1);
    if (last !== undefined && sample.time - last.time < this.spanMs / maxSamples) return;
    this.#samples.push(sample);
    // One sample before the span is kept: it shows that a standby at its position lags too far.
    const outdated = this.#samples.findIndex(({ time }) => time > sample.time - this.spanMs) - 1;
    if (outdated > 0) this.#samples.splice(0, outdated);
  }

  clear(): void {
    this.#samples = [];
    this.#newest = null;
  }

  /** Returns the last time at which the primary was at or before a position; -Infinity if the
   * position precedes all samples. */
  freshAt(lsn: bigint, now: number): number {
    const newest = this.#newest;
    // Until the next answer is overdue, the newest sample is treated as the current position.
    const isNewest = newest !== null && lsn >= newest.lsn && now - newest.time <= maxAnswerMs;
    return isNewest ? now : this.#sampledAt(lsn);
  }

  /** Returns whether a standby that has replayed up to a position has all that the primary had at a time. */
  covers(lsn: bigint, time: number): boolean {
    return this.#sampledAt(lsn) >= time;
  }

  /** Returns the time of the latest sample up to a position, or -Infinity. */
  #sampledAt(lsn: bigint): number {
    if (this.#newest === null) return -Infinity;
    if (lsn >= this.#newest.lsn) return this.#newest.time;
    return this.#samples.findLast((sample) => sample.lsn <= lsn)?.time ?? -Infinity;
  }
}
