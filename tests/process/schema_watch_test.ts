import { strictEqual } from "node:assert/strict";
import { reloadTriggerSql } from "../../src/state/schema_cache/reload_trigger.ts";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { type PostgresClient, withClient } from "../support/database/postgres_client.ts";
import { type FileConfig, type ServiceProcess, startService } from "../support/server/process.ts";

const schema = `
  create schema watched;
  grant usage on schema watched to anon;
  alter default privileges in schema watched grant select on tables to anon;
  create table watched.film (id int primary key, title text);
`;

/** Runs a service that logs nothing but loads, over a database of its own. */
async function withWatch(
  config: FileConfig,
  prepare: string,
  use: (service: ServiceProcess, admin: PostgresClient) => Promise<void>,
): Promise<void> {
  const database = await engines.pg({ name: "tools", roles: ["anon", "writer"] });
  try {
    await withClient(database.superuserUri!, async (admin) => {
      await admin.query(schema + prepare);
      await using service = await startService({
        "db-uri": database.uri,
        "db-schemas": "watched",
        "db-anon-role": "anon",
        "log-level": "crit",
        ...config,
      });
      await service.listening();
      await use(service, admin);
      strictEqual((await service.stop()).code, 0);
    });
  } finally {
    await database.remove();
  }
}

async function becomes(service: ServiceProcess, line: string, status: number): Promise<void> {
  await eventually(`${line} is ${status}`, async () => {
    const response = await service.fetch(line);
    await response.body?.cancel();
    return response.status === status;
  });
}

/** A session that changed the schema within the last second counts up to ten seconds later. */
async function flushCounters(client: PostgresClient): Promise<void> {
  const { rows } = await client.query(
    "select 1 from pg_proc where proname = 'pg_stat_force_next_flush'",
  );
  if (rows.length > 0) await client.query("select pg_stat_force_next_flush()");
}

/** Number of loads, without a request that could cause one. */
async function loads(service: ServiceProcess): Promise<number> {
  const text = await (await service.fetchAdmin("GET /metrics")).text();
  return Number(/schema_cache_loads_total\{status="SUCCESS"\} (\d+)/.exec(text)?.[1]);
}

Deno.test("the service with db-schema-watch = poll notices DDL without notifications", async () => {
  const config = {
    "db-schema-watch": "poll",
    "db-channel-enabled": false,
  };
  await withWatch(config, "", async (service, admin) => {
    await admin.query("create table watched.made (id int)");
    await service.stderr.waitFor(/: The schema has changed, reloading the schema cache$/);
    await becomes(service, "GET /made", 200);
    const before = await loads(service);
    await admin.query("create temp table film (id int); analyze watched.film");
    await admin.query("alter table watched.film rename column title to name");
    await flushCounters(admin);
    await eventually("one load", async () => await loads(service) > before);
    strictEqual(await loads(service), before + 1);
    await becomes(service, "GET /film?select=name", 200);
  });
});

Deno.test("the service with db-schema-watch = auto polls without an event trigger", async () => {
  await withWatch({ "db-schema-watch": "auto" }, "", async (service, admin) => {
    await service.stderr.waitFor(/Listener connected/);
    await becomes(service, "GET /made", 404);
    await admin.query("create table watched.made (id int)");
    await becomes(service, "GET /made", 200);
    await service.stderr.waitFor(/: The schema has changed, reloading the schema cache$/);
  });
});

Deno.test("the service with db-schema-watch = auto is notified by an event trigger", async () => {
  const config = { "db-schema-watch": "auto", "db-channel": "films" };
  await withWatch(config, reloadTriggerSql("films"), async (service, admin) => {
    await service.stderr.waitFor(/Listener connected/);
    await admin.query("create table watched.made (id int)");
    await service.stderr.waitFor(/Received a schema cache reload message on the "films" channel$/);
    await becomes(service, "GET /made", 200);
  });
});
