/**
 * Reports of standbys: their events, and their metrics.
 *
 * @module
 */
import type { Database, StandbyCounts, StandbyEvent } from "../database/database.ts";
import type { MetricRegistry, Sample } from "../observe/metric_registry.ts";
import type { Observation } from "../observe/observation.ts";
import type { FailurePolicy } from "./failure_policy.ts";

/** Returns the receiver of the events of standbys. */
export function standbyReceiver(
  observe: (event: Observation) => void,
  failurePolicy: Pick<FailurePolicy, "exitOnForeignStandby">,
): (event: StandbyEvent) => void {
  return function receive(event) {
    if (event.kind === "standby-foreign") failurePolicy.exitOnForeignStandby(event.place);
    else observe(event);
  };
}

/** Registers the metrics of a database with standbys. */
export function registerReplicaMetrics(
  registry: MetricRegistry,
  database: Pick<Database, "replicaCounts">,
): void {
  if (database.replicaCounts === undefined) return;
  const counts = () => database.replicaCounts!();
  const ofStandbys = (value: (standby: StandbyCounts) => number | null) => () =>
    counts().standbys.flatMap((standby): readonly Sample[] => {
      const number = value(standby);
      return number === null ? [] : [[[standby.place], number]];
    });
  const byReason = (pick: (all: ReturnType<typeof counts>) => ReadonlyMap<string, number>) => () =>
    Array.from(pick(counts()), ([reason, number]): Sample => [[reason], number]);
  const labels = ["host"];
  registry.gauge(
    { name: "replica_up", help: "Whether a standby executes reads", labels },
    ofStandbys(({ isServing }) => Number(isServing)),
  );
  registry.gauge(
    { name: "replica_lag_seconds", help: "Time that a standby lags behind the primary", labels },
    ofStandbys(({ lagSeconds }) => lagSeconds),
  );
  registry.gauge(
    { name: "replica_in_flight", help: "Reads in progress on a standby", labels },
    ofStandbys(({ inFlight }) => inFlight),
  );
  registry.observedCounter(
    { name: "replica_reads_total", help: "Reads that a standby has executed", labels },
    ofStandbys(({ reads }) => reads),
  );
  registry.observedCounter({
    name: "replica_fallbacks_total",
    help: "Reads that the primary has executed in place of standbys",
    labels: ["reason"],
  }, byReason(({ fallbacks }) => fallbacks));
  registry.observedCounter({
    name: "replica_retries_total",
    help: "Reads that were repeated after the refusal of a standby",
    labels: ["reason"],
  }, byReason(({ retries }) => retries));
}
