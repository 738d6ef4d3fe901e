import { deepStrictEqual } from "node:assert/strict";
import { createReporter } from "../../../src/observe/reporter.ts";
import { fakeClock } from "../../support/fake_clock.ts";

const timeout = {
  kind: "pool-timeout",
  error: { code: "SVC003", message: "Timed out.", details: null, hint: null },
} as const;

function reporting(level: "crit" | "error") {
  const clock = fakeClock();
  const lines: string[] = [];
  const report = createReporter({
    level: () => level,
    now: clock.now,
    offsetMinutes: () => 0,
    access: { add: () => {} },
    diagnostics: { add: (line) => void lines.push(line) },
    schedule: clock.schedule,
  });
  return { clock, lines, report };
}

Deno.test("createReporter() logs the first pool timeout at once, then one line per 5 seconds", async () => {
  const { clock, lines, report } = reporting("error");
  for (let timeouts = 0; timeouts < 6; timeouts++) {
    report(timeout);
    await clock.pass(100);
  }
  deepStrictEqual(lines.length, 1);
  await clock.pass(4400);
  deepStrictEqual(lines.length, 2);
  await clock.pass(60_000);
  deepStrictEqual(lines.length, 2);
  report(timeout);
  deepStrictEqual(lines.length, 3);
  await clock.pass(60_000);
  deepStrictEqual(lines.length, 3);
});

Deno.test("createReporter() delays only pool timeouts, and logs none below their level", async () => {
  const { clock, lines, report } = reporting("error");
  report(timeout);
  report(timeout);
  report({ kind: "config-reloaded" });
  deepStrictEqual(lines.length, 2);
  await clock.pass(5000);
  deepStrictEqual(lines.length, 3);
  const quiet = reporting("crit");
  quiet.report(timeout);
  quiet.report(timeout);
  await quiet.clock.pass(5000);
  deepStrictEqual(quiet.lines, []);
});
