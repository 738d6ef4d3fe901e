/** A database that one task of a command uses. @module */
import { svcDialect } from "../base/dialect.ts";
import type { Database } from "./database.ts";
import { openDatabase } from "./open.ts";

/** Runs a task with a database. The first transaction connects, within `connectTimeout` seconds. */
export async function withServer<Result>(
  uri: string,
  use: (database: Database) => Promise<Result>,
  { connectTimeout = 10 }: { readonly connectTimeout?: number } = {},
): Promise<Result> {
  const database = await openDatabase({
    dbUri: uri,
    dbPool: 1,
    dbPoolAcquisitionTimeout: connectTimeout,
    dbPoolMaxIdletime: 10,
    dbPoolMaxLifetime: 60,
    dbPreparedStatements: false,
    dialect: svcDialect,
  }, {
    embeddedInit: null,
    applicationName: svcDialect.displayName,
    connections: "per-request",
  });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}
