import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import pg from "pg";
import { PGlite } from "@electric-sql/pglite";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { svcDialect } from "../../src/base/dialect.ts";
import { reloadTriggerSql } from "../../src/state/schema_cache/reload_trigger.ts";
import { schemaStateReader } from "../../src/state/app_state/schema_watch.ts";
import { quoteIdent } from "../../src/base/sql/fragment.ts";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { type PostgresClient, withClient } from "../support/database/postgres_client.ts";

const fixture = { name: "tools", roles: ["anon", "writer"] };

const start = `
  create schema watched;
  create schema hidden;
  create table watched.film (id int primary key, title text);
  create table hidden.reel (id int primary key);
  create view watched.reels as select id from hidden.reel;
  create type watched.mood as enum ('calm');
  create materialized view watched.titles as select title from watched.film;
  create function watched.first() returns int language sql as 'select 1';
  insert into watched.film select n, 'film ' || n from generate_series(1, 100) n;
`;

type Change = "unchanged" | "changed";

/** Statements, and whether they change the write counters and the fingerprint. */
const changes: readonly (readonly [sql: string, counters: Change, fingerprint: Change])[] = [
  ["create table watched.made (id int)", "changed", "changed"],
  ["alter table watched.made add column name text", "changed", "changed"],
  ["alter table watched.made rename column name to label", "changed", "changed"],
  ["alter table watched.made alter column label type varchar(9)", "changed", "changed"],
  ["alter table watched.made alter column label set default 'x'", "changed", "changed"],
  ["alter table watched.made alter column label set default 'y'", "changed", "changed"],
  ["alter table watched.made alter column label set not null", "changed", "changed"],
  ["alter table watched.made drop column label", "changed", "changed"],
  ["alter table watched.made add primary key (id)", "changed", "changed"],
  ["alter table watched.made enable row level security", "changed", "changed"],
  ["alter table watched.made rename to renamed", "changed", "changed"],
  ["comment on table watched.renamed is 'new'", "changed", "changed"],
  ["comment on column watched.film.title is 'new'", "changed", "changed"],
  ["comment on schema watched is 'new'", "changed", "changed"],
  ["create view watched.long as select * from watched.film", "changed", "changed"],
  ["create or replace view watched.long as select * from watched.film where id > 1", ...both()],
  ["alter view watched.long set (security_barrier = true)", "changed", "changed"],
  ["create function watched.second() returns int language sql as 'select 2'", ...both()],
  ["create or replace function watched.second() returns int language sql as 'select 3'", ...both()],
  ["drop function watched.second()", "changed", "changed"],
  ["alter type watched.mood add value 'wild'", "changed", "changed"],
  ["create domain watched.name as text", "changed", "changed"],
  ["drop table watched.renamed", "changed", "changed"],
  ["alter table hidden.reel add column next int references hidden.reel", "changed", "changed"],
  ["create table hidden.other (id int)", "changed", "unchanged"],
  [
    "create table hidden.dropped (id int primary key); drop table hidden.dropped",
    "changed",
    "unchanged",
  ],
  ["drop extension plpgsql", "changed", "changed"],
  ["create extension plpgsql", "changed", "changed"],
  ["create temp table film (id int primary key)", "changed", "unchanged"],
  ["create index on watched.film (title)", "changed", "unchanged"],
  ["grant select on watched.film to anon", "changed", "unchanged"],
  ["truncate watched.film", "changed", "unchanged"],
  ["refresh materialized view watched.titles", "changed", "unchanged"],
  ["insert into watched.film values (1000, 'new')", "unchanged", "unchanged"],
  ["update watched.film set title = 'old'", "unchanged", "unchanged"],
  ["delete from watched.film", "unchanged", "unchanged"],
  ["analyze watched.film", "unchanged", "unchanged"],
  ["vacuum watched.film", "unchanged", "unchanged"],
];

function both(): readonly ["changed", "changed"] {
  return ["changed", "changed"];
}

function open(uri: string): Promise<Database> {
  return openDatabase({
    dbUri: uri,
    dbPool: 1,
    dbPoolAcquisitionTimeout: 5,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 30,
    dbPreparedStatements: true,
    dialect: svcDialect,
  }, { embeddedInit: null, applicationName: "test" });
}

/** Lends a client that makes the server add to the counters at the end of each statement. */
async function withChangedDatabase(
  run: (client: PostgresClient, database: Database) => Promise<void>,
): Promise<void> {
  const created = await engines.pg(fixture);
  const database = await open(created.uri);
  try {
    await withClient(created.superuserUri!, async (client) => {
      await client.query(start);
      await run(client, database);
    });
  } finally {
    await database.close();
    await created.remove();
  }
}

