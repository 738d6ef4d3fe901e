/** The conformance table against the service, in both dialects. @module */
import { deepStrictEqual, ok } from "node:assert/strict";
import { runTable, unexplained } from "../conformance/run.ts";
import { readTable } from "../conformance/table.ts";
import { serviceSuite } from "../support/handler/api.ts";

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

const dialects = [["svc", "SVC", "svc"], ["pgrst", "PGRST", "svc-pgrst"]] as const;

for (const [dialect, prefix, list] of dialects) {
  const title = `conformance of dialect ${dialect}`;
  const suite = serviceSuite("tests/conformance/database.sql", { ...config, dialect }, {
    title,
    roles: [],
  });
  suite.test("the table passes but for the listed differences", async ({ handler }) => {
    const cases = await readTable(prefix);
    ok(cases.length >= 600);
    const results = await runTable(handler, cases, "http://localhost:3000");
    deepStrictEqual(await unexplained(results, list), []);
  });
}
