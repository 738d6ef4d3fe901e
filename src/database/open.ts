/**
 * Opens the database that a connection string names. Each adapter is loaded when it is first needed,
 * so a runtime without sockets, or without WASM, never loads the other one.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import type { Database } from "./database.ts";
import type { InitScript } from "./adapters/init_script.ts";
import type { Connections } from "./adapters/postgres.ts";

/** Options of the configuration that concern connections. */
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
  /** Bytes. Default: 0. */
  readonly serverSpoolSize?: number;
  readonly dialect: Pick<Dialect, "namesApplicationInKeywords">;
}

/** Dependencies other than the configuration. */
export interface DatabaseDependencies {
  /** SQL that initialises a new embedded database; null for none. */
  readonly embeddedInit: InitScript | null;
  readonly applicationName: string;
  /** Whether readers of bodies keep no chunk of them. Default: false. */
  readonly freesChunks?: boolean;
  /** Default: `pooled`. */
  readonly connections?: Connections;
}

/** Whether a connection string names the embedded database. */
export function isEmbedded(uri: string): boolean {
  return uri.startsWith("pglite://");
}

/** Opens a database. It opens connections on demand. */
export async function openDatabase(
  config: DatabaseConfig,
  { embeddedInit, applicationName, freesChunks = false, connections = "pooled" }:
    DatabaseDependencies,
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
    freesChunks,
    namesKeywords: config.dialect.namesApplicationInKeywords,
    connections,
    spoolBytes: config.serverSpoolSize ?? 0,
    poolSize: config.dbPool,
    maxIdleTimeSeconds: config.dbPoolMaxIdletime,
    maxLifetimeSeconds: config.dbPoolMaxLifetime,
  });
}