/** PostgreSQL 14 has no function that adds to the counters at once. */
async function flushCounters(client: PostgresClient): Promise<boolean> {
  const { rows } = await client.query(
    "select 1 from pg_proc where proname = 'pg_stat_force_next_flush'",
  );
  if (rows.length === 0) return false;
  await client.query("select pg_stat_force_next_flush()");
  return true;
}

Deno.test("schemaStateReader() reads counters and a fingerprint that DDL changes", async (t) => {
  await withChangedDatabase(async (client, database) => {
    const reader = schemaStateReader(database);
    const isFlushed = await flushCounters(client);
    const read = async () => ({
      counters: (await reader.writeCounters()).sum,
      fingerprint: await reader.fingerprint(["watched", "public"]),
    });
    strictEqual((await reader.writeCounters()).isCounted, true);
    for (const [sql, counters, fingerprint] of changes) {
      await t.step(sql, async () => {
        const before = await read();
        for (const statement of sql.split(";")) await client.query(statement);
        await flushCounters(client);
        const after = await read();
        const compare = (key: keyof typeof after): Change =>
          before[key] === after[key] ? "unchanged" : "changed";
        strictEqual(compare("fingerprint"), fingerprint);
        if (isFlushed) strictEqual(compare("counters"), counters);
      });
    }
    await client.query(
      "do $$ begin execute format('alter database %I set track_counts = off', current_database()); " +
        "end $$",
    );
    database.pool!.flush();
    await t.step("track_counts = off", async () => {
      strictEqual((await reader.writeCounters()).isCounted, false);
    });
  });
});

Deno.test("schemaStateReader() reads the fingerprint of an embedded database", async () => {
  const created = await engines.pglite(fixture);
  const database = await open(created.uri);
  const run = (text: string) =>
    database.transaction({
      access: "read write",
      block: { isolation: "read committed", end: "commit" },
      statements: text.split(";").map((part) => ({ text: part, params: [], use: "none" })),
      planContext: null,
      kind: null,
    });
  try {
    const reader = schemaStateReader(database);
    await run(start.trim().replace(/;$/, ""));
    const read = () => reader.fingerprint(["watched"]);
    const first = await read();
    await run("create temp table film (id int)");
    strictEqual(await read(), first);
    await run("alter table watched.film add column made date");
    strictEqual(await read() === first, false);
    strictEqual(typeof (await reader.writeCounters()).sum, "string");
    strictEqual(await reader.hasReloadTrigger("svc"), false);
  } finally {
    await database.close();
    await created.remove();
  }
});

/** Statements, each of which is one transaction, and the number of notifications. */
const notifications: readonly (readonly [sql: string, count: number])[] = [
  ["create temp table gone (id int primary key)", 0],
  ["drop table gone", 0],
  ["create index on watched.film (title)", 0],
  ["drop index watched.film_title_idx", 0],
  ["grant select on watched.film to anon", 0],
  ["create policy p on watched.film using (true)", 0],
  ["refresh materialized view watched.titles", 0],
  ["insert into watched.film values (1000, 'new')", 0],
  ["truncate watched.film", 0],
  ["comment on table watched.film is 'new'", 1],
  ["alter table watched.film add column made date", 1],
  ["alter table watched.film drop column made", 1],
  ["create table watched.copy as select * from watched.film", 1],
  ["select id into watched.ids from watched.film", 1],
  ["create table watched.one (id int); create table watched.two (id int)", 1],
  ["drop table watched.one, watched.two", 1],
  ["create function watched.second() returns int language sql as 'select 2'", 1],
  ["drop function watched.second()", 1],
  ["alter type watched.mood add value 'wild'", 1],
  ["create schema other", 1],
  ["drop schema other", 1],
];

/** A connection that runs SQL, with the payloads of the notifications that it receives. */
interface Listening {
  run(sql: string): Promise<void>;
  /** Payloads since the last call. */
  received(): Promise<readonly string[]>;
}

async function withListening(
  engine: "pg" | "pglite",
  channel: string,
  use: (listening: Listening) => Promise<void>,
): Promise<void> {
  const created = await engines[engine](fixture);
  const payloads: string[] = [];
  const [run, close] = engine === "pg"
    ? await connectPostgres(created.superuserUri!, payloads)
    : await connectPglite(created.uri, payloads);
  let probes = 0;
  try {
    await run(`listen ${quoteIdent(channel)}`);
    await use({
      run,
      async received() {
        const probe = `probe ${++probes}`;
        await run(`select pg_notify('${channel.replaceAll("'", "''")}', '${probe}')`);
        await eventually("the probe arrives", async () => {
          await run("select 1");
          return payloads.at(-1) === probe;
        });
        return payloads.splice(0).slice(0, -1);
      },
    });
  } finally {
    await close();
    await created.remove();
  }
}

