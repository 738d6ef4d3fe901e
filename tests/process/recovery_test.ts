import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { eventually } from "../support/timing/eventually.ts";
import { freePort } from "../support/server/free_port.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { startRewritingProxy } from "../support/database/rewriting_proxy.ts";
import { type FileConfig, type ServiceProcess, startService } from "../support/server/process.ts";
import { answer } from "../support/handler/rows.ts";

const schema = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  grant usage on schema api to anon;
  create table api.items (id int primary key);
  grant select on api.items to anon;
  create function api.fail(code text, message text) returns int language plpgsql
    as $$ begin raise exception using errcode = code, message = message; end $$;
  create function api.prepare_twice() returns int language plpgsql
    as $$ begin execute 'prepare svc_1 as select 1'; execute 'prepare svc_1 as select 1'; end $$;
`;

const server = await startPostgres({ cluster: "copied" });
Deno.test.afterAll(() => server.stop());
await withClient(server.uri(), (client) => client.query(schema));

const config: FileConfig = {
  "db-uri": server.uri({ user: "authenticator", password: "p" }),
  "db-schemas": "api",
  "db-anon-role": "anon",
  "server-host": "127.0.0.1",
  "log-level": "crit",
};

/** Lines without their time. */
function texts(service: ServiceProcess, after = 0): readonly string[] {
  return service.stderr.all.slice(after).map((line) => line.replace(/^\S+ \S+: /, ""));
}

async function terminateAll(): Promise<void> {
  await withClient(server.uri(), (client) =>
    client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator'",
    ));
}

async function statusOf(service: ServiceProcess, line: string): Promise<number> {
  const response = await service.fetch(line);
  await response.body?.cancel();
  return response.status;
}

const uriOf = (database: string, password: string) =>
  server.uri({ user: "authenticator", database, password });

/** A configuration that the service cannot live with, and what it says at last. */
const ends: readonly (readonly [title: string, config: FileConfig, last: RegExp])[] = [
  [
    "a wrong password",
    { "db-uri": uriOf("postgres", "wrong") },
    /^Failed to establish a connection\. \{"code":"SVC000","details":"connection to server at \\"127\.0\.0\.1\\", port \d+ failed: FATAL: {1,2}password authentication failed for user \\"authenticator\\"","hint":null,"message":"Database connection error\."\}$/,
  ],
  [
    "no password",
    { "db-uri": server.uri({ user: "authenticator" }).replace(/:[^:@/]*@/, "@") },
    /^Failed to establish a connection\. .*fe_sendauth: no password supplied/,
  ],
  [
    "an unknown database and no recovery",
    { "db-uri": uriOf("nothing", "p"), "db-pool-automatic-recovery": false },
    /^Automatic recovery disabled, exiting\.$/,
  ],
  [
    "no server and no recovery",
    {
      "db-uri": `postgres://u:p@127.0.0.1:${freePort()}/x`,
      "db-pool-automatic-recovery": false,
      "db-channel-enabled": false,
    },
    /^Automatic recovery disabled, exiting\.$/,
  ],
];

for (const [title, change, last] of ends) {
  Deno.test(`the process ends with 1 for ${title}`, async () => {
    await using service = await startService({ ...config, ...change });
    const { code } = await service.status;
    await service.stderr.ended;
    strictEqual(code, 1);
    // The listener may have failed just then, too.
    strictEqual(texts(service).filter((line) => last.test(line)).length, 1);
    ok(!texts(service).join("\n").includes("wrong"));
  });
}

/** The start of a failed command's output, by its option. */
const refusals = [
  ["--dump-config", "Failed to establish a connection. "],
  ["--dump-schema", "Failed to establish a connection. "],
  ["--types", "svc: cannot connect to the database: "],
] as const;

