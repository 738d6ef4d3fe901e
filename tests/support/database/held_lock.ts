/** An advisory lock that SQL functions of a fixture wait for, so that a test decides when they end
 * and knows when they have begun. @module */
import pg from "pg";
import { eventually } from "../timing/eventually.ts";

/** Waits for the lock in a function of a fixture. */
export const waitForLock = "select pg_catalog.pg_advisory_xact_lock_shared(1)";

/** A lock that a test holds until it is released or disposed of. */
export interface HeldLock extends AsyncDisposable {
  /** Resolves when so many sessions wait for the lock; one unless told. */
  awaited(sessions?: number): Promise<void>;
  /** Lets the sessions go on. */
  release(): Promise<void>;
}

/** Takes the lock of a database. `uri` names a superuser. */
export async function holdLock(uri: string): Promise<HeldLock> {
  const client = new pg.Client({ connectionString: uri });
  // The server may end before the lock is released.
  client.on("error", () => {});
  await client.connect();
  await client.query("select pg_advisory_lock(1)");
  const waiting = `select count(*)::int as waiting from pg_locks
    where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
  return {
    awaited: (sessions = 1) =>
      eventually(`${sessions} sessions wait for the lock`, async () => {
        const { rows } = await client.query(waiting);
        return rows[0].waiting >= sessions;
      }),
    release: async () => void await client.query("select pg_advisory_unlock_all()"),
    [Symbol.asyncDispose]: () => client.end(),
  };
}
