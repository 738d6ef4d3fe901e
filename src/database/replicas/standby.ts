/** The standbys of a primary: health, replay positions, and the choice of one for a read. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { isError } from "../../base/errors/service_error.ts";
import type { Clock } from "../../base/lib/clock.ts";
import { deferred } from "../../base/lib/deferred.ts";
import type { PooledDatabase, ReplicaSettings, StandbyCounts, StandbyEvent } from "../database.ts";
import { failureReason } from "../failure.ts";
import { askState, monitor, type ServerProbe, type StandbyState } from "./monitor.ts";
import { PrimaryMonitor } from "./primary_monitor.ts";
import type { Bookmark } from "../wal_position.ts";

interface StandbyServer {
  /** `localhost:5432` */
  readonly place: string;
  readonly database: PooledDatabase;
  readonly probe: ServerProbe;
}

interface StandbyNeeds {
  /** Position that the standby must have replayed, or null. */
  readonly position: Bookmark | null;
  /** When the schema cache was loaded, by the monitors' clock. */
  readonly schemaLoadedAt: number;
}

interface StandbyOptions {
  readonly primary: PrimaryMonitor;
  readonly clock: Clock;
  readonly onEvent: (event: StandbyEvent) => void;
  readonly maxLagMs: () => number;
}

/** Consecutive failures that exclude a standby, and consecutive answers that include it again. */
const [maxFailures, minAnswers] = [2, 2];

export class Standby {
  /** Number of reads in progress, and number of reads that have ended. */
  inFlight = 0;
  reads = 0;
  #stop: () => void = () => {};
  /** `new`: no answer has arrived. The first answer includes the standby. */
  #health: "new" | "healthy" | "excluded" = "new";
  #failures = 0;
  #answers = 0;
  #reason = "";
  /** Replay position; null before the first answer. */
  #replayed: bigint | null = null;
  #observedAt = -Infinity;
  /** The standby has the state that the primary had at this time; see {@linkcode LagRing.freshAt}. */
  #freshAt = -Infinity;
  #timeline: number | null = null;
  /** Identifier of the cluster. Read after each failure: another server may have the address. */
  #systemIdentifier: string | null = null;
  /** Whether the identifier was compared with the primary's. */
  #isIdentified = false;
  /** Whether the standby executes reads, as last reported; null before the first report. */
  #isServing: boolean | null = null;
  /** Functions that reject the reads that run on the standby. */
  readonly #running = new Set<(error: unknown) => void>();

  constructor(readonly server: StandbyServer, private readonly options: StandbyOptions) {}

