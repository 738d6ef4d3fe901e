/** Rows of the suites of reads, writes and policies, on a database that looks as with Citus: the statements for
 * it have the same answers. A run with `SVC_TEST_CITUS=1` does the same with all suites on PostgreSQL. */
import { deepStrictEqual } from "node:assert/strict";
import { checkOnce, declaredSuites, openHandler } from "../support/handler/api.ts";
import { type Row } from "../support/handler/rows.ts";
import { citusFake } from "../support/database/citus_fake.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { buffered, buildRequest } from "../support/handler/request.ts";

/** Suites whose rows run here. */
const files = [
  "extension_relations_test.ts",
  "patch_documents_test.ts",
  "read_embed_test.ts",
  "read_implied_test.ts",
  "read_select_test.ts",
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
