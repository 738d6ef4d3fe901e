/**
 * Opens a database with a fixture in it, once per engine that the service runs on.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { copyFolder } from "./copy_folder.ts";
import { pgliteVariable, prepared, serverVariable } from "./environment.ts";
import { authenticator, type Fixture, fixtureSql } from "./fixture.ts";
import { withClient } from "./postgres_client.ts";

/** A database made for one suite. */
export interface TestDatabase {
  /** What a service under test takes as `db-uri`. */
  readonly uri: string;
  /** The same for a superuser, where several can be connected. */
  readonly superuserUri: string | null;
  /** Removes the database; the service must be closed. */
  remove(): Promise<void>;
}

/** How each engine makes a database. */
export const engines = {
  /** A new database on the shared PostgreSQL server; the service logs in as `authenticator`. */
  pg: openPostgres,
  /** A copy of the shared PGlite folder; PGlite's only user is the superuser `postgres`. */
  pglite: openPglite,
} as const satisfies Record<string, (fixture: Fixture) => Promise<TestDatabase>>;

export type Engine = keyof typeof engines;

async function openPostgres(fixture: Fixture): Promise<TestDatabase> {
  const server = prepared(serverVariable);
  const name = `svc_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const remove = async () => {
    await withClient(server, (client) => client.query(`drop database ${name} with (force)`));
  };
  const sql = await fixtureSql(fixture);
  await withClient(server, async (client) => {
    // Test files that run at the same time may create the same role.
    await client.query("select pg_advisory_lock(hashtext('svc_test'))");
    await client.query(`create database ${name}`);
    await withClient(inDatabase(server, name), (inside) => inside.query(sql))
      .catch((error) => remove().then(() => Promise.reject(error)));
  });
  const superuserUri = inDatabase(server, name);
  return { uri: asAuthenticator(superuserUri), superuserUri, remove };
}

function inDatabase(server: string, database: string): string {
  const uri = new URL(server);
  uri.pathname = `/${database}`;
  return uri.href;
}

function asAuthenticator(server: string): string {
  const uri = new URL(server);
  uri.username = authenticator;
  uri.password = authenticator;
  return uri.href;
}

async function openPglite(fixture: Fixture): Promise<TestDatabase> {
  const pristine = prepared(pgliteVariable);
  const folder = await Deno.makeTempDir({ dir: dirname(pristine) });
  const remove = () => Deno.remove(folder, { recursive: true });
  try {
    const data = join(folder, "data");
    await copyFolder(pristine, data);
    const { pgliteExtensions: extensions = {} } = fixture;
    const database = await PGlite.create(data, { extensions });
    try {
      await database.exec(await fixtureSql(fixture));
    } finally {
      await database.close();
    }
    return { uri: `pglite://${data}`, superuserUri: null, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
