/**
 * Figures of the service in the text format of Prometheus.
 *
 * Source: Prometheus documentation, "Exposition formats", text-based format.
 *
 * @module
 */

/** What is measured. Times in seconds; counters since the start. */
export interface Figures {
  readonly schemaCacheQuerySeconds: number | null;
  readonly schemaCacheLoads: { readonly success: number; readonly fail: number };
  readonly pool: {
    readonly max: number;
    readonly open: number;
    readonly inUse: number;
    readonly waiting: number;
    readonly timeouts: number;
  };
  readonly jwtCache: {
    readonly lookups: number;
    readonly hits: number;
    readonly evictions: number;
  };
}

interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** Values by their labels; none leaves the metric out. */
  readonly values: (figures: Figures) => readonly (readonly [labels: string, value: number])[];
}

const plain = (value: number) => [["", value]] as const;

const metrics: readonly Metric[] = [
  {
    name: "schema_cache_query_time_seconds",
    type: "gauge",
    help: "The query time in seconds of the last schema cache load",
    values: ({ schemaCacheQuerySeconds: seconds }) => seconds === null ? [] : plain(seconds),
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
    values: ({ pool }) => plain(pool.timeouts),
  },
  {
    name: "db_pool_available",
    type: "gauge",
    help: "Available connections in the pool",
    values: ({ pool }) => plain(Math.max(0, pool.open - pool.inUse)),
  },
  {
    name: "db_pool_waiting",
    type: "gauge",
    help: "Requests waiting to acquire a pool connection",
    values: ({ pool }) => plain(pool.waiting),
  },
  {
    name: "db_pool_max",
    type: "gauge",
    help: "Max pool connections",
    values: ({ pool }) => plain(pool.max),
  },
  {
    name: "jwt_cache_requests_total",
    type: "counter",
    help: "The total number of JWT cache lookups",
    values: ({ jwtCache }) => plain(jwtCache.lookups),
  },
  {
    name: "jwt_cache_hits_total",
    type: "counter",
    help: "The total number of JWT cache hits",
    values: ({ jwtCache }) => plain(jwtCache.hits),
  },
  {
    name: "jwt_cache_evictions_total",
    type: "counter",
    help: "The total number of JWT cache evictions",
    values: ({ jwtCache }) => plain(jwtCache.evictions),
  },
];

/** Writes the figures; names begin with `prefix` and an underscore. */
export function prometheusText(figures: Figures, prefix: string): string {
  return metrics.map(({ name, type, help, values }) => {
    const full = `${prefix}_${name}`;
    const lines = values(figures).map(([labels, value]) => `${full}${labels} ${decimal(value)}\n`);
    return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join("")}`;
  }).join("");
}

/** A number with a decimal point: `1.0`. */
function decimal(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}
