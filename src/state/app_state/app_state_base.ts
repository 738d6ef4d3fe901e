/** The part that `AppState` and `FollowerState` have in common. @module */
import { type Database, type DatabaseOptions, replicaSettings } from "../../database/database.ts";
import { isConnectionLost } from "../../database/failure.ts";
import type { Dialect } from "../../base/dialect.ts";
import type { SpanContext } from "../../base/http/trace_context.ts";
import { schedule } from "../../base/lib/timers.ts";
import { countedEvents } from "../../base/observe/counted_events.ts";
import { EventLoopDelay } from "../../base/observe/event_loop_delay.ts";
import { MetricRegistry } from "../../base/observe/metric_registry.ts";
import { isLogged, type Observation } from "../../base/observe/observation.ts";
import { RequestMetrics } from "../../base/observe/request_metrics.ts";
import type { TraceStage } from "../../base/observe/stopwatch.ts";
import { FailurePolicy } from "./failure_policy.ts";
import type { AppStateBaseOptions, SetSpanAttribute } from "./app_state_options.ts";
import { registerReplicaMetrics, registerServiceMetrics } from "./service_metrics.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Config } from "../config/options.ts";

/** State, connections and reports of a service. */
export abstract class AppStateBase {
  readonly database: Database;
  readonly dialect: Dialect;
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
  readonly traceStage: TraceStage | null;
  readonly setSpanAttribute: SetSpanAttribute | null;
  readonly activeSpan: (() => SpanContext | null) | null;
  /** Counters and gauges of the service's parts, which the admin server shows. */
  readonly metricRegistry: MetricRegistry;
  /** Null if requests are not counted. */
  readonly requestMetrics: RequestMetrics | null;
  readonly isTimed: () => boolean;
  readonly failurePolicy: FailurePolicy;
  readonly #ending = new AbortController();
  readonly #eventLoop = new EventLoopDelay(schedule, () => performance.now());
  #snapshot: Snapshot;

  protected constructor(
    options: AppStateBaseOptions,
    snapshot: Snapshot,
    metricRegistry: MetricRegistry = new MetricRegistry(),
  ) {
    const { isCounted = false, observe } = options;
    this.#snapshot = snapshot;
    this.metricRegistry = metricRegistry;
    this.database = options.database;
    this.dialect = snapshot.config.dialect;
    this.now = options.now;
    this.observe = isCounted ? countedEvents(metricRegistry, observe) : observe;
    this.requestMetrics = options.requestMetrics ??
      (isCounted ? new RequestMetrics() : null);
    this.traceStage = options.traceStage ?? null;
    this.setSpanAttribute = options.setSpanAttribute ?? null;
    this.activeSpan = options.activeSpan ?? null;
    this.isTimed = options.isTimed ?? (() => false);
    this.failurePolicy = new FailurePolicy({
      dialect: this.dialect,
      observe: this.observe,
      config: () => this.#snapshot.config,
      onFatal: options.onFatal ?? null,
    });
    registerServiceMetrics(metricRegistry, this);
    registerReplicaMetrics(metricRegistry, this.database);
    if (isCounted) this.#eventLoop.start(metricRegistry);
  }

  /** Causes a load of the schema cache, because a connection was lost. */
  abstract recover(): void;

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Replaces parts of the state for requests that begin from now on. */
  replace(parts: Partial<Snapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...parts };
  }

  /** Reports a finding if the log level includes the dialect's severity of findings. */
  observeFinding(finding: Observation): void {
    const { logLevel } = this.#snapshot.config;
    if (isLogged(this.dialect.findingSeverity, logLevel)) this.observe(finding);
  }

  /** Signal that aborts when the service stops. It ends streams that would not end by themselves. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Ends endless streams, such as live queries. */
  endStreams(): void {
    this.#ending.abort();
    this.#eventLoop.stop();
  }

  /** Handles the failure of a request: ends the process, reloads the schema cache, or ignores it. */
  handleFailure(thrown: unknown): void {
    if (!this.failurePolicy.exitOnFatal(thrown) && isConnectionLost(thrown)) this.recover();
  }

  /**
   * Applies the configuration to the database. Turns tracing of the pool and of the JWT cache on at log
   * level `debug`, and off otherwise.
   */
  configureDatabase(): void {
    const { config, auth, usesBlocks } = this.#snapshot;
    const trace = config.logLevel === "debug" ? this.observe : null;
    auth.cache?.setListener(trace);
    this.database.pool?.configure({
      ...databaseOptions(config),
      usesBlocks,
      trace,
      onPooler: () => this.failurePolicy.exitOnPooler(),
      onStandby: (event) => {
        if (event.kind === "standby-foreign") this.failurePolicy.exit(event);
        else this.observe(event);
      },
    });
  }
}

export function databaseOptions(
  config: Pick<Config, "dbPreparedStatements" | "dbReplicaFallback" | "dbReplicaMaxLag">,
): Omit<DatabaseOptions, "usesBlocks"> {
  return { prepare: config.dbPreparedStatements, replicas: replicaSettings(config) };
}
