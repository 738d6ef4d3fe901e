import { deepStrictEqual, match } from "node:assert/strict";
import { isolateFile } from "../../src/wings/audit/isolation/isolate.ts";
import { mutationText } from "../../src/wings/audit/mutation/mutate.ts";
import { readCases } from "../../src/wings/audit/policy_test/read_cases.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { policyDatabase } from "../support/handler/policy_database.ts";

const folder = new URL("../../examples/", import.meta.url);

/** The SQL of each example, and its policy tests. */
const examples = [
  ["shop/shop.sql", "shop/tests/policies.cases"],
  ["app/notes.sql", "app/tests/notes.cases"],
] as const;

for (const [script, cases] of examples) {
  Deno.test(`[pg] examples/${cases} notices each change, and accepts each leak`, async () => {
    await using database = await policyDatabase("pg", {}, {
      "db-aggregates-enabled": "true",
      "db-comment-tags": "true",
      "etag-mode": "on",
    });
    const sql = (await Deno.readTextFile(new URL(script, folder))).replace(":'secret'", "'x'");
    await withClient(
      database.uri!,
      (client) => client.query(`drop schema api cascade; ${sql}`),
    );
    const { name, file } = readCases(new URL(cases, folder).pathname);
    const { setup } = database;
    const { text, summary } = await mutationText([{ name, file, setup }]);
    deepStrictEqual(text, "");
    match(summary, /^\d+ changes noticed, 0 not noticed/);
    // The shop has 20,000 rows: about 200 requests of each caller are compared, of 700.
    let time = 0;
    const limit = { msPerCaller: 800, now: () => time++, report: () => {} };
    deepStrictEqual((await isolateFile({ name, file, setup }, limit)).findings, []);
  });
}
