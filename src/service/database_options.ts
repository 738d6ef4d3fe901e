/**
 * The options of a database that the configuration sets.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import { lacks } from "../database/capabilities.ts";
import type { DatabaseOptions } from "../database/database.ts";
import { replicaSettings } from "../database/open.ts";

/** Options of the configuration that a database works by. */
export type DatabaseOptionsConfig = Pick<
  Config,
  | "dbCapabilities"
  | "dbPoolQueueTarget"
  | "dbPreparedStatements"
  | "dbReplicaFallback"
  | "dbReplicaMaxLag"
  | "dbReplicaWait"
>;

/**
 * Returns the options of a database that a configuration sets. Only transactions in prepared statements may
 * be implicit, and these verify the isolation level.
 */
export function databaseOptions(config: DatabaseOptionsConfig): DatabaseOptions {
  const setsIsolation = !lacks(config.dbCapabilities, "isolation");
  return {
    prepare: setsIsolation && config.dbPreparedStatements,
    queueTargetMs: config.dbPoolQueueTarget * 1000,
    usesBlocks: lacks(config.dbCapabilities, "implicit-transactions"),
    setsIsolation,
    replicas: {
      ...replicaSettings(config),
      comparesPositions: !lacks(config.dbCapabilities, "lsn"),
    },
    sendsCancels: !lacks(config.dbCapabilities, "cancel"),
  };
}
