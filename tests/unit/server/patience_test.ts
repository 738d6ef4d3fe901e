import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { atMost, whileBusy } from "../../../src/server/deadline.ts";
import { fakeClock, settled } from "../../support/fake_clock.ts";

const never = new Promise<never>(() => {});

/** What looks find, in turn, and how many are taken before the waiting ends. */
const rows: readonly (readonly [found: string, looks: number])[] = [
  ["---", 3],
  ["b---", 4],
  ["--b--b---", 9],
];

for (const [found, expected] of rows) {
  Deno.test(`whileBusy() waits for ${expected} looks when they find ${found}`, async () => {
    const clock = fakeClock();
    let [looks, ended] = [0, false];
    const isBusy = () => found[looks++] === "b";
    const { schedule } = clock;
    whileBusy(never, { isBusy, period: 1000, looks: 3, schedule }).then(() => ended = true);
    for (let look = 0; look < expected; look++) {
      strictEqual(clock.next(), 1000);
      strictEqual(ended, false);
      await clock.pass(1000);
    }
    deepStrictEqual([looks, ended, clock.next()], [expected, true, null]);
  });
}

Deno.test("whileBusy() waits no longer for work that has ended", async () => {
  const { schedule, next } = fakeClock();
  const stillness = { isBusy: () => true, period: 1000, looks: 3, schedule };
  await whileBusy(Promise.resolve(), stillness);
  await rejects(whileBusy(Promise.reject(new Error("no")), stillness), /no/);
  strictEqual(next(), null);
});

Deno.test("atMost() resolves with the work or when the time is over", async () => {
  const { schedule, next, pass } = fakeClock();
  await atMost(500, Promise.resolve(), schedule);
  await rejects(atMost(500, Promise.reject(new Error("no")), schedule), /no/);
  strictEqual(next(), null);
  let ended = false;
  atMost(500, never, schedule).then(() => ended = true);
  await pass(499);
  strictEqual(ended, false);
  await pass(1);
  strictEqual(ended, true);
  await settled();
  strictEqual(next(), null);
});
