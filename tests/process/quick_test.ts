/** Quick mode: `svc postgres://…` and `DATABASE_URL`, on a database without any preparation. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { readExample } from "../../src/process/cli/quick/quick_server.ts";
import { loadConfig } from "../../src/state/config/load.ts";
import { openDatabase } from "../../src/database/open.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { freePort } from "../support/server/free_port.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { type DenoProcess, startDeno } from "../support/server/process.ts";
import { errorBody } from "../support/handler/rows.ts";
import { wingOptions } from "../../src/process/wings.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

/** A database of its own, and a login role that owns what `sql` creates. */
interface QuickDatabase extends AsyncDisposable {
  /** Logs in as the owner. */
  readonly uri: string;
  readonly superuserUri: string;
  readonly user: string;
}

async function createDatabase(sql: string): Promise<QuickDatabase> {
  const server = prepared(serverVariable);
  const id = crypto.randomUUID().replaceAll("-", "").slice(0, 12);
  const [database, user] = [`svc_quick_${id}`, `quick_${id}`];
  await withClient(server, async (client) => {
    await client.query(`create role ${user} login password 'pw'`);
    await client.query(`create database ${database} owner ${user}`);
  });
  const at = (name?: string) => {
    const uri = new URL(server);
    uri.pathname = `/${database}`;
    if (name !== undefined) [uri.username, uri.password] = [name, "pw"];
    return uri.href;
  };
  const remove = () =>
    withClient(server, async (client) => {
      await client.query(`drop database ${database} with (force)`);
      await client.query(`drop role ${user}`);
    });
  try {
    await withClient(at(), (client) => client.query(`set role ${user}; ${sql}`));
  } catch (error) {
    await remove();
    throw error;
  }
  return { uri: at(user), superuserUri: at(), user, [Symbol.asyncDispose]: remove };
}

interface QuickProcess extends DenoProcess {
  readonly origin: string;
  /** Waits for the API; returns all lines of the standard error output. */
  listening(): Promise<readonly string[]>;
}

/** Starts the program in an empty environment on a port of its own. */
function startQuick(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): QuickProcess {
  // The admin server takes the next port.
  const port = freePort();
  const started = startDeno(["run", "-A", main, `--port=${port}`, ...args], { env });
  return {
    ...started,
    origin: `http://127.0.0.1:${port}`,
    listening: async () => {
      await started.stderr.waitFor(/API server listening on/);
      return started.stderr.all;
    },
  };
}

const film = `create table film (id int primary key, title text);
  insert into film values (1, 'a'), (2, 'b');
  create function writes() returns void language sql as $$ insert into film values (9) $$;`;

async function errorOf(response: Response): Promise<readonly unknown[]> {
  return [response.status, (await response.json()).code];
}

