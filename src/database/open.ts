/** Opens the database that a connection string names. Imports an adapter when it is first needed,
 * so that runtimes without sockets or WASM never load an adapter that needs them. @module */
import type { Database, DatabaseConfig, DatabaseDependencies } from "./database.ts";
import type { Transport } from "./transport.ts";

export function isEmbedded(uri: string): boolean {
  return uri.startsWith("pglite://");
}

export async function openDatabase(
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): Promise<Database> {
  if (isEmbedded(config.dbUri)) {
    const { openEmbedded } = await import("./adapters/pglite.ts");
    return openEmbedded(config, dependencies);
  }
  if ((config.dbReplicaUri ?? null) !== null) {
    const { openReplicated } = await import("./adapters/replicas.ts");
    return openReplicated(config, dependencies);
  }
  const { openPostgres } = await import("./adapters/postgres.ts");
  return openPostgres(config, dependencies);
}

/** A connection, and the function that closes it. The function also closes an embedded database. */
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
    return await connectEmbedded(config, dependencies);
  }
  const { targetsOf } = await import("./adapters/postgres.ts");
  const { connect } = await import("./adapters/socket_transport.ts");
  const transport = await connect(targetsOf(config, dependencies));
  return { transport, close: () => Promise.resolve(transport.end()) };
}
