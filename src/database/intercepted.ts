/** A database that passes its transactions to a function. @module */
import type { Database } from "./database.ts";

/** Returns a database that passes its transactions to a function. Closing or changing the returned
 * database has no effect on `database`. */
export function interceptedDatabase(
  database: Pick<Database, "counts" | "version">,
  transaction: Database["transaction"],
): Database {
  return {
    transaction,
    version: () => database.version(),
    counts: () => database.counts(),
    close: () => Promise.resolve(),
  };
}