type Connected = readonly [run: (sql: string) => Promise<void>, close: () => Promise<void>];

async function connectPostgres(uri: string, payloads: string[]): Promise<Connected> {
  const client = new pg.Client({ connectionString: uri });
  client.on(
    "notification",
    (message: { readonly payload?: string }) => void payloads.push(message.payload ?? ""),
  );
  await client.connect();
  return [(sql) => client.query(sql).then(() => {}), () => client.end()];
}

async function connectPglite(uri: string, payloads: string[]): Promise<Connected> {
  const client = await PGlite.create(uri.slice("pglite://".length));
  client.onNotification((_, payload) => void payloads.push(payload));
  return [(sql) => client.exec(sql).then(() => {}), () => client.close()];
}

for (const engine of ["pg", "pglite"] as const) {
  Deno.test(`reloadTriggerSql() notifies of DDL once per transaction, on ${engine}`, async (t) => {
    await withListening(engine, "svc", async ({ run, received }) => {
      await run(start);
      for (let time = 0; time < 2; time++) await run(reloadTriggerSql("svc"));
      await received();
      for (const [sql, count] of notifications) {
        await t.step(sql, async () => {
          await run(sql);
          deepStrictEqual(await received(), Array(count).fill("reload schema"));
        });
      }
    });
  });
}

Deno.test("reloadTriggerSql() is the SQL of the documentation", async () => {
  const page = new URL("../../docs/how-to/reload-after-schema-changes.md", import.meta.url);
  ok((await Deno.readTextFile(page)).includes(reloadTriggerSql("svc")));
});

for (
  const channel of ["svc", "it's", 'a "b; drop schema api; --', "$svc$ end; $$", "back\\slash"]
) {
  Deno.test(`reloadTriggerSql() notifies the channel ${channel}`, async () => {
    await withListening("pg", channel, async ({ run, received }) => {
      await run(reloadTriggerSql(channel));
      await run("create table made (id int)");
      deepStrictEqual(await received(), ["reload schema"]);
    });
  });
}

const none = "create function f() returns event_trigger language plpgsql as $$ begin null; end $$;";
const trigger = (event: string) => `create event trigger t on ${event} execute function f();`;
const notifies = (statement: string) =>
  `create function f() returns event_trigger language plpgsql as $$ begin ${statement}; end $$;`;

/** SQL, the channel, and whether an event trigger notifies it. */
const triggers: readonly (readonly [sql: string, channel: string, expected: boolean])[] = [
  ["select 1", "svc", false],
  [reloadTriggerSql("svc"), "svc", true],
  [reloadTriggerSql("it's"), "it's", true],
  [reloadTriggerSql("svc"), "other", false],
  [reloadTriggerSql("svc"), "sv", false],
  [reloadTriggerSql("svc") + "alter event trigger svc_reload_on_ddl disable", "svc", false],
  [reloadTriggerSql("svc") + "alter event trigger svc_reload_on_ddl enable always", "svc", true],
  [none + trigger("ddl_command_end"), "svc", false],
  [notifies("notify svc, 'reload schema'") + trigger("ddl_command_end"), "svc", true],
  [notifies("NOTIFY pgrst") + trigger("ddl_command_end"), "pgrst", true],
  [notifies('notify "svc"') + trigger("ddl_command_end"), "svc", true],
  [notifies("notify svc2") + trigger("ddl_command_end"), "svc", false],
  [notifies("notify svc") + trigger("sql_drop"), "svc", false],
  [notifies("notify svc"), "svc", false],
];

Deno.test("hasReloadTrigger() finds an enabled event trigger that notifies the channel", async (t) => {
  await withChangedDatabase(async (client, database) => {
    const reader = schemaStateReader(database);
    for (const [sql, channel, expected] of triggers) {
      await t.step(`${channel}: ${sql.slice(0, 120)}`, async () => {
        await client.query(sql);
        strictEqual(await reader.hasReloadTrigger(channel), expected);
        await client.query(
          "drop event trigger if exists t; drop function if exists f(); " +
            "drop schema if exists svc_private cascade",
        );
      });
    }
  });
});
