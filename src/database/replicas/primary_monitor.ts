/**
 * Follows the position and the timeline of the primary.
 *
 * @module
 */
import type { Clock } from "../../lib/clock.ts";
import { positionStatement, readPosition, type WalPosition } from "../wal_position.ts";
import { CommitBarrier } from "./commit_barrier.ts";
import { LagRing } from "./lag_ring.ts";
import { Monitor } from "./monitor.ts";
import type { ServerProbe } from "./probe_connection.ts";
import { askIdentifier, askIfPossible } from "./server_state.ts";

/** Four samples a second bound the error of the lag. */
const samplePeriodMs = 250;

/** Events of a {@linkcode PrimaryMonitor}. */
export interface PrimaryEvents {
  /** A sample was taken, or the primary has another timeline. */
  sampled(): void;
}

/** An answer of the primary. */
interface PrimaryAnswer {
  /** Null if the server cannot tell. */
  readonly position: WalPosition | null;
  readonly systemIdentifier: string | null;
}

/** Samples the position of the primary. */
export class PrimaryMonitor {
  readonly samples: LagRing;
  readonly #barrier: CommitBarrier;
  readonly #probe: ServerProbe;
  readonly #clock: Clock;
  readonly #events: PrimaryEvents;
  readonly #monitor: Monitor<PrimaryAnswer>;
  #timeline: number | null = null;
  #timelineChanges = 0;
  #systemIdentifier: string | null = null;
  #hasAnswered = false;
  #hasPositions = true;

  constructor(
    { probe, clock, maxLagMs, events }: {
      readonly probe: ServerProbe;
      readonly clock: Clock;
      readonly maxLagMs: number;
      readonly events: PrimaryEvents;
    },
  ) {
    this.samples = new LagRing(maxLagMs);
    this.#barrier = new CommitBarrier(probe, clock);
    this.#probe = probe;
    this.#clock = clock;
    this.#events = events;
    this.#monitor = new Monitor({
      ask: () => this.#ask(),
      answered: (answer) => this.#answered(answer),
      failed: () => {},
      timedOut: () => this.#probe.reset(),
      period: () => samplePeriodMs,
    }, clock);
  }

  /** Null while it is unknown. */
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

  /** Whether the primary can tell its position, as far as is known. */
  get hasPositions(): boolean {
    return this.#hasPositions;
  }

  start(): void {
    this.#monitor.start();
  }

  /** Samples the position at once. */
  hurry(): void {
    this.#monitor.hurry();
  }

  stop(): void {
    this.#monitor.stop();
    this.#barrier.stop();
    this.#probe.close();
  }

  /** Returns the current position; null if the server cannot tell. Rejects if it cannot be reached. */
  async position(): Promise<WalPosition | null> {
    return readPosition(await this.#probe.ask(positionStatement));
  }

  /**
   * Resolves when the primary shows the commits that standbys may show already; at once if it does not
   * answer.
   */
  async showsCommits(): Promise<void> {
    if (this.#hasPositions) await this.#barrier.pass().catch(() => {});
  }

  /** Records the timeline of a position that a transaction has read on the primary. */
  recordTimeline(timeline: number): void {
    if (this.#timeline !== null && timeline <= this.#timeline) return;
    if (this.#timeline !== null) this.#timelineChanges++;
    this.#timeline = timeline;
    this.samples.clear();
  }

  async #ask(): Promise<PrimaryAnswer> {
    const row = await askIfPossible(this.#probe, positionStatement);
    const systemIdentifier = this.#hasAnswered ? null : await askIdentifier(this.#probe);
    return { position: row === null ? null : readPosition(row), systemIdentifier };
  }

  #answered({ position, systemIdentifier }: PrimaryAnswer): void {
    this.#hasAnswered = true;
    this.#systemIdentifier ??= systemIdentifier;
    this.#hasPositions = position !== null;
    // A server in recovery, whose timeline is null, is not the primary.
    if (position !== null && position.timeline !== null) {
      this.recordTimeline(position.timeline);
      if (position.timeline === this.#timeline) {
        this.samples.add({ time: this.#clock.now(), lsn: position.lsn });
      }
    }
    this.#events.sampled();
  }
}
