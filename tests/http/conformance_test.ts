/** The conformance table against the service: in both dialects, and on both engines. @module */
import { deepStrictEqual, ok } from "node:assert/strict";
import { runTable, unexplained } from "../conformance/run.ts";
import { readTable } from "../conformance/table.ts";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";

/** As `tests/conformance/postgrest.conf` has it. */
const config = {
  dbSchemas: ["api", "other"],
  dbAnonRole: "conf_anon",
  dbTxEnd: "rollback-allow-override",
  dbAggregatesEnabled: true,
  dbPlanEnabled: true,
  serverTraceHeader: "X-Request-Id",
  appSettings: [["app.settings.region", "eu"]],
} as const;

/** PGlite has no timeouts, and its only user may become every role. */
const lacking: ReadonlySet<string> = new Set([
  "POST /rpc/slow >",
  'GET /rpc/who as {"role":"conf_other"}',
  "GET /rpc/transaction_facts as conf_user",
]);

const dialects = [
  ["svc", "SVC", "svc", apiSuite],
  ["pgrst", "PGRST", "svc-pgrst", serviceSuite],
] as const;

for (const [dialect, prefix, list, createSuite] of dialects) {
  const title = `conformance of dialect ${dialect}`;
  const suite = createSuite("tests/conformance/database.sql", { ...config, dialect }, {
    title,
    roles: [],
  });
  suite.test("the table passes but for the listed differences", async ({ handler, engine }) => {
    const table = await readTable(prefix);
    const cases = engine === "pg" ? table : table.filter(({ label }) => !lacking.has(label));
    ok(cases.length >= 600);
    // A request is planned, then learnt, then answered from what was learnt.
    const repeats = engine === "pg" && dialect === "svc";
    for (const _ of repeats ? ["planned", "learnt", "repeated"] : ["planned"]) {
      const results = await runTable(handler, cases, "http://localhost:3000");
      deepStrictEqual(await unexplained(results, list), []);
    }
  });
}
