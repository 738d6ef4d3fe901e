/** What the options of a connection string do at a real server. */
import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { metadataTransaction } from "../../src/database/transaction.ts";
import { openDatabase } from "../../src/database/open.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../support/database/postgres_server.ts";
import { startService } from "../support/server/process.ts";

const schema = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  create role other login noinherit password 'q';
  grant anon to authenticator, other;
`;

let server: PostgresServer;
Deno.test.beforeAll(async () => {
  server = await startPostgres({ cluster: "copied" });
  await withClient(server.uri(), async (client) => {
    await client.query(schema);
    await client.query("create database shop");
  });
  await withClient(server.uri({ database: "shop" }), (client) =>
    client.query(
      "create schema api; grant usage on schema api to anon;" +
        "create table api.items as select 1 as id; grant select on api.items to anon",
    ));
});
Deno.test.afterAll(() => server?.stop());

const question = `select pg_catalog.current_database(), current_user,
  pg_catalog.current_setting('application_name'), pg_catalog.current_setting('geqo'),
  pg_catalog.current_setting('client_encoding'), pg_catalog.inet_server_addr() is null`;

/** What the server says of a connection: database, user, name, geqo, encoding, by a socket. */
async function describe(dbUri: string, text = question): Promise<readonly (string | null)[]> {
  const database = await openDatabase({
    dbUri,
    dbPool: 1,
    dbPoolAcquisitionTimeout: 5,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 30,
    dbPreparedStatements: true,
    dialect: { namesApplicationInKeywords: false },
  }, { embeddedInit: null, applicationName: "test" });
  try {
    const { rows } = await database.transaction(
      metadataTransaction([{ text, params: [], use: "rows" }]),
    );
    return rows.at(-1)![0]!;
  } finally {
    await database.close();
  }
}

/** `%p` and `%f` are the server's port and folder. */
const described: readonly (readonly [text: string, expected: readonly string[]])[] = [
  ["postgresql://authenticator:p@/?host=%f&port=%p&dbname=shop&application_name=n", [
    "shop",
    "authenticator",
    "n",
    "on",
    "UTF8",
    "t",
  ]],
  [
    "postgres://authenticator:p@127.0.0.1:%p/postgres?dbname=shop&user=other&password=q" +
    "&application_name=a%20b&options=-c%20geqo%3Doff&client_encoding=latin1",
    ["shop", "other", "a b", "off", "UTF8", "f"],
  ],
  [
    "host=localhost port=%p user=other password=q dbname=shop application_name=n keepalives=0 " +
    "connect_timeout=5",
    ["shop", "other", "n", "on", "UTF8", "f"],
  ],
];

for (const [text, expected] of described) {
  Deno.test(`PostgreSQL sees the options of ${text}`, async () => {
    const encoded = text.startsWith("postgres") ? encodeURIComponent(server.folder) : server.folder;
    const uri = text.replaceAll("%p", String(server.port)).replaceAll("%f", encoded);
    deepStrictEqual(await describe(uri), expected);
  });
}

Deno.test("the process serves the database that dbname in a URI's query part names", async () => {
  await using service = await startService({
    "db-uri": `postgresql://authenticator:p@/?host=${encodeURIComponent(server.folder)}` +
      `&port=${server.port}&dbname=shop`,
    "db-schemas": "api",
    "db-anon-role": "anon",
  });
  await service.listening();
  deepStrictEqual(await (await service.fetch("GET /items")).json(), [{ id: 1 }]);
  strictEqual((await service.stop()).code, 0);
});

for (const dialect of ["svc", "pgrst"]) {
  Deno.test(`in ${dialect} the process ends with the name of an unknown parameter`, async () => {
    await using service = await startService({
      "db-uri": "postgres://user:hidden@127.0.0.1/shop?schema=hidden",
      "db-schemas": "api",
      dialect,
    });
    strictEqual((await service.status).code, 1);
    await service.stderr.ended;
    const text = service.stderr.all.join("\n");
    match(text, /db-uri: invalid URI query parameter: "schema"/);
    strictEqual(text.includes("hidden"), false, text);
  });
}

const hasOpenssl = await new Deno.Command("openssl", { args: ["version"] }).output()
  .then(({ success }) => success, () => false);

