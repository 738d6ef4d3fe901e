/** A database whose transactions a function takes. @module */
import type { Database } from "./database.ts";

/** Returns a database that passes on no transaction by itself. Closing and changing it has no effect on `database`. */
export function interceptedDatabase(
  database: Pick<Database, "counts" | "version">,
  transaction: Database["transaction"],
): Database {
  const ignore = () => {};
  return {
    transaction,
    version: () => database.version(),
    counts: () => database.counts(),
    close: () => Promise.resolve(),
    subscribe: null,
    flush: ignore,
    configure: ignore,
    watch: ignore,
  };
}
