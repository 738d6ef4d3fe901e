/** Opens a database with a fixture in it, once per engine that the service runs on. @module */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { copyFolder } from "../server/copy_folder.ts";
import { citusFake, isCitusFaked } from "./citus_fake.ts";
import { pgliteVariable, prepared, serverVariable } from "../runner/environment.ts";
import { authenticator, type Fixture, fixtureSql } from "./fixture.ts";
import { createDatabase, withClient } from "./postgres_client.ts";

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
  /** A copy of a shared PGlite folder; PGlite's only user is the superuser `postgres`. */
  pglite: openPglite,
} as const satisfies Record<string, (fixture: Fixture) => Promise<TestDatabase>>;

export type Engine = keyof typeof engines;

async function openPostgres(fixture: Fixture): Promise<TestDatabase> {
  const server = prepared(serverVariable);
  const name = `svc_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const remove = async () => {
    await withClient(server, (client) => client.query(`drop database ${name} with (force)`));
  };
  const own = await fixtureSql(fixture);
  const sql = isCitusFaked() ? own + citusFake : own;
  await withClient(server, async (client) => {
    // Test files that run at the same time may create the same role.
    await client.query("select pg_advisory_lock(hashtext('svc_test'))");
    await createDatabase(client, name);
    await withClient(inDatabase(server, name), (inside) => inside.query(sql))
      .catch((error) => remove().then(() => Promise.reject(error)));
  });
  const superuserUri = inDatabase(server, name);
  return { uri: asAuthenticator(superuserUri), superuserUri, remove };
}

/** Copies a database to which no session is connected. */
export async function copyPostgres({ superuserUri }: TestDatabase): Promise<TestDatabase> {
  const server = prepared(serverVariable);
  const name = `svc_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const template = new URL(superuserUri!).pathname.slice(1);
  await withClient(server, (client) => createDatabase(client, name, template));
  const copy = inDatabase(server, name);
  const remove = async () => {
    await withClient(server, (client) => client.query(`drop database ${name} with (force)`));
  };
  return { uri: asAuthenticator(copy), superuserUri: copy, remove };
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
  const filled = await filledFolder(fixture);
  const folder = await Deno.makeTempDir({ dir: dirname(filled) });
  const remove = () => Deno.remove(folder, { recursive: true });
  const data = join(folder, "data");
  await copyFolder(filled, data);
  return { uri: `pglite://${data}`, superuserUri: null, remove };
}

/** Returns a folder with the fixture in it, which the first suite of a run that needs it fills. */
async function filledFolder(fixture: Fixture): Promise<string> {
  const pristine = prepared(pgliteVariable);
  const { pgliteExtensions: extensions = {} } = fixture;
  const sql = await fixtureSql(fixture);
  const content = JSON.stringify([sql, Object.keys(extensions)]);
  const hash = createHash("sha256").update(content).digest("hex");
  const filled = join(dirname(pristine), `filled_${hash}`);
  if (existsSync(filled)) return filled;
  const folder = await Deno.makeTempDir({ dir: dirname(pristine) });
  const data = join(folder, "data");
  await copyFolder(pristine, data);
  const database = await PGlite.create(data, { extensions });
  try {
    await database.exec(sql);
  } finally {
    await database.close();
  }
  // Another test file may have filled the same folder in the meantime.
  await Deno.rename(data, filled).catch((error) => {
    if (!existsSync(filled)) throw error;
  });
  await Deno.remove(folder, { recursive: true });
  return filled;
}
