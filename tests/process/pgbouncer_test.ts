import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { openDatabase } from "../../src/database/open.ts";
import { reloadTriggerSql } from "../../src/state/schema_cache/reload_trigger.ts";
import { findPgbouncer, type PoolMode, startPgbouncer } from "../support/database/pgbouncer.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../support/database/postgres_server.ts";
import { startRewritingProxy } from "../support/database/rewriting_proxy.ts";
import { type FileConfig, type ServiceProcess, startService } from "../support/server/process.ts";

/** The probe at the start leaves its statement on a server connection of the pooler. */
const schema = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  grant usage on schema api to anon;
  create table api.items (id int primary key, name text);
  insert into api.items select n, 'item ' || n from generate_series(1, 20) n;
  grant select, insert, update, delete on api.items to anon;
  create function api.slow() returns int language sql as
    $$ select 1 from pg_catalog.pg_sleep(0.1) $$;
  create function api.rest(seconds float) returns int stable language plpgsql as
    $$ begin perform pg_catalog.pg_sleep(seconds); return 1; end $$;
  create function api.prepared() returns bigint stable language sql as
    $$ select count(*) from pg_catalog.pg_prepared_statements where name !~ '^svc_probe' $$;
`;

const program = findPgbouncer();
if (program === null) {
  console.log("PgBouncer is not installed: what it does to the service is not tested.");
}
const ignore = program === null;

let server: PostgresServer;
Deno.test.beforeAll(async () => {
  if (ignore) return;
  server = await startPostgres({ cluster: "copied" });
  await withClient(server.uri(), (client) => client.query(schema));
});
Deno.test.afterAll(() => server?.stop());

function startPooler(mode: PoolMode) {
  const login = { port: server.port, user: "authenticator", password: "p" };
  return startPgbouncer(program!, { mode, server: login });
}

function startBehind(
  port: number,
  { prepared, ...config }: { readonly prepared: boolean | "auto" } & FileConfig,
) {
  return startService({
    "db-uri": `postgres://authenticator@127.0.0.1:${port}/postgres`,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "db-pool": 4,
    "db-prepared-statements": prepared,
    "db-channel-enabled": false,
    "log-level": "error",
    ...config,
  });
}

/** Requests of different shapes at the same time, so that the pooler uses all its connections. */
async function burst(service: ServiceProcess): Promise<readonly number[]> {
  const lines = Array.from(
    { length: 24 },
    (_, at) =>
      at % 3 === 0
        ? "POST /rpc/slow"
        : at % 3 === 1
        ? `GET /items?id=eq.${at}`
        : `PATCH /items?id=eq.${at % 20 + 1}`,
  );
  return await Promise.all(lines.map(async (line) => {
    const body = line.startsWith("PATCH") ? { body: { name: "changed" } } : {};
    const response = await service.fetch(line, body);
    await response.body?.cancel();
    return response.status;
  }));
}

Deno.test({
  name:
    'with db-prepared-statements = "auto" 1,000 requests work behind a pooler in transaction mode',
  ignore,
  fn: async () => {
    await using pooler = await startPooler("transaction");
    await using service = await startBehind(pooler.port, {
      prepared: "auto",
      "log-level": "error",
    });
    await service.listening();
    const unnamed = /: Prepared statements do not outlast a transaction, /;
    strictEqual(service.stderr.all.filter((line) => unnamed.test(line)).length, 1);
    for (let round = 0; round < 40; round++) {
      const statuses = await Promise.all(Array.from({ length: 25 }, async (_, at) => {
        const isWrite = at % 5 === 0;
        const body = isWrite ? { body: { name: `changed ${round}` } } : {};
        const line = `${isWrite ? "PATCH" : "GET"} /items?id=eq.${at % 20 + 1}`;
        const response = await service.fetch(line, body);
        await response.body?.cancel();
        return response.status;
      }));
      ok(statuses.every((status) => status === 200 || status === 204), statuses.join(" "));
    }
    strictEqual(await (await service.fetch("GET /rpc/prepared")).json(), 0);
    strictEqual((await service.stop()).code, 0);
    strictEqual(service.stderr.all.filter((line) => unnamed.test(line)).length, 1);
  },
});

Deno.test({
  name:
    'with db-prepared-statements = "auto" statements are prepared behind a pooler in session mode',
  ignore,
  fn: async () => {
    await using pooler = await startPooler("session");
    await using service = await startBehind(pooler.port, { prepared: "auto" });
    await service.listening();
    await service.fetch("GET /items?id=eq.3").then((response) => response.body?.cancel());
    const kept = await (await service.fetch("GET /rpc/prepared")).json();
    ok(kept > 0, `${kept} prepared statements`);
    strictEqual((await service.stop()).code, 0);
    strictEqual(service.stderr.all.some((line) => line.includes("unnamed")), false);
  },
});

