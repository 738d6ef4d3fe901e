/**
 * Opens the database that a connection string means. The adapters are loaded when they are needed,
 * so that a runtime without sockets, or without WASM, never sees the other one.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import type { Database } from "./database.ts";
import type { Connections } from "./adapters/postgres.ts";

/** What of the configuration says how to reach and use the database. */
export interface DatabaseConfig {
  readonly dbUri: string;
  readonly dbPool: number;
  /** Seconds. */
  readonly dbPoolAcquisitionTimeout: number;
  /** Seconds. */
  readonly dbPoolMaxIdletime: number;
  /** Seconds. */
  readonly dbPoolMaxLifetime: number;
  readonly dbPreparedStatements: boolean;
  readonly dialect: Pick<Dialect, "namesApplicationInKeywords">;
}

/** What is needed beside the configuration. */
export interface DatabaseDependencies {
  /** SQL text that is applied when an embedded database is created. */
  readonly embeddedInit: string | null;
  readonly applicationName: string;
  /** Whether readers of bodies keep no piece of them; false unless told. */
  readonly releases?: boolean;
  /** A pool unless told. */
  readonly connections?: Connections;
}

/** Whether a connection string means PostgreSQL in the process. */
export function isEmbedded(uri: string): boolean {
  return uri.startsWith("pglite://");
}

/** Opens a database; connections are made when they are needed. */
export async function openDatabase(
  config: DatabaseConfig,
  { embeddedInit, applicationName, releases = false, connections = "pooled" }: DatabaseDependencies,
): Promise<Database> {
  const common = {
    uri: config.dbUri,
    acquisitionTimeoutSeconds: config.dbPoolAcquisitionTimeout,
    prepare: config.dbPreparedStatements,
  };
  if (isEmbedded(config.dbUri)) {
    const { openEmbedded } = await import("./adapters/pglite.ts");
    return openEmbedded({ ...common, init: embeddedInit });
  }
  const { openPostgres } = await import("./adapters/postgres.ts");
  return openPostgres({
    ...common,
    applicationName,
    releases,
    namesKeywords: config.dialect.namesApplicationInKeywords,
    connections,
    poolSize: config.dbPool,
    maxIdleTimeSeconds: config.dbPoolMaxIdletime,
    maxLifetimeSeconds: config.dbPoolMaxLifetime,
  });
}
