/** PostgreSQL with standbys: opens a pool for the primary and for each standby. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { beforeDeadline, Deadline } from "../../base/lib/time_limits.ts";
import { metadataTransaction } from "../transaction.ts";
import type { Settings, Targets } from "../connect/targets.ts";
import {
  type Database,
  type DatabaseConfig,
  type DatabaseDependencies,
  replicaSettings,
} from "../database.ts";
import { Pool } from "../pool/pool.ts";
import { maxAnswerMs, type ServerProbe } from "../replicas/monitor.ts";
import { replicatedDatabase } from "../replicas/replicated_database.ts";
import { UnpooledDatabase } from "./per_request.ts";
import { openPool, openSpool, targetsOf } from "./postgres.ts";
import { connect } from "./socket_transport.ts";

export function openReplicated(
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): Database {
  const primaryTargets = targetsOf(config, dependencies);
  if (dependencies.connections === "per-request") {
    // No connection lives long enough to observe standbys: the primary executes all reads.
    return new UnpooledDatabase(() => connect(primaryTargets));
  }
  const standbyTargets = standbyTargetsOf(config, dependencies);
  const spool = openSpool(config);
  const standbyConfig = {
    ...config,
    dbChannelUri: null,
    dbPool: config.dbReplicaPool ?? config.dbPool,
  };
  return replicatedDatabase({
    primary: openPool(primaryTargets, spool, config, dependencies),
    primaryProbe: probeOf(primaryTargets),
    servers: standbyTargets.map((targets) => ({
      place: placeText(targets.servers[0]!),
      database: openPool(targets, spool, standbyConfig, dependencies),
      probe: probeOf(targets),
    })),
    settings: replicaSettings(config),
    clock: systemClock,
    random: Math.random,
  });
}

/** Returns the targets for each standby. A standby whose connection string names no login has the
 * login of the primary. */
function standbyTargetsOf(
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): readonly Targets[] {
  const [{ user, password, database } = {}] = targetsOf(config, dependencies).servers;
  const standbys = targetsOf({ ...config, dbUri: config.dbReplicaUri! }, dependencies).servers;
  return standbys.map((settings) => ({
    servers: [{ user, password, database, ...settings }],
    session: "any",
  }));
}

/** Returns a probe of a server. It cancels a query without an answer in {@linkcode maxAnswerMs}. */
function probeOf(targets: Targets): ServerProbe {
  const servers = targets.servers.map((settings) => ({
    ...settings,
    connectionTimeoutMillis: maxAnswerMs,
  }));
  const pool = new Pool({
    max: 1,
    acquisitionTimeoutMs: maxAnswerMs,
    maxIdleTimeMs: Infinity,
    maxLifetimeMs: Infinity,
    prepare: false,
    preparedLimit: 0,
    clock: systemClock,
    connect: () => connect({ ...targets, servers }),
  });
  return {
    ask: async (statement) => {
      const deadline = new Deadline(maxAnswerMs, systemClock);
      deadline.begin();
      const { signal } = new AbortController();
      try {
        const answering = pool.transaction(metadataTransaction([statement]), { signal, deadline });
        const { rows } = await beforeDeadline(answering, deadline, errors);
        return rows.at(-1)?.[0] ?? [];
      } finally {
        deadline.clear();
      }
    },
    close: () => pool.close(),
  };
}

/** Returns host and port: `localhost:5432`. For a Unix socket, the host is its folder. */
function placeText({ host = "localhost", port = 5432 }: Settings): string {
  return `${host}:${port}`;
}
