/** Rows of the suites of reads, writes and policies, on a database that looks as with Citus: the statements for
 * it have the same answers. A run with `SVC_TEST_CITUS=1` does the same with all suites on PostgreSQL. */
import { deepStrictEqual } from "node:assert/strict";
import { checkOnce, declaredSuites, openHandler } from "../support/handler/api.ts";
import { type Row } from "../support/handler/rows.ts";
import { citusFake } from "../support/database/citus_fake.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { buffered, buildRequest } from "../support/handler/request.ts";
import { batchOf, get, post } from "../support/handler/batch.ts";
import { configOf } from "../support/handler/diagnosis.ts";
import { join, literal, sql } from "../../src/base/sql/fragment.ts";
import { openDatabase } from "../../src/database/open.ts";
import { callerReader } from "../../src/wings/audit/access/counts.ts";

/** Suites whose rows run here. */
const files = [
  "extension_relations_test.ts",
  "nested_insert_test.ts",
  "patch_documents_test.ts",
  "read_embed_test.ts",
  "read_implied_test.ts",
  "read_select_test.ts",
  "return_existing_test.ts",
  "security_test.ts",
  "settings_test.ts",
  "write_conflict_test.ts",
  "write_test.ts",
  "write_update_test.ts",
  "write_upsert_test.ts",
];

const register = Deno.test;
Object.assign(Deno, { test: () => {} });
for (const name of files) await import(`./${name}`);
Object.assign(Deno, { test: register });

const suites = Map.groupBy(
  declaredSuites.filter(({ rows, config }) => rows.length > 0 && config.dbTxEnd === undefined),
  ({ fixture }) => JSON.stringify(fixture),
);

for (const [key, ofFixture] of suites) {
  const { fixture } = ofFixture[0]!;
  Deno.test(`answers over ${fixture.name} are the same for a distributed database`, async (t) => {
    const database = await engines.pg(JSON.parse(key));
    await withClient(database.superuserUri!, (client) => client.query(citusFake));
    for (const { config, rows } of ofFixture) {
      const { handler } = openHandler({ ...config, dbTxEnd: "rollback", dbUri: database.uri });
      await t.step({
        name: JSON.stringify(config),
        sanitizeOps: false,
        sanitizeResources: false,
        fn: async () => {
          const send: Parameters<typeof checkOnce>[0] = async (line, parts) =>
            await buffered(
              await handler(await buildRequest({ line, origin: "http://localhost:3000" }, parts)),
            );
          for (const row of rows) if (!isOther(row)) await checkOnce(send, row);
          if (fixture.name === "settings") await checkOnce(send, forwarded);
        },
      });
      await handler.close();
    }
    await database.remove();
  });
}

/** The setting that has no value unless the statements are those for Citus. */
const forwarded: Row = ["GET /rpc/setting?name=citus.propagate_set_commands", {}, 200, "local"];

/** Whether an answer shows the statements, as plans do. */
function isOther([, { headers = {} }]: Row): boolean {
  return headers["Accept"]?.includes("plan") === true;
}

const settingsFixture = declaredSuites.find(({ fixture }) => fixture.name === "settings")!.fixture;

Deno.test("values of a request end where their literals end, and are of that request alone", async () => {
  const database = await engines.pg(settingsFixture);
  await withClient(database.superuserUri!, (client) =>
    client.query(`${citusFake}
do $do$ begin
  execute format('alter database %I set standard_conforming_strings = off', current_database());
end $do$`));
  const { handler } = openHandler({
    dbUri: database.uri,
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    dbPool: 1,
  });
  const odd = String.raw`a'\'; set role none; -- "$1" \u0027 \U00000027`;
  const sent = async (name: string, parts: Parameters<typeof buildRequest>[1]) => {
    const line = `GET /rpc/setting?name=${name}`;
    const response = await handler(await buildRequest({ line, origin: "http://x" }, parts));
    return [response.status, await response.json()];
  };
  const claims = { role: "settings_boss", odd };
  const [, ofClaims] = await sent("request.jwt.claims", { as: claims });
  deepStrictEqual(JSON.parse(ofClaims), claims);
  const [, ofHeaders] = await sent("request.headers", { headers: { "X-Odd": odd } });
  deepStrictEqual(JSON.parse(ofHeaders)["x-odd"], odd);
  deepStrictEqual(await sent("role", { as: 'Settings "Odd"' }), [200, 'Settings "Odd"']);
  // Requests that fail leave nothing to the next one on the connection.
  for (
    const [parts, status] of [
      [{ as: String.raw`o'\dd`, headers: { "X-Odd": odd } }, 400],
      [{ as: "settings_boss", headers: { Prefer: `handling=strict, timezone=o'dd` } }, 400],
    ] as const
  ) {
    const [failed] = await sent("role", parts);
    deepStrictEqual(failed, status);
    deepStrictEqual(await sent("role", {}), [200, "anon"]);
    deepStrictEqual(await sent("request.jwt.claims", {}), [200, '{"role":"anon"}']);
  }
  await handler.close();
  await database.remove();
});

