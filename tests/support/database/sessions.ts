/** SQL in a database with a fixture, on each engine, while a service runs. @module */
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { type Engine, engines } from "./engines.ts";
import type { Fixture } from "./fixture.ts";
import type { PostgresClient } from "./postgres_client.ts";

/** A connection of a superuser. */
export interface Session extends PostgresClient {
  /** Further connections, as a role; PGlite has one. */
  connect(role: string | null): Promise<PostgresClient>;
}

/** Lends a database with a fixture in it. */
export async function withFixture(
  engine: Engine,
  fixture: Fixture,
  use: (session: Session) => Promise<void>,
): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const database = await engines[engine](fixture);
  cleanup.defer(() => database.remove());
  if (engine === "pglite") {
    const session = await PGlite.create(database.uri.slice("pglite://".length));
    cleanup.defer(() => session.close());
    const query: PostgresClient["query"] = async (sql, params) => {
      const results = params === undefined
        ? await session.exec(sql)
        : [await session.query(sql, [...params])];
      return { rows: results.at(-1)!.rows as Readonly<Record<string, unknown>>[] };
    };
    return await use({ query, connect: () => Promise.resolve({ query }) });
  }
  const connect = async (role: string | null) => {
    const uri = role === null ? database.superuserUri! : database.uri;
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    cleanup.defer(() => client.end());
    if (role !== null && role !== "authenticator") await client.query(`set role ${role}`);
    return client;
  };
  await use(Object.assign(await connect(null), { connect }));
}
