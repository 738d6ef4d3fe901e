import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Deadline } from "../../../../src/base/lib/time_limits.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";

Deno.test("Deadline begins once, runs its listeners once, and later ones at once", async () => {
  const clock = fakeClock();
  const deadline = new Deadline(100, clock);
  const log: string[] = [];
  deadline.onOver(() => log.push("first"));
  deadline.onOver(() => log.push("removed"))();
  await clock.pass(1000);
  deepStrictEqual([deadline.isOver, log], [false, []]);
  deadline.begin();
  await clock.pass(60);
  deadline.begin();
  await clock.pass(39);
  strictEqual(deadline.isOwnOver, false);
  await clock.pass(1);
  deepStrictEqual([deadline.isOver, deadline.isOwnOver, log], [true, true, ["first"]]);
  deadline.onOver(() => log.push("late"));
  await clock.pass(1000);
  deepStrictEqual(log, ["first", "late"]);
});

Deno.test("Deadline is over with the outer one", async () => {
  const clock = fakeClock();
  const outer = new Deadline(50, clock);
  outer.begin();
  const deadline = new Deadline(100, clock, outer);
  let runs = 0;
  deadline.onOver(() => runs++);
  deadline.onOver(() => runs++)();
  await clock.pass(50);
  deepStrictEqual([deadline.isOver, deadline.isOwnOver, runs], [true, false, 1]);
});

Deno.test("Deadline of 0 ms is never over", async () => {
  const clock = fakeClock();
  const deadline = new Deadline(0, clock);
  deadline.begin();
  await clock.pass(1000);
  strictEqual(deadline.isOver, false);
});

Deno.test("Deadline.clear() stops its timer: it is never over", async () => {
  const clock = fakeClock();
  const deadline = new Deadline(100, clock);
  let runs = 0;
  deadline.onOver(() => runs++);
  deadline.begin();
  deadline.clear();
  strictEqual(clock.next(), null);
  await clock.pass(1000);
  deepStrictEqual([deadline.isOver, runs], [false, 0]);
});