for (const [option, start] of refusals) {
  Deno.test(`${option} with a wrong password prints nothing, says why and ends with 1`, async () => {
    const wrong = { ...config, "db-uri": uriOf("postgres", "wrong") };
    await using service = await startService(wrong, { args: [option] });
    strictEqual((await service.status).code, 1);
    await Promise.all([service.stdout.ended, service.stderr.ended]);
    deepStrictEqual(service.stdout.all, []);
    const [first = ""] = texts(service);
    ok(first.startsWith(start), first);
    match(first, /password authentication failed/);
    strictEqual(service.stderr.all.length, 2);
  });
}

Deno.test("without recovery the process says what it could not recover from", async () => {
  const unknown = { ...config, "db-uri": uriOf("nothing", "p"), "db-channel-enabled": false };
  const lonely = { ...unknown, "db-pool-automatic-recovery": false };
  await using service = await startService(lonely);
  await service.status;
  await service.stderr.ended;
  match(texts(service).at(-2)!, /^Failed to query the PostgreSQL version\. .*does not exist/);
  await using dump = await startService(lonely, { args: ["--dump-schema"] });
  strictEqual((await dump.status).code, 1);
  await dump.stderr.ended;
  match(texts(dump).join("\n"), /^Failed to load the schema cache using .*does not exist/m);
});

