import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { RequestDeadline } from "../../../src/lib/time_limits.ts";
import { fakeClock } from "../../support/timing/fake_clock.ts";

Deno.test("RequestDeadline runs its listeners once, and later ones at once", async () => {
  const clock = fakeClock();
  const deadline = new RequestDeadline(100, clock.schedule);
  const log: string[] = [];
  deadline.onOver(() => log.push("first"));
  deadline.onOver(() => log.push("removed"))();
  await clock.pass(99);
  deepStrictEqual([deadline.isOver, log], [false, []]);
  await clock.pass(1);
  deepStrictEqual([deadline.isOver, log], [true, ["first"]]);
  deadline.onOver(() => log.push("late"));
  await clock.pass(1000);
  deepStrictEqual(log, ["first", "late"]);
});

Deno.test("RequestDeadline.clear() ends it", async () => {
  const clock = fakeClock();
  const deadline = new RequestDeadline(100, clock.schedule);
  let runs = 0;
  deadline.onOver(() => runs++);
  deadline.clear();
  strictEqual(clock.next(), null);
  await clock.pass(1000);
  deepStrictEqual([deadline.isOver, runs], [false, 0]);
});
