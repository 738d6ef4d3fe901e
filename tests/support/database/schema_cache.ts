/** The schema cache of what some SQL makes: schemas are created in a transaction of the test's
 * database, the cache is loaded in the same transaction, and all is rolled back. @module */
import { strictEqual } from "node:assert/strict";
import { buildSchemaCache, schemaCacheQueries } from "../../../src/state/schema_cache/load.ts";
import { atOnce } from "../timing/at_once.ts";
import { indexSchemaCache } from "../../../src/state/schema_cache/lookups.ts";
import type {
  Relation,
  Routine,
  SchemaCache,
} from "../../../src/state/schema_cache/schema_cache.ts";
import { prepared, serverVariable } from "../runner/environment.ts";
import { createDatabase, type PostgresClient, withClient } from "./postgres_client.ts";
import { relationshipLine } from "./relationship_line.ts";

/** Configuration of a load; by default the schema `api` alone is exposed. */
export interface LoadConfig {
  readonly schemas?: readonly string[];
  readonly extra?: readonly string[];
  readonly settings?: readonly string[];
  /** Whether comments declare keys. */
  readonly tags?: boolean;
}

/** Loads the cache of a database that holds what the SQL makes. */
export type LoadSchemaCache = (sql: string, config?: LoadConfig) => Promise<SchemaCache>;

/** Makes a database for the tests of a file and removes it after them. */
export function schemaCacheLoader(): LoadSchemaCache {
  const name = `svc_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const server = prepared(serverVariable);
  Deno.test.beforeAll(() => withClient(server, (client) => createDatabase(client, name)));
  Deno.test.afterAll(async () => {
    await withClient(server, (client) => client.query(`drop database ${name} with (force)`));
  });
  return (sql, config = {}) => {
    const uri = new URL(server);
    uri.pathname = `/${name}`;
    return withClient(uri.href, async (client) => {
      await client.query("begin");
      await client.query(sql);
      const cache = await load(client, config);
      await client.query("rollback");
      return cache;
    });
  };
}

/** Loads the cache over a connection. */
export async function load(
  client: Pick<PostgresClient, "query">,
  { schemas = ["api"], extra = [], settings = ["statement_timeout"], ...keys }: LoadConfig,
): Promise<SchemaCache> {
  const options = {
    dbSchemas: schemas,
    dbExtraSearchPath: extra,
    dbHoistedTxSettings: settings,
    dbCommentTags: keys.tags ?? false,
  };
  const answers: (readonly unknown[])[] = [];
  for (const { text, params, parse } of schemaCacheQueries(options)) {
    answers.push((await values(client, text, params)).map((row) => parse(row)));
  }
  return indexSchemaCache(atOnce(buildSchemaCache(answers, options)));
}

async function values(
  client: Pick<PostgresClient, "query">,
  text: string,
  params: readonly unknown[],
): Promise<readonly string[]> {
  const { rows } = await client.query(text, [...params]);
  return rows.map((row) => {
    const [value, ...others] = Object.values(row);
    strictEqual(others.length, 0, text);
    strictEqual(typeof value, "string", text);
    return value as string;
  });
}

/** Relationships from one relation of `api` to another (or to all) as lines. */
export function relationshipLines(
  cache: SchemaCache,
  origin: string,
  foreign?: string,
): readonly string[] {
  return cache.relationships({ schema: "api", name: origin }, "api")
    .filter((relationship) => foreign === undefined || relationship.foreign.name === foreign)
    .map(relationshipLine);
}

/** A relation of `api`. */
export function relation(cache: SchemaCache, name: string): Relation {
  return cache.relation({ schema: "api", name })!;
}

/** The only function of `api` with a name. */
export function routine(cache: SchemaCache, name: string): Routine {
  const [only, ...others] = cache.routines({ schema: "api", name });
  strictEqual(others.length, 0);
  return only!;
}