const usesTls = "select ssl::text, version from pg_catalog.pg_stat_ssl " +
  "where pid = pg_catalog.pg_backend_pid()";

/** Roles that may connect only with, or only without encryption. */
const encryptionRules = "hostssl all with_tls all trust\nhost all with_tls all reject\n" +
  "hostnossl all without_tls all trust\nhost all without_tls all reject\n";

/** What follows `postgres://other:q@`, and what comes of it; `%c` is the server's certificate. */
const encrypted: readonly (readonly [
  place: string,
  outcome: readonly string[] | RegExp,
  user?: string,
])[] = [
  ["localhost:%p/postgres", ["true", "TLSv1.3"], "with_tls"],
  ["localhost:%p/postgres?sslmode=allow", ["true", "TLSv1.3"], "with_tls"],
  ["localhost:%p/postgres?sslmode=disable", /rejects connection/, "with_tls"],
  ["localhost:%p/postgres", ["false", ""], "without_tls"],
  ["localhost:%p/postgres?sslmode=allow", ["false", ""], "without_tls"],
  ["localhost:%p/postgres?sslmode=require", /rejects connection/, "without_tls"],
  ["localhost:%p/postgres?sslmode=allow", ["false", ""]],
  ["localhost:%p/postgres?sslmode=disable", ["false", ""]],
  ["localhost:%p/postgres?sslmode=prefer", ["true", "TLSv1.3"]],
  ["localhost:%p/postgres?sslmode=require&channel_binding=require", ["true", "TLSv1.3"]],
  ["localhost:%p/postgres?sslmode=require&channel_binding=disable", ["true", "TLSv1.3"]],
  ["localhost:%p/postgres?sslmode=require&ssl_max_protocol_version=TLSv1.2", ["true", "TLSv1.2"]],
  ["localhost:%p/postgres?sslmode=verify-full", /self.signed certificate/],
  ["localhost:%p/postgres?sslmode=verify-full&sslrootcert=%c", ["true", "TLSv1.3"]],
  ["127.0.0.1:%p/postgres?sslmode=verify-full&sslrootcert=%c", /does not match certificate/],
  ["127.0.0.1:%p/postgres?sslmode=verify-ca&sslrootcert=%c", ["true", "TLSv1.3"]],
  ["localhost:%p/postgres?sslmode=disable&channel_binding=require", /channel binding required/],
];

Deno.test({
  name: "connections are encrypted as the connection string says",
  ignore: !hasOpenssl,
  fn: async (t) => {
    const [cert, key] = ["cert", "key"].map((name) => join(server.folder, "data", `${name}.pem`));
    const { success } = await new Deno.Command("openssl", {
      args: [
        ..."req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext".split(" "),
        ...["subjectAltName=DNS:localhost", "-out", cert!, "-keyout", key!],
      ],
      stderr: "null",
    }).output();
    strictEqual(success, true);
    await Deno.chmod(key!, 0o600);
    const { uid, gid } = await Deno.stat(server.folder);
    if (Deno.uid() === 0) await Deno.chown(key!, uid, gid);
    await withClient(server.uri(), async (client) => {
      await client.query(`alter system set ssl_cert_file = '${cert}'`);
      await client.query(`alter system set ssl_key_file = '${key}'`);
      await client.query("alter system set ssl = on");
      await client.query("create role with_tls login");
      await client.query("create role without_tls login");
    });
    const rules = join(server.folder, "data", "pg_hba.conf");
    await Deno.writeTextFile(rules, encryptionRules + await Deno.readTextFile(rules));
    await server.halt("fast");
    await server.resume();
    for (const [place, outcome, user = "other"] of encrypted) {
      await t.step(`${user} at ${place}: ${outcome}`, async () => {
        const uri = `postgres://${user}:q@${place}`.replace("%p", String(server.port))
          .replace("%c", encodeURIComponent(cert!));
        if (!(outcome instanceof RegExp)) {
          const [ssl, version] = await describe(uri, usesTls);
          deepStrictEqual([ssl, version ?? ""], outcome);
          return;
        }
        await rejects(describe(uri, usesTls), ({ fields }: { fields: { details: string } }) => {
          match(fields.details, outcome);
          return true;
        });
      });
    }
  },
});
