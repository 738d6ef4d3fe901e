/** Metrics of the parts that each serving thread has: a pool, a cache of tokens, standbys. @module */
import type { Database, PoolCounts, StandbyCounts } from "../../database/database.ts";
import { versionNumber } from "../../database/server_version.ts";
import type { Dialect } from "../../base/dialect.ts";
import type { MetricRegistry, Sample } from "../../base/observe/metric_registry.ts";
import { version } from "../../base/version.ts";
import type { JwtCacheCounts } from "../auth/jwt_cache.ts";
import type { Snapshot } from "./snapshot.ts";

/** Help and value of each number of the pool. Names with `_total` belong to counters. */
const poolNumbers: NumberTable<PoolCounts> = {
  db_pool_timeouts_total: ["The total number of pool connection timeouts", (pool) => pool.timeouts],
  db_pool_available: [
    "Available connections in the pool",
    ({ open, inUse }) => Math.max(0, open - inUse),
  ],
  db_pool_in_use: ["Connections of the pool that execute transactions", (pool) => pool.inUse],
  db_pool_waiting: ["Requests waiting to acquire a pool connection", (pool) => pool.waiting],
  db_pool_max: ["Max pool connections", (pool) => pool.max],
};

/** Help and value of each number of the cache of tokens. */
const jwtCacheNumbers: NumberTable<JwtCacheCounts> = {
  jwt_cache_requests_total: ["The total number of JWT cache lookups", ({ lookups }) => lookups],
  jwt_cache_hits_total: ["The total number of JWT cache hits", ({ hits }) => hits],
  jwt_cache_evictions_total: [
    "The total number of JWT cache evictions",
    ({ evictions }) => evictions,
  ],
};

const noLookups: JwtCacheCounts = { lookups: 0, hits: 0, evictions: 0 };

type NumberTable<Counts> = Readonly<
  Record<string, readonly [help: string, value: (counts: Counts) => number]>
>;

/** The state that the metrics show. A reload replaces `snapshot`. */
interface MeasuredParts {
  readonly database: Pick<Database, "counts" | "pool">;
  readonly dialect: Pick<Dialect, "name">;
  readonly snapshot: {
    readonly auth: {
      readonly cache: Pick<NonNullable<Snapshot["auth"]["cache"]>, "counts"> | null;
    };
    readonly serverVersion: string | null;
  };
}

/** Registers the metrics of a service, whose counters begin at 0 when the service starts. */
export function registerServiceMetrics(registry: MetricRegistry, state: MeasuredParts): void {
  registry.gauge({
    name: "build_info",
    help: "Versions of the program and of PostgreSQL; the value is always 1",
    labels: ["version", "dialect", "postgres"],
  }, () => {
    const { serverVersion } = state.snapshot;
    // The version is empty before the first load of the schema cache.
    const postgres = serverVersion === null ? "" : versionNumber(serverVersion) ?? "";
    return [[[version, state.dialect.name, postgres], 1]];
  });
  registerNumbers(registry, poolNumbers, () => state.database.counts());
  registerNumbers(
    registry,
    jwtCacheNumbers,
    () => state.snapshot.auth.cache?.counts() ?? noLookups,
  );
  registry.histogram("db_pool_queue_seconds", () => state.database.pool?.queueSeconds ?? null);
}

function registerNumbers<Counts>(
  registry: MetricRegistry,
  table: NumberTable<Counts>,
  read: () => Counts,
): void {
  for (const [name, [help, value]] of Object.entries(table)) {
    const register = name.endsWith("_total") ? "observedCounter" : "gauge";
    registry[register]({ name, help }, () => [[[], value(read())]]);
  }
}

export function registerReplicaMetrics(
  registry: MetricRegistry,
  { standbys }: Pick<Database, "standbys">,
): void {
  if (standbys === undefined) return;
  const counts = () => standbys.counts();
  const ofStandbys = (value: (standby: StandbyCounts) => number | null) => () =>
    counts().standbys.flatMap((standby): readonly Sample[] => {
      const number = value(standby);
      return number === null ? [] : [[[standby.place], number]];
    });
  const byReason = (pick: (all: ReturnType<typeof counts>) => ReadonlyMap<string, number>) => () =>
    Array.from(pick(counts()), ([reason, number]): Sample => [[reason], number]);
  const labels = ["host"];
  const gauge = (name: string, help: string, value: Parameters<typeof ofStandbys>[0]) =>
    registry.gauge({ name, help, labels }, ofStandbys(value));
  gauge("replica_up", "Whether a standby executes reads", (standby) => Number(standby.isServing));
  const lagHelp = "Time that a standby lags behind the primary";
  gauge("replica_lag_seconds", lagHelp, (standby) => standby.lagSeconds);
  gauge("replica_in_flight", "Reads in progress on a standby", (standby) => standby.inFlight);
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
