/** Instances, pools and connections for a rate of requests, by Little's law and a model of one
 * instance. @module */
import { mostConnections } from "../../src/service/server_check.ts";
import { bestThreads, type ScalabilityModel, throughput } from "./scalability.ts";

/** What a deployment has to serve, and on what. */
export interface CapacityDemand {
  /** Requests per second at peak. */
  readonly rate: number;
  /** Microseconds for which a request occupies a connection of the pool, the network included. */
  readonly connectionUs: number;
  /** Microseconds of PostgreSQL's processor time per request. */
  readonly databaseUs: number;
  /** Threads that serve in one instance: `server-workers`. */
  readonly threads: number;
  /** Whether each instance listens for notifications on the primary: `db-channel-enabled`. */
  readonly listens: boolean;
  /** PostgreSQL servers that share the requests: the primary and its standbys. */
  readonly databases: number;
  /** Processors of each PostgreSQL server. */
  readonly databaseCores: number;
  /** `max_connections` of each PostgreSQL server. */
  readonly maxConnections: number;
  readonly model: ScalabilityModel;
}

/** The answer to a {@linkcode CapacityDemand}. */
export interface CapacityPlan {
  /** Requests per second of one instance. */
  readonly instanceRate: number;
  /** Instances, the spare one included. */
  readonly instances: number;
  /** Connections that are busy on average, on all PostgreSQL servers. */
  readonly busyConnections: number;
  /** Connections of each instance to each PostgreSQL server: `db-pool`, `db-replica-pool`. */
  readonly pool: number;
  /** Connections to each PostgreSQL server while an upgrade runs one instance more. */
  readonly connections: number;
  /** Share of PostgreSQL's processor time that is used. */
  readonly databaseLoad: number;
  readonly warnings: readonly string[];
}

/** Share of the measured capacity that is planned for: queues grow without bound towards 1. */
export const plannedLoad = 0.6;

/** Pool in relation to the connections that are busy on average. */
export const poolReserve = 1.5;

/** Connections per processor above which requests queue in PostgreSQL in place of the service. */
export const maxConnectionsPerCore = 4;

/** Connections for superusers and other programs. */
export const reservedConnections = 10;

/**
 * Returns the connections of an instance to the primary beside its pool: those of `mostConnections`. Each
 * standby has the monitors alone, of which it has as many, so that the primary needs the most.
 */
function connectionsBesidePool({ threads, databases, listens }: CapacityDemand): number {
  const followers = threads > 1 ? threads : 0;
  const options = {
    dbPool: 0,
    dbChannelEnabled: listens,
    dbReplicaUri: databases > 1 ? "standbys" : null,
  };
  return mostConnections(options, followers);
}

/** Plans for a demand. */
export function planCapacity(demand: CapacityDemand): CapacityPlan {
  const { rate, connectionUs, databaseUs, threads, databases, databaseCores, model } = demand;
  const instanceRate = throughput(model, threads);
  const working = Math.max(1, Math.ceil(rate / (plannedLoad * instanceRate)));
  const instances = working + 1;
  const busyConnections = rate * connectionUs / 1e6;
  const maxUseful = maxConnectionsPerCore * databaseCores * databases;
  const wanted = Math.min(poolReserve * busyConnections, maxUseful);
  // The pools suffice while one instance is away.
  const pool = Math.max(1, Math.ceil(wanted / working / databases));
  const connections = (instances + 1) * (pool + connectionsBesidePool(demand));
  const databaseLoad = rate * databaseUs / 1e6 / (databases * databaseCores);
  const plan = { instanceRate, instances, busyConnections, pool, connections, databaseLoad };
  return { ...plan, warnings: warningsOf(demand, { ...plan, maxUseful }) };
}

function warningsOf(
  { rate, connectionUs, databaseUs, threads, databases, maxConnections, model }: CapacityDemand,
  { pool, connections, databaseLoad, busyConnections, maxUseful }:
    & Omit<CapacityPlan, "warnings">
    & { readonly maxUseful: number },
): readonly string[] {
  const cores = Math.ceil(rate * databaseUs / 1e6 / plannedLoad / databases);
  const most = Math.floor(maxUseful * 1e6 / connectionUs);
  const allowed = maxConnections - reservedConnections;
  const best = bestThreads(model);
  const warnings: readonly (readonly [boolean, string])[] = [
    [
      databaseLoad > plannedLoad,
      `PostgreSQL needs ${cores} processors on each server to stay below ${plannedLoad * 100} %`,
    ],
    [
      busyConnections > maxUseful,
      `requests queue: ${maxUseful} connections carry at most ${most.toLocaleString("en")}/s`,
    ],
    [
      connections > allowed,
      `${connections} connections exceed max_connections minus ${reservedConnections}: ` +
      "use a pooler, fewer instances or a higher max_connections",
    ],
    [
      pool < threads,
      `a pool of ${pool} lowers ${threads} threads to ${pool}, since each needs a connection`,
    ],
    [threads > best, `more than ${best} threads lower the throughput of an instance`],
  ];
  return warnings.filter(([holds]) => holds).map(([, text]) => text);
}
