/** The standbys of a primary, and reads that wait for one. @module */
import type { Clock } from "../../lib/clock.ts";
import type { ReplicaSettings, StandbyCounts, StandbyEvent } from "../database.ts";
import { maxAnswerMs } from "./monitor.ts";
import { PrimaryMonitor } from "./primary_monitor.ts";
import type { ServerProbe } from "./probe_connection.ts";
import { Standby, type StandbyNeeds, type StandbyServer } from "./standby.ts";

export interface StandbySetOptions {
  readonly primaryProbe: ServerProbe;
  readonly servers: readonly StandbyServer[];
  readonly settings: ReplicaSettings;
  readonly clock: Clock;
  /** Returns numbers from 0 to less than 1. */
  readonly random: () => number;
}

/** A read that waits until a standby has replayed what it needs. */
interface WaitingRead {
  readonly needs: StandbyNeeds;
  end(standby: Standby | null): void;
}

/** Observes the servers and chooses among the standbys. */
export class StandbySet {
  readonly primary: PrimaryMonitor;
  settings: ReplicaSettings;
  onEvent: (event: StandbyEvent) => void = () => {};
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #standbys: readonly Standby[];
  readonly #waiting = new Set<WaitingRead>();

  constructor({ primaryProbe, servers, settings, clock, random }: StandbySetOptions) {
    this.settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.primary = new PrimaryMonitor({
      probe: primaryProbe,
      clock,
      maxLagMs: settings.maxLagMs,
      events: { sampled: () => this.#sampled() },
    });
    this.#standbys = servers.map((server) => this.#standbyOf(server));
  }

  #standbyOf(server: StandbyServer): Standby {
    return new Standby({
      server,
      primary: this.primary,
      clock: this.#clock,
      isAwaited: () => this.#waiting.size > 0,
      maxLagMs: () => this.settings.maxLagMs,
      events: {
        observed: () => this.#serveWaiting(),
        changed: (standby, reason) => this.#changed(standby, reason),
        foreign: ({ place }) => this.onEvent({ kind: "standby-foreign", place }),
      },
    });
  }

  #changed({ place, database }: Standby, reason: string | null): void {
    if (reason !== null) return this.onEvent({ kind: "standby-excluded", place, reason });
    this.onEvent({ kind: "standby-included", place });
    // The pool finds out whether it may prepare statements, and opens a connection.
    database.version().catch(() => {});
  }

  get standbys(): readonly Standby[] {
    return this.#standbys;
  }

  start(): void {
    this.primary.start();
    for (const standby of this.#standbys) standby.start();
  }

  configure(settings: ReplicaSettings): void {
    this.settings = settings;
    this.primary.samples.configure(settings.maxLagMs);
  }

  async close(): Promise<void> {
    this.primary.stop();
    for (const read of [...this.#waiting]) read.end(null);
    await Promise.all(this.#standbys.map((standby) => standby.close()));
  }

  get hasServing(): boolean {
    return this.#standbys.some(({ isServing }) => isServing);
  }

  counts(): readonly StandbyCounts[] {
    return this.#standbys.map(({ place, isServing, lagMs, inFlight, reads }) => ({
      place,
      isServing,
      lagSeconds: lagMs === null ? null : lagMs / 1000,
      inFlight,
      reads,
    }));
  }

  /**
   * Returns the standby with the fewest reads in progress of those that may execute a read and have not refused
   * it; null without one.
   */
  choose(needs: StandbyNeeds, refusing: readonly Standby[] = []): Standby | null {
    const fit = this.#standbys.filter((standby) =>
      standby.isFitFor(needs) && !refusing.includes(standby)
    );
    const fewest = Math.min(...fit.map(({ inFlight }) => inFlight));
    const idlest = fit.filter(({ inFlight }) => inFlight === fewest);
    return idlest[Math.floor(this.#random() * idlest.length)] ?? null;
  }

  /** A standby that lags by more than the wait, and a time between samples, is not waited for. */
  mayWaitFor(needs: StandbyNeeds): boolean {
    const maxLagMs = this.settings.waitMs + maxAnswerMs;
    return this.#standbys.some((standby) =>
      standby.mayBecomeFitFor(needs) && (standby.lagMs ?? 0) <= maxLagMs
    );
  }

  /** Resolves with a standby as soon as one may execute the read; with null if none may in time. */
  waitFor(needs: StandbyNeeds): Promise<Standby | null> {
    return new Promise((resolve) => {
      const read: WaitingRead = {
        needs,
        end: (standby) => {
          cancelTimer();
          this.#waiting.delete(read);
          resolve(standby);
        },
      };
      const cancelTimer = this.#clock.scheduleAwaited(() => read.end(null), this.settings.waitMs);
      this.#waiting.add(read);
      if (!this.primary.samples.hasSampleSince(needs.schemaLoadedAt)) this.primary.hurry();
      for (const standby of this.#standbys) standby.hurry();
    });
  }

  #serveWaiting(): void {
    for (const read of [...this.#waiting]) {
      const standby = this.choose(read.needs);
      if (standby !== null) read.end(standby);
    }
  }

  /** The lag of standbys that answered before the primary can be computed now. */
  #sampled(): void {
    for (const standby of this.#standbys) standby.reassess();
    this.#serveWaiting();
  }
}