Deno.test("the process ends with 1 on a server that is too old", async () => {
  const old = "'PostgreSQL 13.14 (Debian) on x86_64'::text";
  await using proxy = startRewritingProxy(
    server.port,
    (sql) => sql.replace(/(pg_catalog\.)?version\(\)/, old),
  );
  const uri = `postgres://authenticator:p@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
  await using service = await startService({ ...config, "db-uri": uri });
  strictEqual((await service.status).code, 1);
  await service.stderr.ended;
  // The listener may have connected just then.
  const told = "Cannot run in this PostgreSQL version (13.14), SVC needs at least 14.0";
  ok(texts(service).includes(told), texts(service).join("\n"));
});

Deno.test("without recovery the first loss ends the process with 1", async (t) => {
  for (const listens of [true, false]) {
    await t.step(listens ? "noticed by the listener" : "noticed by a request", async () => {
      await using service = await startService({
        ...config,
        "db-pool-automatic-recovery": false,
        "db-channel-enabled": listens,
      });
      await service.listening();
      strictEqual(await statusOf(service, "GET /items"), 200);
      if (listens) {
        await service.stderr.waitFor(/Listener connected/);
        await terminateAll();
      } else {
        await server.halt("immediate");
        await service.fetch("GET /items").then((response) => response.body?.cancel(), () => {});
      }
      const { code } = await service.status;
      if (!listens) await server.resume();
      await service.stderr.ended;
      strictEqual(code, 1);
      strictEqual(texts(service).at(-1), "Automatic recovery disabled, exiting.");
    });
  }
});

/** Errors of functions with the states and texts by which servers and poolers end connections. */
const raised: readonly (readonly [line: string, status: number])[] = [
  ["GET /rpc/fail?code=57P01&message=terminating", 503],
  ["GET /rpc/fail?code=57P02&message=terminating", 500],
  ["GET /rpc/fail?code=57P03&message=starting", 500],
  ['GET /rpc/fail?code=26000&message=prepared statement "svc_1" does not exist', 400],
  ['GET /rpc/fail?code=42P05&message=prepared statement "svc_1" already exists', 400],
  ["POST /rpc/prepare_twice", 400],
  [
    "GET /rpc/fail?code=08P01&message=transaction blocks not allowed in statement pooling mode",
    503,
  ],
];

Deno.test("errors that functions raise are neither a loss nor a pooler", async () => {
  await using service = await startService({ ...config, "db-pool-automatic-recovery": false });
  await service.listening();
  for (const [line, status] of raised) strictEqual(await statusOf(service, line), status, line);
  strictEqual(await statusOf(service, "GET /items"), 200);
  strictEqual((await service.stop()).code, 0);
});

Deno.test("a schema that does not exist ends the start, with those that have relations", async () => {
  await using service = await startService({ ...config, "db-schemas": "nothing" });
  await service.stderr.ended;
  deepStrictEqual(texts(service).slice(-2), [
    "Failed to load the schema cache using db-schemas=nothing and db-extra-search-path=public. " +
    '{"code":"3F000","details":null,"hint":null,"message":"schema \\"nothing\\" does not exist"}',
    "db-schemas names a schema that does not exist; schemas with relations: api",
  ]);
  strictEqual((await service.status).code, 1);
});

Deno.test("without recovery the dialect pgrst does not wait for a schema", async () => {
  await using service = await startService({
    ...config,
    dialect: "pgrst",
    "db-schemas": "nothing",
    "db-pool-automatic-recovery": false,
  });
  await service.listening();
  strictEqual(
    texts(service).find((line) => line.startsWith("Failed to load")),
    "Failed to load the schema cache using db-schemas=nothing and db-extra-search-path=public. " +
      '{"code":"3F000","details":null,"hint":null,"message":"schema \\"nothing\\" does not exist"}',
  );
  ok(!texts(service).some((line) => line.startsWith("Attempting")));
  const metrics = await (await service.fetchAdmin("GET /metrics")).text();
  match(metrics, /^pgrst_schema_cache_loads_total\{status="FAIL"\} 1\.0$/m);
  ok(!/status="SUCCESS"|^pgrst_schema_cache_query_time_seconds/m.test(metrics));
  strictEqual((await service.stop()).code, 0);
});

Deno.test("with a listener a loss is noticed without a request", async () => {
  await using service = await startService(config);
  await service.listening();
  await service.stderr.waitFor(/Listener connected/);
  const ready = async () => (await service.fetchAdmin("GET /ready")).status;
  await eventually("readiness", async () => await ready() === 200);
  const after = service.stderr.all.length;
  await server.halt("immediate");
  await service.stderr.waitFor(/Failed listening for database notifications/, { after });
  strictEqual(await ready(), 503);
  await service.stderr.waitFor(
    /Retrying listening for database notifications in 2 seconds\.\.\.$/,
    { after },
  );
  match(
    service.stderr.all.findLast((line) => line.includes("Failed listening"))!,
    /channel\. connection to server at "127\.0\.0\.1", port \d+ failed: Connection refused Is the server running on that host and accepting TCP\/IP connections\?$/,
  );
  const response = await service.fetch("GET /items");
  deepStrictEqual(
    [response.status, await response.json()],
    answer("503 SVC000 | Database connection error."),
  );
  match(response.headers.get("Retry-After")!, /^([1-9]|[12]\d|3[0-2])$/);
  await server.resume();
  strictEqual(await statusOf(service, "GET /items"), 200);
  await service.stderr.waitFor(/Listener connected/, { after });
  await service.stderr.waitFor(/Schema cache loaded in/, { after });
  await eventually("readiness", async () => await ready() === 200);
  strictEqual((await service.stop()).code, 0);
});

/** What a 503 tells clients of the server in each dialect. */
const serverDetails: readonly (readonly [dialect: string, details: RegExp])[] = [
  ["svc", /^null$/],
  [
    "pgrst",
    /^connection to server at "127\.0\.0\.1", port \d+ failed: Connection refused\n\tIs the server running on that host and accepting TCP\/IP connections\?\n$/,
  ],
];

for (const [dialect, details] of serverDetails) {
  Deno.test(`in ${dialect} a 503 has the details ${details}, and the log has all of them`, async () => {
    await using service = await startService({ ...config, dialect, "log-level": "error" });
    await service.listening();
    strictEqual(await statusOf(service, "GET /items"), 200);
    const after = service.stderr.all.length;
    await server.halt("immediate");
    const response = await service.fetch("GET /items");
    strictEqual(response.status, 503);
    match(String((await response.json()).details), details);
    await service.stderr.waitFor(
      /: \{"code":"[A-Z]+000","details":"connection to server at \\"127\.0\.0\.1\\", port \d+ failed: /,
      { after },
    );
    strictEqual((await service.stop()).code, 0);
    await server.resume();
  });
}

Deno.test("without a listener the first request that fails begins the recovery", async () => {
  await using service = await startService({ ...config, "db-channel-enabled": false });
  await service.listening();
  const ready = async () => (await service.fetchAdmin("GET /ready")).status;
  strictEqual(await ready(), 200);
  const after = service.stderr.all.length;
  await server.halt("immediate");
  strictEqual(await ready(), 503);
  deepStrictEqual(texts(service, after), []);
  strictEqual(await statusOf(service, "GET /items"), 503);
  await service.stderr.waitFor(/Failed to query the PostgreSQL version\. /, { after });
  await service.stderr.waitFor(/Failed to load the schema cache using db-schemas=api /, { after });
  await service.stderr.waitFor(/Attempting to reconnect to the database in 1 seconds/, { after });
  const refused = await service.fetch("GET /items");
  await refused.body?.cancel();
  deepStrictEqual([refused.status, Number(refused.headers.get("Retry-After")) >= 1], [503, true]);
  // What needs no database is answered as ever.
  strictEqual(await statusOf(service, "GET /nothing"), 404);
  strictEqual(await statusOf(service, "OPTIONS /items"), 200);
  await server.resume();
  strictEqual(await statusOf(service, "GET /items"), 200);
  await service.stderr.waitFor(/Schema cache loaded in/, { after });
  strictEqual(await ready(), 200);
  strictEqual((await service.stop()).code, 0);
});

Deno.test("the lines of a start, and those of the pool at debug", async () => {
  // With one connection, the check of notifications does not open a second one in the pool.
  await using service = await startService({ ...config, "log-level": "debug", "db-pool": 1 });
  await service.listening();
  await service.stderr.waitFor(/Listener connected/);
  const lines = texts(service).filter((line) =>
    !/borrow|^Connection \S{36}|Attempting/i.test(line)
  );
  const kinds = lines.map((line) => line.split(":")[0]!.split(" ").slice(0, 3).join(" "));
  deepStrictEqual(kinds.filter((kind) => !kind.startsWith("Listener")), [
    "Starting SVC 0.2.0...",
    "Admin server listening",
    "Successfully connected to",
    "Connections to the",
    "Connection Pool initialized",
    "Config reloaded",
    "Schema cache queried",
    "tables",
    "Schema cache loaded",
    "Schema cache loaded",
    "API server listening",
  ]);
  match(
    lines.find((line) => line.startsWith("tables"))!,
    /^tables: \d+\.\d ms, keydeps: \d+\.\d ms, rels: \d+\.\d ms, funcs: \d+\.\d ms, comprels: \d+\.\d ms, dreps: \d+\.\d ms, mhandlers: \d+\.\d ms$/,
  );
  const before = service.stderr.all.length;
  service.signal("SIGUSR1");
  await service.stderr.waitFor(/Database connection pool flushed/, { after: before });
  await service.stderr.waitFor(/is terminated due to release/, { after: before });
  const after = service.stderr.all.length;
  strictEqual(await statusOf(service, "GET /items"), 200);
  await service.stderr.waitFor(/Borrowed a connection/, { after });
  const id = "[0-9a-f-]{36}";
  const expected = [
    "Trying to borrow a connection from pool",
    `Connection ${id} is being established`,
    `Connection ${id} is available due to connection establishment`,
    `Connection ${id} is used`,
    `Connection ${id} is available due to session success`,
    "Borrowed a connection from the pool",
  ];
  const told = texts(service, after);
  strictEqual(told.length, expected.length, told.join("\n"));
  for (const [at, line] of told.entries()) match(line, new RegExp(`^${expected[at]}$`));
  strictEqual((await service.stop()).code, 0);
});

Deno.test("PostgREST's dialect flushes the pool after the first load, too", async () => {
  await using service = await startService({
    ...config,
    "dialect": "pgrst",
    "log-level": "debug",
  });
  await service.listening();
  await service.stderr.waitFor(/Database connection pool flushed/);
  await service.stderr.waitFor(/^\S+ \S+: Connection \S+ is terminated due to release/);
  strictEqual((await service.stop()).code, 0);
});
