/** Opens the database that a connection string names. Each adapter is loaded when it is first
 * needed, so a runtime without sockets, or without WASM, never loads the other one. @module */
import type { Dialect } from "../dialect.ts";
import type { Database, InitScript, ReplicaSettings } from "./database.ts";
import type { EmbeddedOptions } from "./adapters/pglite.ts";
import type { Connections, PostgresOptions } from "./adapters/postgres.ts";
import type { ReplicaOptions } from "./adapters/replicas.ts";
import type { Transport } from "./transport.ts";

/** Options of the configuration that concern connections. */
export interface DatabaseConfig {
  readonly dbUri: string;
  /** Connection string for notifications. Default: `dbUri`. */
  readonly dbChannelUri?: string | null;
  /** File with the password. Default: none. */
  readonly dbPasswordFile?: string | null;
  readonly dbPool: number;
  /** Connection string of the standbys. Default: none. */
  readonly dbReplicaUri?: string | null;
  /** Connections per standby. Default: `dbPool`. */
  readonly dbReplicaPool?: number | null;
  /** Seconds. Default: 10. */
  readonly dbReplicaMaxLag?: number;
  /** Seconds. Default: 0.1. */
  readonly dbReplicaWait?: number;
  /** Default: `primary`. */
  readonly dbReplicaFallback?: "primary" | "error";
  /** Seconds. */
  readonly dbPoolAcquisitionTimeout: number;
  /** Seconds. */
  readonly dbPoolMaxIdletime: number;
  /** Seconds. */
  readonly dbPoolMaxLifetime: number;
  readonly dbPreparedStatements: boolean | "auto";
  /** Bytes. Default: 0. */
  readonly serverSpoolSize?: number;
  readonly dialect: Pick<Dialect, "namesApplicationInKeywords">;
}

export interface DatabaseDependencies {
  /** SQL that initialises a new embedded database; null for none. */
  readonly embeddedInit: InitScript | null;
  /** Extensions of an embedded database. Default: none. */
  readonly embeddedExtensions?: Readonly<Record<string, object>>;
  readonly applicationName: string;
  /** Whether readers of bodies keep no chunk of them. Default: false. */
  readonly freesChunks?: boolean;
  /** Default: `pooled`. */
  readonly connections?: Connections;
}

export function isEmbedded(uri: string): boolean {
  return uri.startsWith("pglite://");
}

export async function openDatabase(
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): Promise<Database> {
  if (isEmbedded(config.dbUri)) {
    const { openEmbedded } = await import("./adapters/pglite.ts");
    return openEmbedded(embeddedOptions(config, dependencies));
  }
  const replicas = replicaOptions(config);
  if (replicas !== null) {
    const { openReplicated } = await import("./adapters/replicas.ts");
    return openReplicated(postgresOptions(config, dependencies), replicas);
  }
  const { openPostgres } = await import("./adapters/postgres.ts");
  return openPostgres(postgresOptions(config, dependencies));
}

function replicaOptions(config: DatabaseConfig): ReplicaOptions | null {
  const { dbReplicaUri: uri = null, dbReplicaPool, dbPool } = config;
  return uri === null
    ? null
    : { uri, poolSize: dbReplicaPool ?? dbPool, ...replicaSettings(config) };
}

export function replicaSettings(
  { dbReplicaMaxLag = 10, dbReplicaWait = 0.1, dbReplicaFallback = "primary" }: Pick<
    DatabaseConfig,
    "dbReplicaMaxLag" | "dbReplicaWait" | "dbReplicaFallback"
  >,
): ReplicaSettings {
  return {
    maxLagMs: dbReplicaMaxLag * 1000,
    waitMs: dbReplicaWait * 1000,
    fallback: dbReplicaFallback,
  };
}

/** A connection, and the function that closes it and an embedded database. */
export interface OpenTransport {
  readonly transport: Transport;
  close(): Promise<void>;
}

/** Opens one connection. Rejects with an `Error` of one line if that fails. */
export async function openTransport(
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): Promise<OpenTransport> {
  if (isEmbedded(config.dbUri)) {
    const { connectEmbedded } = await import("./adapters/pglite.ts");
    return await connectEmbedded(embeddedOptions(config, dependencies));
  }
  const { connectPostgres } = await import("./adapters/postgres.ts");
  const transport = await connectPostgres(postgresOptions(config, dependencies));
  return { transport, close: () => Promise.resolve(transport.end()) };
}

function embeddedOptions(
  config: DatabaseConfig,
  { embeddedInit, embeddedExtensions = {} }: DatabaseDependencies,
): EmbeddedOptions {
  return {
    ...commonOptions(config),
    init: embeddedInit,
    pglite: { extensions: embeddedExtensions } as NonNullable<EmbeddedOptions["pglite"]>,
  };
}

function postgresOptions(
  config: DatabaseConfig,
  { applicationName, freesChunks = false, connections = "pooled" }: DatabaseDependencies,
): PostgresOptions {
  return {
    ...commonOptions(config),
    channelUri: config.dbChannelUri ?? null,
    passwordFile: config.dbPasswordFile ?? null,
    applicationName,
    freesChunks,
    namesKeywords: config.dialect.namesApplicationInKeywords,
    connections,
    spoolBytes: config.serverSpoolSize ?? 0,
    poolSize: config.dbPool,
    maxIdleTimeSeconds: config.dbPoolMaxIdletime,
    maxLifetimeSeconds: config.dbPoolMaxLifetime,
  };
}

function commonOptions(config: DatabaseConfig) {
  return {
    uri: config.dbUri,
    acquisitionTimeoutSeconds: config.dbPoolAcquisitionTimeout,
    prepare: config.dbPreparedStatements,
  };
}