  start(): void {
    this.#stop = monitor({
      ask: () => this.#ask(),
      answered: (state) => this.#answered(state),
      failed: (error) => this.#failed(error),
    }, this.options.clock);
  }

  async close(): Promise<void> {
    this.#stop();
    await Promise.all([this.server.probe.close(), this.server.database.close()]);
  }

  /** Milliseconds that the standby lagged at its last answer; null if that is unknown. */
  get lagMs(): number | null {
    if (this.#health !== "healthy" || this.#freshAt === -Infinity) return null;
    return Math.max(0, this.#observedAt - this.#freshAt);
  }

  get isServing(): boolean {
    return this.#isServing ?? false;
  }

  /** Whether the standby executes reads: it is healthy, and its lag is within the limit. */
  get isFit(): boolean {
    const { lagMs } = this;
    return lagMs !== null && lagMs <= this.options.maxLagMs();
  }

  isFitFor({ position, schemaLoadedAt }: StandbyNeeds): boolean {
    if (!this.isFit) return false;
    const replayed = this.#replayed!;
    if (position !== null && (this.timeline !== position.timeline || replayed < position.lsn)) {
      return false;
    }
    return this.options.primary.samples.covers(replayed, schemaLoadedAt);
  }

  /** Null if unknown. A server that reports none is assumed to have the primary's first one. */
  get timeline(): number | null {
    const { primary } = this.options;
    return this.#timeline ?? (primary.hasFirstTimeline ? primary.timeline : null);
  }

  recordReplayed(lsn: bigint): void {
    if (this.#replayed !== null && lsn > this.#replayed) this.#recordPosition(lsn);
  }

  recordPromotion(): void {
    this.#exclude("it is not in recovery");
  }

  /** Settles as `result` does, or rejects if the standby is excluded first. */
  async run<Result>(result: Promise<Result>, discard: (late: Result) => void): Promise<Result> {
    const excluded = deferred<never>();
    this.#running.add(excluded.reject);
    try {
      return await Promise.race([result, excluded.promise]);
    } catch (error) {
      result.then(discard, () => {});
      throw error;
    } finally {
      this.#running.delete(excluded.reject);
    }
  }

  #ask(): Promise<StandbyState> {
    const { timeline } = this.options.primary;
    return askState(this.server.probe, {
      wantsTimeline: this.#timeline === null || this.#timeline !== timeline,
      wantsIdentifier: this.#systemIdentifier === null,
    });
  }

  #answered(state: StandbyState): void {
    this.#timeline = state.timeline ?? this.#timeline;
    this.#systemIdentifier ??= state.systemIdentifier;
    if (this.#isForeign()) {
      return this.#exclude("it has another system identifier than the primary");
    }
    if (!state.isInRecovery) return this.recordPromotion();
    this.#recordPosition(state.replayed);
    this.#failures = 0;
    this.#answers++;
    if (this.#health === "new" || this.#answers >= minAnswers) this.#health = "healthy";
    this.#report();
  }

  #failed(error: unknown): void {
    this.#systemIdentifier = null;
    if (isError(error, errors.requestTimeout)) return this.#exclude("it does not answer");
    this.#answers = 0;
    if (++this.#failures >= maxFailures) this.#exclude(failureReason(error));
  }

  #exclude(reason: string): void {
    this.#health = "excluded";
    this.#answers = 0;
    this.#reason = reason;
    const error = errors.connectionLost("the standby is excluded");
    for (const reject of this.#running) reject(error);
    this.#report();
  }

  #isForeign(): boolean {
    const { primary: { systemIdentifier }, onEvent } = this.options;
    if (systemIdentifier === null || this.#systemIdentifier === null) return false;
    const isForeign = this.#systemIdentifier !== systemIdentifier;
    if (isForeign && !this.#isIdentified) {
      onEvent({ kind: "standby-foreign", place: this.server.place });
    }
    this.#isIdentified = true;
    return isForeign;
  }

  #recordPosition(replayed: bigint): void {
    this.#replayed = replayed;
    this.#observedAt = this.options.clock.now();
    this.#freshAt = this.options.primary.samples.freshAt(replayed, this.#observedAt);
  }

  /** Computes the lag again after a sample of the primary, which may show the lag of an earlier answer. */
  reassess(): void {
    if (this.#replayed === null || this.#freshAt !== -Infinity) return;
    this.#freshAt = this.options.primary.samples.freshAt(this.#replayed, this.#observedAt);
    this.#report();
  }

  /** Reports whether the standby executes reads, if this has changed. */
  #report(): void {
    const isUnknown = this.#health === "healthy" && this.lagMs === null;
    // Nothing is reported until the lag is known, which needs samples of the primary.
    if (this.#health === "new" || (isUnknown && this.#isServing === null)) return;
    const isServing = this.isFit;
    if (isServing === this.#isServing) return;
    this.#isServing = isServing;
    const { options: { onEvent }, server: { place, database } } = this;
    if (!isServing) {
      const reason = this.#health === "excluded"
        ? this.#reason
        : isUnknown
        ? "it is not known how far it lags behind"
        : "it lags behind by more than db-replica-max-lag";
      return onEvent({ kind: "standby-excluded", place, reason });
    }
    onEvent({ kind: "standby-included", place });
    // By this query, the pool opens a connection, and finds out whether it may prepare statements.
    database.version().catch(() => {});
  }
}

export interface StandbySetOptions {
  readonly primaryProbe: ServerProbe;
  readonly servers: readonly StandbyServer[];
  readonly settings: ReplicaSettings;
  readonly clock: Clock;
  /** Returns numbers from 0 to less than 1. */
  readonly random: () => number;
}

/** Monitors the servers, and chooses the standby for a read. */
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
      new Standby(server, {
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

  /** Returns the standby with the fewest reads of all that may execute a read; null if none may. */
  choose(needs: StandbyNeeds): Standby | null {
    const fit = this.standbys.filter((standby) => standby.isFitFor(needs));
    const fewest = Math.min(...fit.map(({ inFlight }) => inFlight));
    const idlest = fit.filter(({ inFlight }) => inFlight === fewest);
    return idlest[Math.floor(this.#random() * idlest.length)] ?? null;
  }
}
