/** Waits until sessions of the test's database wait for locks. Other tests use the same server, and
 * their locks do not count. @module */
import { eventually } from "../timing/eventually.ts";
import type { PostgresClient } from "./postgres_client.ts";

/**
 * A lock on a row names no database, so that a session is known by the locks that it holds. They
 * are read again even in an open transaction, unlike `pg_stat_activity`.
 */
const blocked = `
  select count(distinct pid)::int as sessions from pg_locks
  where not granted and pid in (
    select pid from pg_locks
    where database = (select oid from pg_database where datname = current_database())
  )`;

/** Resolves when so many sessions wait for a lock; one unless told. */
export async function sessionsAreBlocked(
  client: Pick<PostgresClient, "query">,
  sessions = 1,
): Promise<void> {
  await eventually(`${sessions} sessions wait for a lock`, async () => {
    const { rows } = await client.query(blocked);
    return Number(rows[0]!["sessions"]) >= sessions;
  });
}
