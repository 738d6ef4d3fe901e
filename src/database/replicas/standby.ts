/** One standby: its pool, its health, and what it has replayed. @module */
import { errors } from "../../errors/catalogue.ts";
import { ServiceError } from "../../errors/service_error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Database } from "../database.ts";
import { maxAnswerMs, Monitor } from "./monitor.ts";
import type { PrimaryMonitor } from "./primary_monitor.ts";
import type { ServerProbe } from "./probe_connection.ts";
import type { Bookmark } from "../wal_position.ts";
import { askState, type HealthReport, StandbyHealth, type StandbyState } from "./server_state.ts";

const healthPeriodMs = 1000;
/** Period while a read waits for what the standby replays. */
const waitPeriodMs = 2;

export interface StandbyServer {
  /** `localhost:5432` */
  readonly place: string;
  readonly database: Database;
  readonly probe: ServerProbe;
}

export interface StandbyNeeds {
  /** Position that the standby must have replayed; null for no such condition. */
  readonly position: Bookmark | null;
  /** Milliseconds that the standby may lag behind now. */
  readonly maxLagMs: number;
  /** When the schema cache was loaded, by the monitors' clock. */
  readonly schemaLoadedAt: number;
}

interface StandbyEvents {
  /** An answer has come: reads that wait may continue. */
  observed(): void;
  /** The standby executes reads from now on, or no longer; `reason` is null if it does. */
  changed(standby: Standby, reason: string | null): void;
  /** The first answer shows that the server belongs to another cluster. */
  foreign(standby: Standby): void;
}

interface StandbyOptions {
  readonly server: StandbyServer;
  readonly primary: PrimaryMonitor;
  readonly clock: Clock;
  readonly events: StandbyEvents;
  readonly isAwaited: () => boolean;
  readonly maxLagMs: () => number;
}

