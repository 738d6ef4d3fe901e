/** Rows of the suites of reads, writes and policies, on a database that looks as with Citus: the statements for
 * it have the same answers. A run with `SVC_TEST_CITUS=1` does the same with all suites on PostgreSQL. */
import { checkOnce, declaredSuites, openHandler, type Row } from "../support/handler/api.ts";
import { citusFake } from "../support/database/citus_fake.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { buffered, buildRequest } from "../support/handler/request.ts";

/** Suites whose rows run here. */
const files = [
  "read_embed_test.ts",
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
