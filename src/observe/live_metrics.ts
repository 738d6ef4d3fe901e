/** Metrics of live queries. @module */
import { Histogram } from "./histogram.ts";
import type { Counter, MetricRegistry } from "./metric_registry.ts";

/** Counters and histograms, which the parts of live queries update. */
export interface LiveMetrics {
  readonly runs: Counter;
  readonly excluded: Counter;
  readonly refetches: Counter;
  /** In seconds. */
  readonly polls: Histogram;
  /** Seconds from the poll that found a change to the batch that has it. */
  readonly delays: Histogram;
}

/** Numbers of the moment. */
export interface LiveSize {
  readonly streams: number;
  readonly groups: number;
}

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the metrics of live queries; `read` returns the numbers of the moment. */
export function registerLiveMetrics(registry: MetricRegistry, read: () => LiveSize): LiveMetrics {
  registry.gauge(
    { name: "live_streams", help: "Streams and waiting polls of live queries" },
    () => [[[], read().streams]],
  );
  registry.gauge(
    { name: "live_groups", help: "Results that live queries share" },
    () => [[[], read().groups]],
  );
  const counter = (name: string, help: string) => registry.counter({ name, help });
  const histogram = (name: string, help: string) => {
    const values = new Histogram({ help, bounds });
    registry.histogram(name, () => values);
    return values;
  };
  return {
    runs: counter("live_runs_total", "Reads of results of live queries"),
    excluded: counter("live_excluded_total", "Reads that a scope made unnecessary"),
    refetches: counter("live_refetches_total", "Answers that made a client read its rows again"),
    polls: histogram("live_poll_seconds", "Duration of polls of recorded changes"),
    delays: histogram("live_delay_seconds", "Time from a poll to the batch of its changes"),
  };
}
