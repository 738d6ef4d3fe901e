import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { type PostgresClient, withClient } from "../support/database/postgres_client.ts";
import { configText, type ServiceProcess, startService } from "../support/server/process.ts";

const schema = `
  drop schema api cascade;
  create schema api;
  create schema private;
  create schema v2;
  create table private.base (id int primary key, name text unique);
  create table private.expressions (id int primary key, name text);
  create unique index on private.expressions (lower(name));
  create table api.plain (id int primary key, name text unique default 'x');
  create table api.partial (id int primary key, name text);
  create unique index on api.partial (name) where id > 0;
  create view api.shown as select id, name from private.base;
  create table v2.stock (id int primary key);
  insert into api.plain values (1);
  insert into v2.stock values (2);
  grant usage on schema api, v2 to anon;
  grant select on all tables in schema api, v2 to anon;
`;

interface Parts {
  readonly admin: PostgresClient;
  readonly uri: string;
  readonly superuserUri: string;
}

async function withDatabase(use: (parts: Parts) => Promise<void>): Promise<void> {
  const database = await engines.pg({ name: "tools", roles: ["anon", "writer"] });
  try {
    const superuserUri = database.superuserUri!;
    await withClient(superuserUri, async (admin) => {
      await admin.query(schema);
      await use({ admin, uri: database.uri, superuserUri });
    });
  } finally {
    await database.remove();
  }
}

const options = { "db-anon-role": "anon", "db-extra-search-path": "public" };

async function pidOf(client: PostgresClient): Promise<unknown> {
  return (await client.query("select pg_backend_pid() as pid")).rows[0]!.pid;
}

/** Returns the lines of the log without their times, from one of them on. */
function lines(service: ServiceProcess, after: number, pattern: RegExp): readonly string[] {
  return service.stderr.all.slice(after).map((line) => line.replace(/^[^ ]+ [^ ]+ /, ""))
    .filter((line) => pattern.test(line));
}

async function answer(service: ServiceProcess, line: string, profile = "api") {
  const response = await service.fetch(line, { headers: { "Accept-Profile": profile } });
  return `${response.status} ${await response.text()}`;
}

async function ready(service: ServiceProcess): Promise<readonly unknown[]> {
  const { status } = await service.fetchAdmin("GET /ready");
  const metrics = await (await service.fetchAdmin("GET /metrics")).text();
  const gauge = (name: string) => new RegExp(`^svc_${name} (\\d+)`, "m").exec(metrics)?.[1];
  return [status, gauge("ready"), gauge("database_up"), gauge("schemas_missing")];
}

/** A lock of a session, and whether a reload waits for it. */
const locks: readonly (readonly [statement: string, locked: string | null])[] = [
  ["lock table api.plain in access exclusive mode", null],
  ["lock table private.base in access exclusive mode", null],
  ["lock table v2.stock in access exclusive mode", null],
  ["alter index api.plain_pkey set (fillfactor = 90)", null],
  ["alter table api.partial add column more int", "api.partial"],
  ["lock table private.expressions in access exclusive mode", "private.expressions"],
  ["drop view api.shown", "api.shown"],
  ["lock table pg_catalog.pg_description in access exclusive mode", "the catalogue table 2609"],
];

Deno.test("a reload waits for no lock of a table longer than 5 s, and names its owner", async (t) => {
  await withDatabase(async ({ admin, uri, superuserUri }) => {
    await using service = await startService({
      ...options,
      "db-uri": uri,
      "db-schemas": "api,v2",
    });
    await service.listening();
    for (const [statement, locked] of locks) {
      await t.step(statement, async () => {
        await withClient(superuserUri, async (owner) => {
          await owner.query("set application_name = 'migration'");
          const pid = await pidOf(owner);
          const after = service.stderr.all.length;
          await owner.query(`begin; ${statement}`);
          service.signal("SIGUSR1");
          await service.stderr.waitFor(
            locked === null ? /Schema cache loaded in/ : /Attempting to reconnect/,
            { after },
          );
          deepStrictEqual(
            lines(service, after, /^The schema cache cannot|^Failed/),
            locked === null ? [] : [
              `The schema cache cannot be loaded: process ${pid} (migration) locks ${locked}`,
              "Failed to load the schema cache using db-schemas=api,v2 and " +
              'db-extra-search-path=public. {"code":"55P03","details":null,' +
              '"hint":"Send the request again",' +
              '"message":"canceling statement due to lock timeout"}',
            ],
          );
          deepStrictEqual(await ready(service), [200, "1", "1", "0"]);
          await owner.query("rollback");
          if (locked !== null) {
            await service.stderr.waitFor(/Schema cache loaded in/, { after });
            strictEqual(await answer(service, "GET /plain?select=id"), '200 [{"id":1}]');
          }
        });
      });
    }
    await t.step("a session that waits for a lock is named with the one it waits for", async () => {
      await withClient(superuserUri, async (reader) => {
        await reader.query("begin; select from api.partial");
        const pid = await pidOf(reader);
        const altering = admin.query("alter table api.partial add column more int");
        await eventually("the lock is awaited", async () => {
          const { rows } = await reader.query("select from pg_locks where not granted");
          return rows.length > 0;
        });
        const after = service.stderr.all.length;
        service.signal("SIGUSR1");
        const line = await service.stderr.waitFor(/The schema cache cannot/, { after });
        match(line, new RegExp(`waits behind process ${pid} and then locks api\\.partial$`));
        await reader.query("rollback");
        await altering;
        await service.stderr.waitFor(/Schema cache loaded in/, { after });
      });
    });
    strictEqual((await service.stop()).code, 0);
  });
});

