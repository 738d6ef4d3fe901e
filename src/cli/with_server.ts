/** Reads from a server, over one connection per transaction. @module */
import type { Database } from "../database/database.ts";
import { openDatabase } from "../database/open.ts";
import { svcDialect } from "../dialect.ts";

/** Lends a database. It connects with the first transaction. */
export async function withServer<Result>(
  uri: string,
  use: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase({
    dbUri: uri,
    dbPool: 1,
    dbPoolAcquisitionTimeout: 10,
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
