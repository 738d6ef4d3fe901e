/** `deno task probe`. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { freePort } from "../support/free_port.ts";
import { withClient } from "../support/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../support/postgres_server.ts";
import { type Rewrite, startRewritingProxy } from "../support/rewriting_proxy.ts";

let server: PostgresServer;
Deno.test.beforeAll(async () => {
  server = await startPostgres();
  await withClient(server.uri(), (client) =>
    client.query(`
      create role prober login createrole password 'p';
      grant create on database postgres to prober;
      create role guest login password 'g';
    `));
});
Deno.test.afterAll(() => server.stop());

const program = new URL("../../tools/probe/probe.ts", import.meta.url).pathname;

async function probe(...args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", program, ...args],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout), errors: decoder.decode(stderr) };
}

/** Probes the server behind a proxy. */
async function probeServer(rewrite: Rewrite, ...flags: readonly string[]) {
  await using proxy = startRewritingProxy(server.port, rewrite);
  return await probe(
    `postgres://prober:p@127.0.0.1:${proxy.port}/postgres?sslmode=disable`,
    ...flags,
  );
}

Deno.test("probe tries all requests on an embedded database", async () => {
  const { code, output } = await probe("pglite://memory");
  match(output, /^PostgreSQL /);
  match(output, /\nnotify +yes /);
  match(output, /\n(\d+) of \1 requests passed\.\n$/);
  strictEqual(code, 0);
});

Deno.test("probe shows missing capabilities, tries the requests, and drops what it made", async () => {
  const lacking: Rewrite = (sql) =>
    sql.replace(/^LISTEN/, "LISTENS").replace(
      "pg_catalog.pg_current_wal_insert_lsn()",
      "missing()",
    );
  const { code, output } = await probeServer(lacking, "--yes");
  match(output, /\nnotify +no +syntax error at or near "LISTENS": notifications cause no reload/);
  match(output, /\nlsn +no +function missing\(\) does not exist: bookmarks/);
  match(output, /\nprepared statements +yes /);
  match(output, /\n(\d+) of \1 requests passed\.\n$/);
  strictEqual(code, 0);
  const { rows } = await withClient(server.uri(), (client) =>
    client.query(`
      select nspname as name from pg_namespace where nspname like 'svc\\_probe%'
      union all select rolname from pg_roles where rolname like 'svc\\_probe%'
    `));
  deepStrictEqual(rows, []);
});

Deno.test("probe without --yes changes nothing", async () => {
  const { code, output } = await probeServer((sql) => sql);
  match(output, /\nNo requests were tried: they need --yes\.\n$/);
  strictEqual(code, 0);
});

Deno.test("probe ends with 1 if a required capability is missing", async () => {
  const leaking: Rewrite = (sql) =>
    sql.replace("'svc.probe', 'x', true", "'svc.probe', 'x', false");
  const { code, output } = await probeServer(leaking, "--yes");
  match(
    output,
    /\nlocal-settings +REQUIRED +the answer is not that of PostgreSQL: requests would see/,
  );
  match(output, /\nsvc cannot work with this server: local-settings\.\n$/);
  strictEqual(code, 1);
});

Deno.test("probe prints its usage with --help", async () => {
  const { code, output } = await probe("--help");
  match(output, /^Usage: deno task probe <uri>/);
  strictEqual(code, 0);
});

const refusals: readonly (readonly [name: string, args: () => readonly string[], RegExp])[] = [
  ["without a connection string", () => [], /^Usage: deno task probe <uri>/],
  ["with an unknown flag", () => ["pglite://memory", "--no"], /^Usage: /],
  ["for a folder", () => ["pglite://./data"], /probe pglite:\/\/memory instead/],
  [
    "if the server cannot be reached",
    () => [`postgres://u:secret@127.0.0.1:${freePort()}/d`],
    / failed: Connection refused[^]*\nCheck the host, the port, the user and the password/,
  ],
  [
    "without the privilege to create schemas",
    () => [`postgres://guest:g@127.0.0.1:${server.port}/postgres?sslmode=disable`, "--yes"],
    /^The example cannot be made or dropped: .+\. Connect as a user that may create schemas and roles\.\n$/m,
  ],
];

for (const [name, args, expected] of refusals) {
  Deno.test(`probe ends with 2 ${name}`, async () => {
    const { code, errors } = await probe(...args());
    match(errors, expected);
    strictEqual(errors.includes("secret"), false);
    strictEqual(code, 2);
  });
}