Deno.test("a start waits for the end of a lock, and says so", async () => {
  await withDatabase(async ({ admin, uri }) => {
    await admin.query("begin; lock table api.partial in access exclusive mode");
    await using service = await startService({ ...options, "db-uri": uri, "db-schemas": "api" });
    await service.stderr.waitFor(/The schema cache cannot be loaded: process \d+ .* api\.partial$/);
    deepStrictEqual(await ready(service), [503, "0", "1", undefined]);
    await admin.query("commit");
    await service.listening();
    await service.stderr.waitFor(/Schema cache loaded in/);
    deepStrictEqual(await ready(service), [200, "1", "1", "0"]);
  });
});

const missing = (name: string) => `The schema ${name} does not exist: requests do without it`;

for (const dialect of ["svc", "pgrst"]) {
  Deno.test(`in ${dialect} one missing schema of several is an error and no outage`, async () => {
    await withDatabase(async ({ admin, uri }) => {
      const config = { ...options, dialect, "db-uri": uri, "db-schemas": "api,v2" };
      await using service = await startService({
        ...config,
        "db-extra-search-path": "public,extensions",
      });
      await service.listening();
      deepStrictEqual(lines(service, 0, /does not exist/), [missing("extensions")]);
      const reload = async () => {
        const after = service.stderr.all.length;
        service.signal("SIGUSR1");
        await service.stderr.waitFor(/Schema cache loaded in/, { after });
        return lines(service, after, /does not exist/);
      };
      await admin.query("drop schema v2 cascade; create schema extensions");
      deepStrictEqual(await reload(), [missing("v2")]);
      strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
      strictEqual(await answer(service, "GET /plain?select=id"), '200 [{"id":1}]');
      match(await answer(service, "GET /stock", "v2"), /^404 .*205.*'v2\.stock'/);
      if (dialect === "svc") deepStrictEqual(await ready(service), [200, "1", "1", "1"]);
      await admin.query("create schema v2 create table stock (id int)");
      deepStrictEqual(await reload(), []);
    });
  });
}

Deno.test("a start serves the schemas that exist", async () => {
  await withDatabase(async ({ uri }) => {
    const config = { ...options, "db-uri": uri, "db-schemas": "nothing,api" };
    await using service = await startService(config);
    await service.listening();
    deepStrictEqual(lines(service, 0, /does not exist/), [missing("nothing")]);
    strictEqual(await answer(service, "GET /plain?select=id"), '200 [{"id":1}]');
    deepStrictEqual(await ready(service), [200, "1", "1", "1"]);
  });
});

/** A changed option, and answers with the old and with the new one. */
const changes:
  readonly (readonly [option: string, request: string, before: RegExp, now: RegExp])[] = [
    ['db-schemas = "v2"', "GET /stock", /^406/, /^200 \[\{"id":2\}\]$/],
    ['db-schemas = "v2 < api"', "GET /plain?select=id", /^406/, /^200 \[\{"id":1\}\]$/],
    ['db-schemas = "api,v2,v3"', "GET /stock", /^406/, /^200 \[\{"id":2\}\]$/],
    ["db-max-rows = 0\n", "GET /stock", /^406/, /^406/],
  ];

Deno.test("a reload of the configuration loads what it changes before it is announced", async (t) => {
  await withDatabase(async ({ uri }) => {
    const config = { ...options, "db-uri": uri };
    await using service = await startService({ ...config, "db-schemas": "api" });
    await service.listening();
    const write = async (line: string) => {
      const ports = (await Deno.readTextFile(service.configPath)).split("\n")
        .filter((each) => each.includes("port") || each.includes("log-level")).join("\n");
      const schemas = line.startsWith("db-schemas") ? "" : 'db-schemas = "api"\n';
      await Deno.writeTextFile(
        service.configPath,
        `${configText(config)}\n${schemas}${line}\n${ports}\n`,
      );
      const after = service.stderr.all.length;
      service.signal("SIGUSR2");
      await service.stderr.waitFor(/Config reloaded$|Failed reloading/, { after });
      return lines(service, after, /Config reloaded|Failed/);
    };
    for (const [option, request, before, now] of changes) {
      await t.step(option, async () => {
        match(await answer(service, request, "v2"), before);
        deepStrictEqual(await write(option), ["Config reloaded"]);
        match(await answer(service, request, "v2"), now);
        deepStrictEqual(await write(""), ["Config reloaded"]);
      });
    }
    await t.step("a configuration without a schema that exists is refused", async () => {
      const [line, ...more] = await write('db-schemas = "apii,v3"');
      match(
        line!,
        /^Failed reloading config: Error in config .*: db-schemas: schema "apii" does not exist/,
      );
      deepStrictEqual(more, []);
      await service.stderr.waitFor(/Schema cache loaded in/);
      strictEqual(await answer(service, "GET /plain?select=id"), '200 [{"id":1}]');
      deepStrictEqual(await ready(service), [200, "1", "1", "0"]);
    });
  });
});