export class Standby {
  readonly place: string;
  readonly database: Database;
  /** Reads in progress, and those that ended. */
  inFlight = 0;
  reads = 0;
  readonly #options: StandbyOptions;
  readonly #health = new StandbyHealth();
  readonly #monitor: Monitor<StandbyState>;
  /** End of the log that it has replayed; null before its first answer. */
  #replayed: bigint | null = null;
  #observedAt = -Infinity;
  /** The time whose state of the primary it has; see {@linkcode LagRing.freshAt}. */
  #freshAt = -Infinity;
  #timeline: number | null = null;
  #timelineAskedAt = -Infinity;
  /** Read again after each failure: another server may have taken over the address. */
  #systemIdentifier: string | null = null;
  /** Whether it was compared with that of the primary. */
  #isIdentified = false;
  /** Whether it executes reads, as reported last; null before the first report. */
  #isServing: boolean | null = null;
  /** Rejects the reads that run on it. */
  readonly #running = new Set<(error: unknown) => void>();

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.place = options.server.place;
    this.database = options.server.database;
    const { probe } = options.server;
    this.#monitor = new Monitor({
      ask: () => this.#ask(),
      answered: (state) => this.#answered(state),
      failed: (error) => this.#failed({ kind: "failed", reason: reasonOf(error) }),
      timedOut: () => {
        probe.reset();
        this.#failed({ kind: "excluded", reason: "it does not answer" });
      },
      period: () => this.isHealthy && options.isAwaited() ? waitPeriodMs : healthPeriodMs,
    }, options.clock);
  }

  start(): void {
    this.#monitor.start();
  }

  hurry(): void {
    if (this.isHealthy) this.#monitor.hurry();
  }

  async close(): Promise<void> {
    this.#monitor.stop();
    this.#options.server.probe.close();
    await this.database.close();
  }

  /** Milliseconds that the standby lagged at its last answer; null if that is unknown. */
  get lagMs(): number | null {
    const isKnown = this.isHealthy && Number.isFinite(this.#freshAt);
    return isKnown ? this.#observedAt - this.#freshAt : null;
  }

  get isServing(): boolean {
    return this.#isServing ?? false;
  }

  isFitFor(needs: StandbyNeeds): boolean {
    if (!this.mayBecomeFitFor(needs) || this.#replayed === null) return false;
    if (needs.position !== null && this.#replayed < needs.position.lsn) return false;
    return this.#hasStateOf(needs.schemaLoadedAt);
  }

  /** Whether it may execute a read when it has replayed more. */
  mayBecomeFitFor({ position, maxLagMs }: StandbyNeeds): boolean {
    if (!this.isHealthy || !this.#isWithin(maxLagMs)) return false;
    return position === null || this.timeline === position.timeline;
  }

  #hasStateOf(time: number): boolean {
    // A search of the samples is necessary only in the seconds behind the time.
    return this.#freshAt - maxAnswerMs >= time ||
      this.#options.primary.samples.covers(this.#replayed!, time);
  }

  /** Null if unknown. Without a way to tell, the primary's until that changes. */
  get timeline(): number | null {
    const { primary } = this.#options;
    if (this.#timeline !== null || !primary.hasFirstTimeline) return this.#timeline;
    return this.#health.isKnown ? primary.timeline : null;
  }

  recordReplayed(lsn: bigint): void {
    if (this.#replayed !== null && lsn > this.#replayed) this.#recordPosition(lsn);
  }

  recordPromotion(): void {
    this.#report(promoted);
  }

  get probe(): ServerProbe {
    return this.#options.server.probe;
  }

  /** Settles with a result, or rejects when the standby is excluded before. */
  run<Result>(
    result: Promise<Result>,
    discard: (late: Result) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isAbandoned = false;
      const abandon = (error: unknown) => {
        isAbandoned = true;
        reject(error);
      };
      this.#running.add(abandon);
      result.then((value) => {
        this.#running.delete(abandon);
        if (isAbandoned) discard(value);
        else resolve(value);
      }, (error) => {
        this.#running.delete(abandon);
        reject(error);
      });
    });
  }

  get isHealthy(): boolean {
    return this.#health.isHealthy;
  }

  #isWithin(maxLagMs: number): boolean {
    return this.#observedAt - this.#freshAt <= maxLagMs;
  }

  #ask(): Promise<StandbyState> {
    const { primary, server, clock } = this.#options;
    const isTimelineOld = this.#timeline === null || this.#timeline !== primary.timeline;
    const wantsTimeline = isTimelineOld && clock.now() - this.#timelineAskedAt >= healthPeriodMs;
    if (wantsTimeline) this.#timelineAskedAt = clock.now();
    const wantsIdentifier = this.#systemIdentifier === null;
    return askState(server.probe, { wantsTimeline, wantsIdentifier });
  }

  #answered(state: StandbyState): void {
    this.#timeline = state.timeline ?? this.#timeline;
    this.#systemIdentifier ??= state.systemIdentifier;
    if (this.#isForeign()) return this.#report(foreign);
    if (!state.isInRecovery) return this.#report(promoted);
    this.#recordPosition(state.replayed);
    this.#report({ kind: "in recovery" });
  }

  #failed(report: HealthReport): void {
    this.#systemIdentifier = null;
    this.#report(report);
  }

  #isForeign(): boolean {
    const { primary: { systemIdentifier }, events } = this.#options;
    if (systemIdentifier === null || this.#systemIdentifier === null) return false;
    const isForeign = this.#systemIdentifier !== systemIdentifier;
    if (isForeign && !this.#isIdentified) events.foreign(this);
    this.#isIdentified = true;
    return isForeign;
  }

  /** Computes the lag again, as samples of the primary came after the standby's answer. */
  reassess(): void {
    if (this.#replayed === null || Number.isFinite(this.#freshAt)) return;
    this.#freshAt = this.#options.primary.samples.freshAt(this.#replayed, this.#observedAt);
    this.#reportServing();
  }

  #recordPosition(replayed: bigint): void {
    const { clock, primary } = this.#options;
    this.#replayed = replayed;
    this.#observedAt = clock.now();
    this.#freshAt = primary.samples.freshAt(replayed, this.#observedAt);
  }

  #report(report: HealthReport): void {
    this.#health.record(report);
    if (!this.isHealthy && report.kind !== "in recovery") this.#abandonReads();
    this.#reportServing();
    this.#options.events.observed();
  }

  #reportServing(): void {
    if (!this.#health.isKnown) return;
    const isWithin = this.#isWithin(this.#options.maxLagMs());
    const isServing = this.isHealthy && isWithin;
    // The lag is unknown until the first samples of the primary.
    if (isServing === this.#isServing || (this.isHealthy && this.#isLagUnknown)) return;
    this.#isServing = isServing;
    this.#options.events.changed(this, isServing ? null : this.#reason);
  }

  get #reason(): string {
    if (!this.isHealthy) return this.#health.reason;
    return Number.isFinite(this.#freshAt)
      ? "it lags behind by more than db-replica-max-lag"
      : "it is not known how far it lags behind";
  }

  get #isLagUnknown(): boolean {
    return this.#isServing === null && !Number.isFinite(this.#freshAt);
  }

  #abandonReads(): void {
    const error = errors.connectionLost("the standby is excluded");
    for (const abandon of [...this.#running]) abandon(error);
    this.#running.clear();
  }
}

const promoted: HealthReport = { kind: "excluded", reason: "it is not in recovery" };
const foreign: HealthReport = {
  kind: "excluded",
  reason: "it has another system identifier than the primary",
};

function reasonOf(error: unknown): string {
  if (error instanceof ServiceError) return String(error.fields.details ?? error.message);
  return error instanceof Error ? error.message : "it cannot be reached";
}
