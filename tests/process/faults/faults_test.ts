/** Every fault, shortened; `deno task faults` runs them at full length. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { findHaproxy } from "../../support/haproxy.ts";
import { faults } from "./faults.ts";
import { describeReport } from "./report.ts";

/** They read `/proc`. */
const onLinux: ReadonlySet<string> = new Set(["slow readers", "idle connections"]);

const needsHaproxy: ReadonlySet<string> = new Set(["rolling upgrade"]);
const hasHaproxy = findHaproxy() !== null;
if (!hasHaproxy) console.log("HAProxy is not installed: no rolling upgrade behind it is tested.");

function canRun(name: string): boolean {
  return (Deno.build.os === "linux" || !onLinux.has(name)) &&
    (hasHaproxy || !needsHaproxy.has(name));
}

for (const [name, fault] of Object.entries(faults)) {
  Deno.test({
    name: `nothing is lost, doubled or broken: ${name}`,
    ignore: !canRun(name),
    async fn() {
      const report = await fault("short");
      deepStrictEqual(report.problems, [], describeReport(report));
      ok(report.requests.sent > 0);
      deepStrictEqual(report.requests.answered, report.requests.sent);
    },
  });
}