Deno.test({
  name: 'with db-prepared-statements = "auto" no request notices that a pooler is put between',
  ignore,
  fn: async () => {
    await using pooler = await startPooler("transaction");
    await using proxy = startRewritingProxy(server.port);
    await using service = await startService({
      "db-uri":
        `postgres://authenticator:p@127.0.0.1:${proxy.port}/postgres?sslmode=disable&application_name=`,
      "db-schemas": "api",
      "db-anon-role": "anon",
      "db-pool": 4,
      "db-prepared-statements": "auto",
      "db-channel-enabled": false,
      "log-level": "error",
    });
    await service.listening();
    await burst(service);
    ok(await (await service.fetch("GET /rpc/prepared")).json() > 0);
    proxy.redirect(pooler.port);
    let unnamed = false;
    service.stderr.waitFor(/: statements are unnamed from now on$/).then(() => unnamed = true);
    const codes = new Set<number>();
    for (let round = 0; round < 50 && !unnamed; round++) {
      for (const status of await burst(service)) codes.add(status);
    }
    ok(unnamed);
    codes.delete(200);
    codes.delete(204);
    // Those of connections that were cut.
    codes.delete(503);
    deepStrictEqual([...codes], []);
    strictEqual((await service.stop()).code, 0);
  },
});

const working: readonly (readonly [mode: PoolMode, prepared: boolean])[] = [
  ["session", true],
  ["session", false],
  ["transaction", false],
];

for (const [mode, prepared] of working) {
  const name = `behind a pooler in ${mode} mode ${
    prepared ? "with" : "without"
  } prepared statements`;
  Deno.test({
    name: `the service works ${name}`,
    ignore,
    fn: async () => {
      await using pooler = await startPooler(mode);
      await using service = await startBehind(pooler.port, { prepared });
      await service.listening();
      for (let round = 0; round < 5; round++) {
        const statuses = await burst(service);
        ok(statuses.every((status) => status === 200 || status === 204), statuses.join(" "));
      }
      const response = await service.fetch("GET /items?id=eq.3&select=name");
      deepStrictEqual(await response.json(), [{ name: "changed" }]);
      const kept = await (await service.fetch("GET /rpc/prepared")).json();
      strictEqual(kept > 0, prepared, `${kept} prepared statements`);
      strictEqual((await service.stop()).code, 0);
    },
  });
}

Deno.test({
  name: "a pooler bears that calls are cancelled",
  ignore,
  fn: async () => {
    await using pooler = await startPooler("session");
    await using service = await startBehind(pooler.port, { prepared: true });
    await service.listening();
    const ask = async (seconds: number) => {
      const response = await service.fetch(`GET /rpc/rest?seconds=${seconds}`);
      await response.body?.cancel();
      return response.status;
    };
    for (let round = 0; round < 12; round++) {
      const slowest = round % 2 === 1 ? 5 : -1;
      const all = Array.from({ length: 20 }, (_, at) => ask(at === slowest ? 0.5 : 0));
      deepStrictEqual(new Set(await Promise.all(all)), new Set([200]));
    }
  },
});

