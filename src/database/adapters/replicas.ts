/** PostgreSQL with standbys: opens a pool for the primary and for each standby. @module */
import { systemClock } from "../../lib/clock.ts";
import type { Settings, Targets } from "../connect/targets.ts";
import type { Database, ReplicaSettings } from "../database.ts";
import { ProbeConnection } from "../replicas/probe_connection.ts";
import { ReplicatedDatabase } from "../replicas/replicated_database.ts";
import { UnpooledDatabase } from "./per_request.ts";
import { connect, openPool, openSpool, type PostgresOptions, targetsOf } from "./postgres.ts";

export interface ReplicaOptions extends ReplicaSettings {
  readonly uri: string;
  /** Connections per standby. */
  readonly poolSize: number;
}

/** A probe of a server that does not answer is abandoned soon. */
const probeTimeoutMs = 1000;

export function openReplicated(options: PostgresOptions, replicas: ReplicaOptions): Database {
  const primaryTargets = targetsOf(options);
  const standbyTargets = standbyTargetsOf(options, replicas.uri);
  if (options.connections === "per-request") {
    // No connection lives long enough to observe standbys: the primary executes all reads.
    return new UnpooledDatabase(() => connect(primaryTargets));
  }
  const spool = openSpool(options);
  const standbyOptions = { ...options, channelUri: null, poolSize: replicas.poolSize };
  return new ReplicatedDatabase({
    primary: openPool(primaryTargets, options, spool),
    primaryProbe: probeOf(primaryTargets),
    servers: standbyTargets.map((targets) => ({
      place: placeText(targets.servers[0]!),
      database: openPool(targets, standbyOptions, spool),
      probe: probeOf(targets),
    })),
    settings: replicas,
    clock: systemClock,
    random: Math.random,
  });
}

/** Returns each standby as the only server of its own; it has the login of the primary unless it names one. */
function standbyTargetsOf(options: PostgresOptions, uri: string): readonly Targets[] {
  const [primary = {}] = targetsOf(options).servers;
  const login = Object.fromEntries(
    ["user", "password", "database"]
      .filter((name) => primary[name] !== undefined)
      .map((name) => [name, primary[name]]),
  );
  return targetsOf({ ...options, uri }).servers.map((settings) => ({
    servers: [{ ...login, ...settings }],
    session: "any",
    order: "named",
  }));
}

function probeOf(targets: Targets) {
  const servers = targets.servers.map((settings) => ({
    ...settings,
    connectionTimeoutMillis: probeTimeoutMs,
  }));
  return new ProbeConnection(() => connect({ ...targets, servers }), systemClock);
}

/** `localhost:5432`; for a Unix socket its folder replaces the host. */
function placeText({ host = "localhost", port = 5432 }: Settings): string {
  return `${host}:${port}`;
}
