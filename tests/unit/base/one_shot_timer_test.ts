import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { OneShotTimer } from "../../../src/base/lib/one_shot_timer.ts";
import { fakeClock } from "../../support/timing/fake_clock.ts";

Deno.test("OneShotTimer runs once after the first of several starts", async () => {
  const clock = fakeClock();
  const ran: number[] = [];
  const timer = new OneShotTimer(clock.schedule, () => void ran.push(clock.now()));
  timer.start(100);
  await clock.pass(50);
  timer.start(100);
  timer.start(1);
  await clock.pass(200);
  deepStrictEqual(ran, [100]);
  timer.start(10);
  await clock.pass(10);
  deepStrictEqual(ran, [100, 260]);
});

Deno.test("OneShotTimer can be started by what it runs", async () => {
  const clock = fakeClock();
  let ran = 0;
  const timer: OneShotTimer = new OneShotTimer(clock.schedule, () => {
    if (++ran < 3) timer.start(10);
  });
  timer.start(10);
  await clock.pass(100);
  strictEqual(ran, 3);
  strictEqual(clock.next(), null);
});

Deno.test("OneShotTimer.clear() ends what was started, and it can be started again", async () => {
  const clock = fakeClock();
  let ran = 0;
  const timer = new OneShotTimer(clock.schedule, () => void ran++);
  timer.clear();
  timer.start(10);
  timer.clear();
  strictEqual(clock.next(), null);
  timer.start(20);
  await clock.pass(20);
  strictEqual(ran, 1);
});
