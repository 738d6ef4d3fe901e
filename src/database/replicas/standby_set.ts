/** The standbys of a primary, and the choice among them. @module */
import type { Clock } from "../../lib/clock.ts";
import type { ReplicaSettings, StandbyCounts, StandbyEvent } from "../database.ts";
import type { ServerProbe } from "./monitor.ts";
import { PrimaryMonitor } from "./primary_monitor.ts";
import { Standby, type StandbyNeeds, type StandbyServer } from "./standby.ts";

export interface StandbySetOptions {
  readonly primaryProbe: ServerProbe;
  readonly servers: readonly StandbyServer[];
  readonly settings: ReplicaSettings;
  readonly clock: Clock;
  /** Returns numbers from 0 to less than 1. */
  readonly random: () => number;
}

/** Observes the servers and chooses among the standbys. */
export class StandbySet {
  readonly primary: PrimaryMonitor;
  readonly standbys: readonly Standby[];
  settings: ReplicaSettings;
  onEvent: (event: StandbyEvent) => void = () => {};
  readonly #random: () => number;

  constructor({ primaryProbe, servers, settings, clock, random }: StandbySetOptions) {
    this.settings = settings;
    this.#random = random;
    this.primary = new PrimaryMonitor({
      probe: primaryProbe,
      clock,
      maxLagMs: settings.maxLagMs,
      onSample: () => {
        for (const standby of this.standbys) standby.reassess();
      },
    });
    this.standbys = servers.map((server) =>
      new Standby({
        server,
        primary: this.primary,
        clock,
        onEvent: (event) => this.onEvent(event),
        maxLagMs: () => this.settings.maxLagMs,
      })
    );
  }

  start(): void {
    this.primary.start();
    for (const standby of this.standbys) standby.start();
  }

  configure(settings: ReplicaSettings): void {
    this.settings = settings;
    this.primary.samples.configure(settings.maxLagMs);
  }

  async close(): Promise<void> {
    await Promise.all([this.primary, ...this.standbys].map((server) => server.close()));
  }

  get hasServing(): boolean {
    return this.standbys.some(({ isServing }) => isServing);
  }

  counts(): readonly StandbyCounts[] {
    return this.standbys.map(({ server: { place }, isServing, lagMs, inFlight, reads }) => ({
      place,
      isServing,
      lagSeconds: lagMs === null ? null : lagMs / 1000,
      inFlight,
      reads,
    }));
  }

  /** Returns the standby with the fewest reads in progress of those that may execute a read; null without one. */
  choose(needs: StandbyNeeds): Standby | null {
    const fit = this.standbys.filter((standby) => standby.isFitFor(needs));
    const fewest = Math.min(...fit.map(({ inFlight }) => inFlight));
    const idlest = fit.filter(({ inFlight }) => inFlight === fewest);
    return idlest[Math.floor(this.#random() * idlest.length)] ?? null;
  }
}