Deno.test("quick mode serves a database for reading, and for this machine only", async (t) => {
  await using database = await createDatabase(film);
  await using service = startQuick([database.uri]);
  const lines = await service.listening();
  const url = `${service.origin}/film`;
  const post = { method: "POST", headers: { "Content-Type": "application/json" } };

  await t.step("the warnings come first", () => {
    match(lines[0]!, /warning: the connection string contains a password/);
    match(lines[1]!, new RegExp(`warning: No anonymous role: requests run as "${database.user}"`));
    match(lines[2]!, /warning: "\w+" owns 1 relation: row-level security does not hold for it\./);
  });
  await t.step("a browser gets the console at /, other clients the description", async () => {
    const types = await Promise.all(["text/html,*/*;q=0.8", "*/*"].map(async (accepted) => {
      const response = await fetch(service.origin, { headers: { Accept: accepted } });
      await response.body?.cancel();
      return response.headers.get("Content-Type")?.split(";")[0];
    }));
    deepStrictEqual(types, ["text/html", "application/openapi+json"]);
  });
  await t.step("rows are read", async () => {
    deepStrictEqual(await (await fetch(url)).json(), [
      { id: 1, title: "a" },
      { id: 2, title: "b" },
    ]);
  });
  await t.step("writes and writing functions are refused", async () => {
    const insert = await fetch(url, { ...post, body: '{"id":3}' });
    strictEqual(insert.status, 405);
    deepStrictEqual(
      await insert.json(),
      errorBody(
        "25006 | cannot execute SELECT in a read-only transaction |  | The service is read only (db-read-only).",
      ),
    );
    const call = await fetch(`${service.origin}/rpc/writes`, { ...post, body: "{}" });
    deepStrictEqual(await errorOf(call), [405, "25006"]);
  });
  await t.step("another host is refused", async () => {
    const port = Number(new URL(service.origin).port);
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const request = "GET /film HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    await connection.write(new TextEncoder().encode(request));
    const response = await new Response(connection.readable).text();
    match(response, /^HTTP\/1\.1 403 /);
    match(response, /"code":"SVC191","details":null,"hint":"Call http:\/\/127\.0\.0\.1:3000/);
  });
  await t.step("another site is refused, and gets no CORS headers", async () => {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const headers = {
        "Origin": "http://evil.example",
        ...(method === "OPTIONS" ? { "Access-Control-Request-Method": "GET" } : {}),
      };
      const response = await fetch(url, { method, headers });
      strictEqual(response.headers.get("Access-Control-Allow-Origin"), null);
      deepStrictEqual(await errorOf(response), [403, "SVC191"]);
    }
  });
  await t.step("the console may send requests", async () => {
    const port = Number(new URL(service.origin).port);
    const origin = `http://127.0.0.1:${port + 1}`;
    const response = await fetch(url, { headers: { Origin: origin } });
    strictEqual(response.headers.get("Access-Control-Allow-Origin"), origin);
    strictEqual((await response.json()).length, 2);
    const ready = await fetch(`${origin}/ready`);
    await ready.body?.cancel();
    strictEqual(ready.status, 200);
  });
  await t.step("a token is refused without jwt-secret", async () => {
    const response = await fetch(url, { headers: { Authorization: "Bearer a.b.c" } });
    deepStrictEqual(await errorOf(response), [500, "SVC300"]);
  });
  await t.step("a body above 10 MiB is refused", async () => {
    const body = new Uint8Array(11_000_000).fill(0x20);
    const response = await fetch(url, { ...post, body });
    deepStrictEqual(await errorOf(response), [413, "SVC130"]);
  });
  strictEqual((await service.stop()).code, 0);
});

Deno.test("DATABASE_URL alone is quick mode; SVC_DB_URI is not", async () => {
  await using database = await createDatabase(`create schema api; create table api.a (id int)`);
  const env = { DATABASE_URL: database.uri };
  {
    await using service = startQuick([], env);
    await service.listening();
    deepStrictEqual(await (await fetch(`${service.origin}/a`)).json(), []);
  }
  await using refused = startQuick([], { ...env, SVC_DB_URI: database.uri });
  strictEqual((await refused.status).code, 1);
  await refused.stderr.ended;
  match(refused.stderr.all.at(-2)!, /^svc: required, but not set: db-schemas, for example /);
});

