/** Tests of the faults, shortened; `deno task faults` runs them at full length. Several files
 * declare them, since files run in parallel. @module */
import { deepStrictEqual, ok } from "node:assert/strict";
import { findHaproxy } from "../../support/database/haproxy.ts";
import { faults } from "./faults.ts";
import { describeReport } from "./report.ts";

/** Files by a word of their names, and their faults. `faults_test.ts` has all others. */
const files = {
  server: ["promoted standby", "full disk", "connection shortage"],
  load: ["slow readers", "idle connections", "many clients", "reloads", "live queries"],
  end: ["chaos", "shutdown", "rolling upgrade"],
} as const;

/** They read `/proc`. */
const onLinux: ReadonlySet<string> = new Set(["slow readers", "idle connections"]);

const needsHaproxy: ReadonlySet<string> = new Set(["rolling upgrade"]);
const hasHaproxy = findHaproxy() !== null;

function canRun(name: string): boolean {
  return (Deno.build.os === "linux" || !onLinux.has(name)) &&
    (hasHaproxy || !needsHaproxy.has(name));
}

/** Declares the tests of one file. */
export function testFaults(file: keyof typeof files | "others"): void {
  const elsewhere: ReadonlySet<string> = new Set(Object.values(files).flat());
  const names = file === "others"
    ? Object.keys(faults).filter((name) => !elsewhere.has(name))
    : files[file];
  for (const name of names) testFault(name);
}

function testFault(name: string): void {
  if (needsHaproxy.has(name) && !hasHaproxy) {
    console.log(`HAProxy is not installed: the fault "${name}" is not tested.`);
  }
  Deno.test({
    name: `nothing is lost, doubled or broken: ${name}`,
    ignore: !canRun(name),
    async fn() {
      const report = await faults[name]!("short");
      deepStrictEqual(report.problems, [], describeReport(report));
      ok(report.requests.sent > 0);
      deepStrictEqual(report.requests.answered, report.requests.sent);
    },
  });
}
