/** Metrics that each service has. @module */
import type { Histogram, MetricRegistry } from "./metric_registry.ts";
import { type Schedule, untilNextSecond } from "../lib/timers.ts";

export interface PoolCounts {
  readonly max: number;
  readonly open: number;
  readonly inUse: number;
  readonly waiting: number;
  readonly timeouts: number;
}

/** Totals since the creation of the cache. */
export interface JwtCacheCounts {
  readonly lookups: number;
  readonly hits: number;
  readonly evictions: number;
}

/** Values of the metrics of each thread. Counters begin at 0 when the service starts. */
export interface Metrics {
  readonly build: {
    readonly version: string;
    readonly dialect: string;
    /** Number of the server's version; empty before the first load of the schema cache. */
    readonly postgres: string;
  };
  readonly pool: PoolCounts;
  /** Seconds that transactions waited for a connection; null without a pool. */
  readonly queueSeconds: Histogram | null;
  readonly jwtCache: JwtCacheCounts;
}

/** The numbers that each service has: help and value. Names with `_total` belong to counters. */
const numbers: Readonly<
  Record<string, readonly [help: string, value: (metrics: Metrics) => number]>
> = {
  db_pool_timeouts_total: [
    "The total number of pool connection timeouts",
    ({ pool }) => pool.timeouts,
  ],
  db_pool_available: [
    "Available connections in the pool",
    ({ pool }) => Math.max(0, pool.open - pool.inUse),
  ],
  db_pool_in_use: ["Connections of the pool that execute transactions", ({ pool }) => pool.inUse],
  db_pool_waiting: ["Requests waiting to acquire a pool connection", ({ pool }) => pool.waiting],
  db_pool_max: ["Max pool connections", ({ pool }) => pool.max],
  jwt_cache_requests_total: [
    "The total number of JWT cache lookups",
    ({ jwtCache }) => jwtCache.lookups,
  ],
  jwt_cache_hits_total: ["The total number of JWT cache hits", ({ jwtCache }) => jwtCache.hits],
  jwt_cache_evictions_total: [
    "The total number of JWT cache evictions",
    ({ jwtCache }) => jwtCache.evictions,
  ],
};

/** Registers the metrics of a service; `read` returns their current values. */
export function registerServiceMetrics(registry: MetricRegistry, read: () => Metrics): void {
  registry.gauge({
    name: "build_info",
    help: "Versions of the program and of PostgreSQL; the value is always 1",
    labels: ["version", "dialect", "postgres"],
  }, () => {
    const { version, dialect, postgres } = read().build;
    return [[[version, dialect, postgres], 1]];
  });
  for (const [name, [help, value]] of Object.entries(numbers)) {
    const register = name.endsWith("_total") ? "observedCounter" : "gauge";
    registry[register]({ name, help }, () => [[[], value(read())]]);
  }
  registry.histogram("db_pool_queue_seconds", () => read().queueSeconds);
}

/** Minimum time that the reported maximum covers. */
const windowMs = 60_000;

/** The event loop's delays of the last one to two minutes. */
export class EventLoopDelay {
  readonly #schedule: Schedule;
  readonly #now: () => number;
  #windowStart = 0;
  #longestMs = 0;
  #previousLongestMs = 0;
  #cancel = () => {};

  /** `now` returns milliseconds. */
  constructor(schedule: Schedule, now: () => number) {
    this.#schedule = schedule;
    this.#now = now;
  }

  /** Starts to measure, and registers the metric. */
  start(registry: MetricRegistry): void {
    registry.gauge({
      name: "event_loop_delay_seconds",
      help: "Longest delay of the event loop in the last minute or two",
    }, () => [[[], Math.max(this.#longestMs, this.#previousLongestMs) / 1000]]);
    this.#windowStart = this.#now();
    this.#wait();
  }

  stop(): void {
    this.#cancel();
  }

  #wait(): void {
    const pauseMs = untilNextSecond(this.#now());
    const dueAt = this.#now() + pauseMs;
    this.#cancel = this.#schedule(() => {
      const now = this.#now();
      if (now - this.#windowStart >= windowMs) {
        this.#windowStart = now;
        this.#previousLongestMs = this.#longestMs;
        this.#longestMs = 0;
      }
      this.#longestMs = Math.max(this.#longestMs, now - dueAt);
      this.#wait();
    }, pauseMs);
  }
}