Deno.test({
  name: "the service ends with 1 behind a pooler in transaction mode with prepared statements",
  ignore,
  fn: async () => {
    await using pooler = await startPooler("transaction");
    await using service = await startBehind(pooler.port, { prepared: true });
    await service.listening();
    let ended = false;
    service.status.then(() => ended = true);
    for (let round = 0; round < 50 && !ended; round++) await burst(service).catch(() => []);
    strictEqual((await service.status).code, 1);
    await service.stderr.ended;
    match(
      service.stderr.all.at(-1)!,
      /: If you are using connection poolers in transaction mode, try setting db-prepared-statements to false\. \{"code":"26000",/,
    );
  },
});

for (const prepared of [true, false]) {
  const how = prepared ? "with" : "without";
  Deno.test({
    name: `the service ends with 1 behind a pooler in statement mode ${how} prepared statements`,
    ignore,
    fn: async () => {
      await using pooler = await startPooler("statement");
      await using service = await startBehind(pooler.port, { prepared });
      strictEqual((await service.status).code, 1);
      await service.stderr.ended;
      match(
        service.stderr.all.at(-1)!,
        /: Connection poolers in statement mode are not supported\. \{"code":"08P01",/,
      );
    },
  });
}

/** Opens the database as the service does, and sends itself a notification. */
async function notifyItself(port: number) {
  const database = await openDatabase({
    dbUri: `postgres://authenticator@127.0.0.1:${port}/postgres`,
    dbPool: 1,
    dbPoolAcquisitionTimeout: 5,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 30,
    dbPreparedStatements: false,
    dialect: { namesApplicationInKeywords: true },
  }, { embeddedInit: null, applicationName: "test" });
  const { promise, resolve } = Promise.withResolvers<string>();
  const subscription = await database.notifications!.subscribe("svc", {
    notified: resolve,
    lost: resolve,
  });
  await database.notifications!.notify!("svc", "it's a probe");
  return { arrived: promise, close: () => subscription.close().then(() => database.close()) };
}

Deno.test({
  name: "behind a pooler in session mode notifications arrive",
  ignore,
  fn: async () => {
    await using pooler = await startPooler("session");
    const { arrived, close } = await notifyItself(pooler.port);
    strictEqual(await arrived, "it's a probe");
    await close();
  },
});

Deno.test({
  name: "the service with db-schema-watch = auto polls where a pooler loses notifications",
  ignore,
  fn: async () => {
    await using pooler = await startPooler("transaction");
    await withClient(server.uri(), (client) => client.query(reloadTriggerSql("svc")));
    await using service = await startBehind(pooler.port, {
      prepared: false,
      "db-channel-enabled": true,
      "db-schema-watch": "auto",
      "log-level": "crit",
    });
    await service.listening();
    await service.stderr.waitFor(
      /: WARNING: Notifications on the "svc" channel do not arrive, so that the schema is polled\. /,
    );
    await withClient(server.uri(), (client) => client.query("create table api.made (id int)"));
    await service.stderr.waitFor(/: The schema has changed, reloading the schema cache$/);
    strictEqual((await service.stop()).code, 0);
  },
});

Deno.test({
  name: "the service with db-channel-uri reloads at a notification, past the pooler",
  ignore,
  fn: async () => {
    await using pooler = await startPooler("transaction");
    await using service = await startBehind(pooler.port, {
      prepared: false,
      "db-channel-enabled": true,
      "db-channel-uri": server.uri({ user: "authenticator", password: "p" }),
      "log-level": "info",
    });
    await service.listening();
    await service.stderr.waitFor(
      new RegExp(`Listener connected .* on "127\\.0\\.0\\.1:${server.port}"`),
    );
    await withClient(server.uri(), (client) => client.query("create table api.told (id int)"));
    await withClient(server.uri(), (client) => client.query("notify svc, 'reload schema'"));
    await service.stderr.waitFor(
      /Schema cache loaded 2 Relations|Schema cache loaded [3-9] Relations/,
    );
    strictEqual((await service.stop()).code, 0);
  },
});

/** Whether each dialect tells at this level that notifications are lost. */
const tellers: readonly (readonly [dialect: string, level: string, isTold: boolean])[] = [
  ["svc", "crit", true],
  ["pgrst", "warn", true],
  ["pgrst", "error", false],
];

for (const [dialect, level, isTold] of tellers) {
  const verb = isTold ? "warns" : "does not warn";
  Deno.test({
    name: `in ${dialect} the service at ${level} ${verb} that a pooler loses notifications`,
    ignore,
    fn: async () => {
      await using pooler = await startPooler("transaction");
      await using service = await startBehind(pooler.port, {
        prepared: false,
        "db-channel-enabled": true,
        "log-level": level,
        dialect,
      });
      await service.listening();
      await service.stderr.waitFor(/Listener connected .* listening for database notifications/);
      strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
      const warning = new RegExp(
        `: WARNING: Notifications on the "${dialect}" channel do not arrive, so that they cause ` +
          "no reload\\. Poolers in transaction mode lose LISTEN: ",
      );
      if (isTold) await service.stderr.waitFor(warning);
      else {
        // The service of the other rows is as old when it warns.
        await using witness = await startBehind(pooler.port, {
          prepared: false,
          "db-channel-enabled": true,
          "log-level": "warn",
          dialect,
        });
        await witness.stderr.waitFor(warning);
        strictEqual(service.stderr.all.some((line) => warning.test(line)), false);
      }
      deepStrictEqual(await (await service.fetch("GET /items?id=eq.7&select=id")).json(), [{
        id: 7,
      }]);
      strictEqual((await service.stop()).code, 0);
    },
  });
}
