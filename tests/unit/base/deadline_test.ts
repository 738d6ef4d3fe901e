import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { untilIdle, withTimeout } from "../../../src/base/lib/time_limits.ts";
import { fakeClock, settled } from "../../support/timing/fake_clock.ts";

const never = new Promise<never>(() => {});

/** Findings of the checks in turn (`b`: busy), and the number of checks that end the wait. */
const rows: readonly (readonly [found: string, checks: number])[] = [
  ["---", 3],
  ["b---", 4],
  ["--b--b---", 9],
];

for (const [found, expected] of rows) {
  Deno.test(`untilIdle() resolves after ${expected} checks that find ${found}`, async () => {
    const clock = fakeClock();
    let [checks, ended] = [0, false];
    const isBusy = () => found[checks++] === "b";
    const { schedule } = clock;
    untilIdle(never, { isBusy, periodMs: 1000, maxIdleChecks: 3, schedule }).then(() =>
      ended = true
    );
    for (let check = 0; check < expected; check++) {
      strictEqual(clock.next(), 1000);
      strictEqual(ended, false);
      await clock.pass(1000);
    }
    deepStrictEqual([checks, ended, clock.next()], [expected, true, null]);
  });
}

Deno.test("untilIdle() settles with work that has ended", async () => {
  const { schedule, next } = fakeClock();
  const idleCheck = { isBusy: () => true, periodMs: 1000, maxIdleChecks: 3, schedule };
  await untilIdle(Promise.resolve(), idleCheck);
  await rejects(untilIdle(Promise.reject(new Error("no")), idleCheck), /no/);
  strictEqual(next(), null);
});

Deno.test("withTimeout() resolves with the work or after the timeout", async () => {
  const { schedule, next, pass } = fakeClock();
  await withTimeout(500, Promise.resolve(), schedule);
  await rejects(withTimeout(500, Promise.reject(new Error("no")), schedule), /no/);
  strictEqual(next(), null);
  let ended = false;
  withTimeout(500, never, schedule).then(() => ended = true);
  await pass(499);
  strictEqual(ended, false);
  await pass(1);
  strictEqual(ended, true);
  await settled();
  strictEqual(next(), null);
});
