import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { findPgbouncer, type PoolMode, startPgbouncer } from "../support/pgbouncer.ts";
import { withClient } from "../support/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../support/postgres_server.ts";
import { type ServiceProcess, startService } from "../support/process.ts";

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
    $$ select count(*) from pg_catalog.pg_prepared_statements $$;
`;

const program = findPgbouncer();
if (program === null) {
  console.log("PgBouncer is not installed: what it does to the service is not tested.");
}
const ignore = program === null;

let server: PostgresServer;
Deno.test.beforeAll(async () => {
  if (ignore) return;
  server = await startPostgres();
  await withClient(server.uri(), (client) => client.query(schema));
});
Deno.test.afterAll(() => server?.stop());

function startPooler(mode: PoolMode) {
  const login = { port: server.port, user: "authenticator", password: "p" };
  return startPgbouncer(program!, { mode, server: login });
}

function startBehind(port: number, { prepared }: { readonly prepared: boolean }) {
  return startService({
    "db-uri": `postgres://authenticator@127.0.0.1:${port}/postgres`,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "db-pool": 4,
    "db-prepared-statements": prepared,
    "db-channel-enabled": false,
    "log-level": "error",
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