Deno.test("a file takes DATABASE_URL and is not quick mode", async () => {
  await using database = await createDatabase(film);
  const file = await Deno.makeTempFile({ suffix: ".conf" });
  try {
    await Deno.writeTextFile(file, `db-schemas = "public"\ndb-anon-role = "${database.user}"\n`);
    await using service = startQuick([file], { DATABASE_URL: database.uri });
    await service.listening();
    const response = await fetch(`${service.origin}/film`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Origin": "http://other.example" },
      body: '{"id":3}',
    });
    strictEqual(response.status, 201);
    await response.body?.cancel();
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("quick mode takes web_anon where it may read the schema", async () => {
  await using database = await createDatabase(`create schema api; create table api.a (id int);
    create table api.b (id int)`);
  const name = `web_anon`;
  await withClient(database.superuserUri, async (client) => {
    await client.query("select pg_advisory_lock(hashtext('svc_test'))");
    await client.query(`do $$ begin if to_regrole('${name}') is null then
      create role ${name} nologin; end if; end $$`);
    await client.query(`grant usage on schema api to ${name}; grant all on api.a to ${name};
      grant ${name} to ${database.user}`);
  });
  await using service = startQuick([database.uri]);
  const lines = await service.listening();
  strictEqual(lines.some((line) => line.includes("No anonymous role")), false);
  strictEqual((await (await fetch(`${service.origin}/a`)).json()).length, 0);
  deepStrictEqual(await errorOf(await fetch(`${service.origin}/b`)), [401, "42501"]);
  const headers = { "Content-Type": "application/json" };
  const insert = await fetch(`${service.origin}/a`, { method: "POST", headers, body: '{"id":1}' });
  strictEqual(insert.status, 201);
  await insert.body?.cancel();
});

Deno.test("quick mode runs a superuser's requests for this machine only", async () => {
  // Everybody has USAGE on the schema public, which would be enough for a role named web_anon.
  await using database = await createDatabase(
    `create schema api; set search_path = api; ${film.replaceAll("into film", "into api.film")}`,
  );
  const uri = database.superuserUri;
  await withClient(uri, (client) => client.query("create extension dblink schema api"));
  {
    await using service = startQuick([uri]);
    const lines = await service.listening();
    ok(lines.some((line) => /warning: No anonymous role: .* superuser/.test(line)));
    strictEqual((await (await fetch(`${service.origin}/film`)).json()).length, 2);
    const connect = await fetch(`${service.origin}/rpc/dblink_get_connections`);
    deepStrictEqual(await errorOf(connect), [404, "SVC202"]);
  }
  await using refused = startQuick(["--host=0.0.0.0", uri]);
  strictEqual((await refused.status).code, 1);
  await refused.stderr.ended;
  match(
    refused.stderr.all.at(-1)!,
    /^svc: requests without a token would run as superuser "\w+": give --anon-role, or run .+ init$/,
  );
});

Deno.test("quick mode refuses a role that does not exist", async () => {
  await using database = await createDatabase(film);
  await using refused = startQuick(["--anon-role=nosuch", database.uri]);
  strictEqual((await refused.status).code, 1);
  await refused.stderr.ended;
  strictEqual(
    refused.stderr.all.at(-1),
    'svc: cannot run requests as "nosuch": the role does not exist',
  );
});

Deno.test("quick mode takes the next free port, and a given port alone", async () => {
  await using database = await createDatabase(film);
  // Another program may use the port already.
  using _ = listenOn(3000);
  await using service = startDeno(["run", "-A", main, database.uri]);
  const line = await service.stderr.waitFor(/API server listening on/);
  match(line, /127\.0\.0\.1:30(?!00)\d\d$/);
  await using refused = startDeno(["run", "-A", main, "--port=3000", database.uri]);
  strictEqual((await refused.status).code, 1);
  await refused.stderr.ended;
  match(
    refused.stderr.all.at(-1)!,
    /^svc: cannot listen on 127\.0\.0\.1:3000: .*; .* give another port, such as --port=30\d\d$/,
  );
});

function listenOn(port: number): Disposable {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch {
    return { [Symbol.dispose]() {} };
  }
}

const failures: readonly (readonly [
  what: string,
  uri: (database: QuickDatabase) => string,
  lines: readonly RegExp[],
])[] = [
  ["a wrong password", ({ uri }) => uri.replace(":pw@", ":wrong@"), [
    /^svc: cannot connect to the database: .*password authentication failed for user/,
    /^Correct the user or the password/,
  ]],
  ["a missing database", ({ uri }) => uri.replace(/\/svc_quick_\w+$/, "/nowhere"), [
    /^svc: cannot connect to the database: .*database "nowhere" does not exist$/,
    /^Create the database, or correct the name/,
  ]],
  ["a port without a server", () => `postgres://me@127.0.0.1:${freePort()}/x`, [
    /^svc: cannot connect to the database: .*refused$/i,
    /^ {2}Is the server running/,
    /^Start PostgreSQL, or correct host and port/,
  ]],
  ["an unknown host", () => "postgres://me@host.invalid/x", [
    /^svc: cannot connect to the database: /,
    /^Correct the host in the connection string\.$/,
  ]],
];

Deno.test("quick mode says what to do where it cannot connect", async (t) => {
  await using database = await createDatabase("select 1");
  for (const [what, uri, lines] of failures) {
    await t.step(what, async () => {
      await using ended = startQuick([uri(database)]);
      strictEqual((await ended.status).code, 1);
      await ended.stderr.ended;
      const printed = ended.stderr.all.filter((line) => !line.includes("contains a password"));
      strictEqual(printed.length, lines.length, printed.join("\n"));
      lines.forEach((line, at) => match(printed[at]!, line));
    });
  }
});

Deno.test("--watch reloads when the configuration file changes, and names a needed restart", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_watch_" });
  const file = `${folder}/svc.conf`;
  const port = freePort();
  const text = `db-uri = "pglite://memory"\ndb-schemas = "public"\nserver-port = ${port}\n`;
  try {
    await Deno.writeTextFile(file, text);
    await using service = startDeno(["run", "-A", main, "--watch", file]);
    await service.stderr.waitFor(/API server listening on/);
    const after = service.stderr.all.length;
    await Deno.writeTextFile(file, `${text}db-pool = 3\n`);
    await service.stderr.waitFor(/Config reloaded$/, { after });
    await service.stderr.waitFor(/: db-pool has changed: takes effect after a restart$/, { after });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("quick mode suggests the largest table, or a view", async () => {
  await using database = await createDatabase(
    `create table a_few (id int); insert into a_few values (1);
    create table b_many (id int); insert into b_many select generate_series(1, 50);
    create view a_view as select * from b_many; create schema empty; create schema views;
    create view views.only as select 1 as n; analyze`,
  );
  const config = loadConfig({
    wingOptions,
    file: null,
    environment: { SVC_DB_URI: database.uri, SVC_DB_SCHEMAS: "public" },
    readFile: Deno.readFileSync,
  });
  const opened = await openDatabase(config, { embeddedInit: null, applicationName: "test" });
  try {
    const example = (schema: string) => readExample(opened, { schema, role: database.user });
    deepStrictEqual(
      [await example("public"), await example("views"), await example("empty")],
      ["b_many", "only", null],
    );
  } finally {
    await opened.close();
  }
});

Deno.test("quick mode only reads a database that is read-only by default, and listens", async () => {
  await using database = await createDatabase(film);
  const name = new URL(database.uri).pathname.slice(1);
  await withClient(database.superuserUri, async (client) => {
    await client.query("select pg_advisory_lock(hashtext('svc_test'))");
    await client.query(`do $$ begin if to_regrole('web_anon') is null then
      create role web_anon nologin; end if; end $$`);
    await client.query(`grant usage on schema public to web_anon; grant all on film to web_anon;
      grant web_anon to ${database.user};
      alter database ${name} set default_transaction_read_only = on`);
  });
  await using service = startQuick([database.uri, "--log-level=info"]);
  const lines = await service.listening();
  strictEqual((await (await fetch(`${service.origin}/film`)).json()).length, 2);
  strictEqual(lines.some((line) => line.includes("Failed listening")), false);
  await service.stderr.waitFor(/Listener connected to /);
  const insert = await fetch(`${service.origin}/film`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"id":3}',
  });
  deepStrictEqual(await errorOf(insert), [405, "25006"]);
});