Deno.test("callerReader() forwards the claims", async () => {
  const { uri, remove } = await engines.pg(settingsFixture);
  const config = configOf({ "db-uri": uri, "db-anon-role": "anon" });
  const database = await openDatabase(config, { embeddedInit: null, applicationName: "test" });
  const identity = { role: "settings_boss", authenticated: true, claims: '{"sub":"a"}' };
  const read = await callerReader({ database, config, identity });
  const settings = ["citus.propagate_set_commands", "request.jwt.claims", "role"];
  const values = settings.map((name) => sql`pg_catalog.current_setting(${literal(name)}, true)`);
  const rows = await read({ schema: "api", name: "none" }, sql`select ${join(values)}`);
  deepStrictEqual(rows, [["local", identity.claims, identity.role]]);
  await database.close();
  await remove();
});

const node = "insert into pg_dist_node (nodename, groupid) values ('coordinator', 0)";

const nestedFixture = declaredSuites.find(({ fixture }) => fixture.name === "nested")!.fixture;

/** Entries of Citus's catalogue for `api.labels`, and whether rows can be nested into it. */
const placements = [
  ["not in the catalogue", "select", true],
  ["local, with a key to a reference table", `${entry("'n', null, 0, 's'")}`, true],
  ["reference table", `${entry("'n', null, 1, 't'")}`, false],
  ["reference table that the coordinator has", `${entry("'n', null, 1, 't'")}; ${node}`, true],
  ["distributed by a column", `${entry("'h', 'id', 1, 's'")}; ${node}`, false],
  ["of a distributed schema", `${entry("'n', null, 1, 's'")}; ${node}`, false],
  ["junction is distributed", entry("'h', 'id', 1, 's'", "order_labels"), false, "order_labels"],
] as const;

for (const [label, sql, isTaken, named = "labels"] of placements) {
  Deno.test(`nested inserts and return-existing write to a table: ${label}`, async () => {
    const database = await engines.pg(nestedFixture);
    await withClient(
      database.superuserUri!,
      (client) =>
        client.query(`${citusFake} create view api.shown_labels as select * from api.labels;
        grant select, insert on api.shown_labels to anon; ${sql}`),
    );
    const { handler } = openHandler({
      dbUri: database.uri,
      dbSchemas: ["api"],
      dbAnonRole: "anon",
    });
    const nested = { body: { labels: [{ name: "red" }] }, headers: {} };
    const found = { body: { id: 100 }, headers: { Prefer: "resolution=return-existing" } };
    const requests = [
      ["POST /orders?columns=labels(name)", nested, named],
      ...named === "labels"
        ? [
          ["POST /labels?columns=id", found, "labels"],
          ["POST /shown_labels?columns=id&on_conflict=id", found, "shown_labels"],
        ] as const
        : [],
    ] as const;
    for (const [line, parts, name] of requests) {
      const request = await buildRequest({ line, origin: "http://x" }, parts);
      const response = await handler(request);
      const { code, message, details } = await response.json().catch(() => ({}));
      const expected = isTaken
        ? [response.ok, undefined, undefined, undefined]
        : [false, "SVC147", `Cannot write '${name}' nested`, "Citus distributes its rows"];
      deepStrictEqual([response.ok, code, message, details], expected, line);
    }
    await handler.close();
    await database.remove();
  });
}

/** Entries of Citus's catalogue, the source of a reference, and whether workers have rows of the batch. */
const batches = [
  ["no table is distributed", "select", "/labels", false],
  ["another table is distributed", entry("'h', 'id', 1, 's'", "lines"), "/labels", false],
  ["the table written to is distributed", entry("'h', 'id', 1, 's'", "orders"), "/labels", true],
  ["the source is distributed", entry("'h', 'id', 1, 's'"), "/labels", true],
  [
    "an embed of the source is distributed",
    entry("'h', 'id', 1, 's'", "lines"),
    "/labels?select=id,orders(lines(id))",
    true,
  ],
  ["the coordinator has the source", `${entry("'n', null, 1, 't'")}; ${node}`, "/labels", false],
  ["the source is a function", "select", "/rpc/label", true],
] as const;

for (const [label, sql, source, isRefused] of batches) {
  Deno.test(`references of a batch refer to local rows: ${label}`, async () => {
    const database = await engines.pg(nestedFixture);
    await withClient(
      database.superuserUri!,
      (client) =>
        client.query(`${citusFake} create function api.label() returns table (id int)
        language sql as 'values (100)'; ${sql}`),
    );
    const { handler } = openHandler({
      dbUri: database.uri,
      dbSchemas: ["api"],
      dbAnonRole: "anon",
      batchMaxOperations: 9,
    });
    const refs = { "/customer_id": "l#/0/id" };
    const parts = batchOf([
      get(source, { id: "l" }),
      post("/orders?select=customer_id", {}, {
        refs,
        headers: { Prefer: "return=representation" },
      }),
    ]);
    const response = await handler(
      await buildRequest({ line: "POST /", origin: "http://x" }, parts),
    );
    const { responses, code, details } = await response.json();
    deepStrictEqual(
      [code, details, responses?.[1].body],
      isRefused
        ? ["SVC142", "Citus distributes rows of the operations", undefined]
        : [undefined, undefined, [{ customer_id: 100 }]],
    );
    await handler.close();
    await database.remove();
  });
}

function entry(values: string, table = "labels"): string {
  return `insert into pg_dist_partition values ('api.${table}', ${values})`;
}
