/**
 * Metrics of the service in the text format of Prometheus.
 *
 * Source: Prometheus documentation, "Exposition formats", text-based format.
 *
 * @module
 */

import type { Histogram } from "./histogram.ts";
import { decimal, headText, labelText } from "./metric_registry.ts";

/** Values of the metrics. Times are in seconds; counters begin at 0 when the service starts. */
export interface Metrics {
  readonly build: {
    readonly version: string;
    readonly dialect: string;
    /** Number of the server's version; empty before the first load of the schema cache. */
    readonly postgres: string;
  };
  readonly schemaCacheQuerySeconds: number | null;
  readonly schemaCacheLoads: { readonly success: number; readonly fail: number };
  readonly pool: {
    readonly max: number;
    readonly open: number;
    readonly inUse: number;
    readonly waiting: number;
    readonly timeouts: number;
  };
  /** Seconds that transactions waited for a connection; null without a pool. */
  readonly queueSeconds: Histogram | null;
  readonly jwtCache: {
    readonly lookups: number;
    readonly hits: number;
    readonly evictions: number;
  };
}

interface MetricDefinition {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** Returns the values with their labels. An empty list omits the samples. */
  readonly values: (metrics: Metrics) => readonly (readonly [labels: string, value: number])[];
}

const unlabelled = (value: number) => [["", value]] as const;

const metricDefinitions: readonly MetricDefinition[] = [
  {
    name: "build_info",
    type: "gauge",
    help: "Versions of the program and of PostgreSQL; the value is always 1",
    values: ({ build: { version, dialect, postgres } }) => [
      [labelText(["version", "dialect", "postgres"], [version, dialect, postgres]), 1],
    ],
  },
  {
    name: "schema_cache_query_time_seconds",
    type: "gauge",
    help: "The query time in seconds of the last schema cache load",
    values: ({ schemaCacheQuerySeconds: seconds }) => seconds === null ? [] : unlabelled(seconds),
  },
  {
    name: "schema_cache_loads_total",
    type: "counter",
    help: "The total number of times the schema cache was loaded",
    values: ({ schemaCacheLoads: { success, fail } }) =>
      ([['{status="SUCCESS"}', success], ['{status="FAIL"}', fail]] as const)
        .filter(([, value]) => value > 0),
  },
  {
    name: "db_pool_timeouts_total",
    type: "counter",
    help: "The total number of pool connection timeouts",
    values: ({ pool }) => unlabelled(pool.timeouts),
  },
  {
    name: "db_pool_available",
    type: "gauge",
    help: "Available connections in the pool",
    values: ({ pool }) => unlabelled(Math.max(0, pool.open - pool.inUse)),
  },
  {
    name: "db_pool_in_use",
    type: "gauge",
    help: "Connections of the pool that execute transactions",
    values: ({ pool }) => unlabelled(pool.inUse),
  },
  {
    name: "db_pool_waiting",
    type: "gauge",
    help: "Requests waiting to acquire a pool connection",
    values: ({ pool }) => unlabelled(pool.waiting),
  },
  {
    name: "db_pool_max",
    type: "gauge",
    help: "Max pool connections",
    values: ({ pool }) => unlabelled(pool.max),
  },
  {
    name: "jwt_cache_requests_total",
    type: "counter",
    help: "The total number of JWT cache lookups",
    values: ({ jwtCache }) => unlabelled(jwtCache.lookups),
  },
  {
    name: "jwt_cache_hits_total",
    type: "counter",
    help: "The total number of JWT cache hits",
    values: ({ jwtCache }) => unlabelled(jwtCache.hits),
  },
  {
    name: "jwt_cache_evictions_total",
    type: "counter",
    help: "The total number of JWT cache evictions",
    values: ({ jwtCache }) => unlabelled(jwtCache.evictions),
  },
];

/** Formats the metrics. Names begin with `prefix` and an underscore. */
export function prometheusText(metrics: Metrics, prefix: string): string {
  const texts = metricDefinitions.map(({ name, type, help, values }) => {
    const full = `${prefix}_${name}`;
    const lines = values(metrics).map(([labels, value]) => `${full}${labels} ${decimal(value)}\n`);
    return headText({ name: full, help }, type) + lines.join("");
  });
  const queue = metrics.queueSeconds?.text(`${prefix}_db_pool_queue_seconds`) ?? "";
  return texts.join("") + queue;
}
