import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { metadataTransaction } from "../../src/database/transaction.ts";
import { openDatabase } from "../../src/database/open.ts";
import { eventually } from "../support/timing/eventually.ts";
import { freePort } from "../support/server/free_port.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../support/database/postgres_server.ts";
import { startService } from "../support/server/process.ts";

const schema = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  grant usage on schema api to anon;
  create table api.items (id int primary key);
  grant select, insert on api.items to anon;
  create function api.port() returns int stable language sql as $$ select inet_server_port() $$;
`;

let primary: PostgresServer;
let standby: PostgresServer;

Deno.test.beforeAll(async () => {
  primary = await startPostgres({ cluster: "copied" });
  await withClient(primary.uri(), (client) => client.query(schema));
  standby = await startPostgres({ standbyOf: primary });
  await eventually(
    "the standby has the roles",
    () =>
      withClient(standby.uri({ user: "authenticator", password: "p" }), () => Promise.resolve(true))
        .catch(() => false),
  );
});
Deno.test.afterAll(async () => {
  await standby?.stop();
  await primary?.stop();
});

/** Nobody listens there. */
const nowhere = freePort();

type Name = "primary" | "standby" | "nowhere";

function portOf(name: Name): number {
  return { primary: primary.port, standby: standby.port, nowhere }[name];
}

function uriOf(names: readonly Name[], attributes: string | null): string {
  const hosts = names.map((name) => `127.0.0.1:${portOf(name)}`).join(",");
  const query = attributes === null ? "" : `?target_session_attrs=${attributes}`;
  return `postgres://authenticator:p@${hosts}/postgres${query}`;
}

function keywordsOf(names: readonly Name[], attributes: string | null): string {
  const hosts = names.map(() => "127.0.0.1").join(",");
  const query = attributes === null ? "" : ` target_session_attrs=${attributes}`;
  return `host=${hosts} port=${names.map(portOf).join(",")} user=authenticator password=p ` +
    `dbname=postgres${query}`;
}

function open(dbUri: string) {
  return openDatabase({
    dbUri,
    dbPool: 1,
    dbPoolAcquisitionTimeout: 5,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 30,
    dbPreparedStatements: true,
    dialect: { namesApplicationInKeywords: true },
  }, { embeddedInit: null, applicationName: "test" });
}

/** The port of the server that the pool talks to. */
async function usedPort(uri: string): Promise<number> {
  const database = await open(uri);
  try {
    const { rows } = await database.transaction(
      metadataTransaction([{ text: "select inet_server_port()", params: [], use: "rows" }]),
    );
    return Number(rows.at(-1)![0]![0]);
  } finally {
    await database.close();
  }
}

type Row = readonly [names: readonly Name[], attributes: string | null, used: Name | string];

const rows: readonly Row[] = [
  [["primary", "standby"], null, "primary"],
  [["standby", "primary"], null, "standby"],
  [["nowhere", "standby", "primary"], "any", "standby"],
  [["standby", "primary"], "read-write", "primary"],
  [["primary", "standby"], "read-only", "standby"],
  [["standby", "nowhere", "primary"], "primary", "primary"],
  [["primary", "standby"], "standby", "standby"],
  [["primary", "standby"], "prefer-standby", "standby"],
  [["nowhere", "primary"], "prefer-standby", "primary"],
  [["standby"], "read-write", "session is read-only"],
  [["primary"], "read-only", "session is not read-only"],
  [["primary"], "standby", "server is not in hot standby mode"],
  [["nowhere", "standby"], "primary", "server is in hot standby mode"],
];

for (const [names, attributes, used] of rows) {
  for (const [form, text] of [["a URI", uriOf], ["keywords", keywordsOf]] as const) {
    const title = `${attributes ?? "nothing"} of ${names.join(", ")} in ${form}: ${used}`;
    Deno.test(`target_session_attrs ${title}`, async () => {
      const found = usedPort(text(names, attributes));
      if (used === "primary" || used === "standby") strictEqual(await found, portOf(used));
      else {
        await rejects(found, ({ fields }: { fields: { details: string } }) => {
          match(fields.details, new RegExp(used));
          return true;
        });
      }
    });
  }
}

Deno.test("the pool reads from the standby while the listener listens to the primary", async () => {
  await using service = await startService({
    "db-uri": uriOf(["standby", "primary"], "read-only"),
    "db-schemas": "api",
    "db-anon-role": "anon",
  });
  await service.listening();
  await service.stderr.waitFor(new RegExp(`Listener connected .*:${primary.port}" and listening`));
  strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
  const port = await service.fetch("GET /rpc/port");
  strictEqual(await port.json(), standby.port);
  const refused = await service.fetch("POST /items", { body: { id: 1 } });
  deepStrictEqual([refused.status, (await refused.json()).code], [405, "25006"]);
  strictEqual((await service.stop()).code, 0);
});

Deno.test("a standby alone cannot be listened to, which readiness tells", async () => {
  await using service = await startService({
    "db-uri": uriOf(["standby"], null),
    "db-schemas": "api",
    "db-anon-role": "anon",
  });
  await service.listening();
  await service.stderr.waitFor(
    /Failed listening for database notifications on the "svc" channel\. .* server is in hot standby mode$/,
  );
  strictEqual((await service.fetchAdmin("GET /ready")).status, 503);
  const rows = await service.fetch("GET /items");
  deepStrictEqual([rows.status, await rows.json()], [200, []]);
  await Deno.writeTextFile(
    service.configPath,
    await Deno.readTextFile(service.configPath) + "db-channel-enabled = false\n",
  );
  service.signal("SIGUSR2");
  await service.stderr.waitFor(/Config reloaded$/, { after: service.stderr.all.length });
  strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
  strictEqual((await service.stop()).code, 0);
});
