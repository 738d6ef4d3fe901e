import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { BatchDeadline, RequestDeadline } from "../../../src/lib/time_limits.ts";
import { fakeClock } from "../../support/timing/fake_clock.ts";

Deno.test("BatchDeadline begins with its batch, once", async () => {
  const clock = fakeClock();
  const deadline = new BatchDeadline(100, null, clock);
  const log: string[] = [];
  deadline.onOver(() => log.push("over"));
  await clock.pass(1000);
  deepStrictEqual([deadline.isOver, log], [false, []]);
  deadline.begin();
  await clock.pass(60);
  deadline.begin();
  await clock.pass(39);
  strictEqual(deadline.isBatchOver, false);
  await clock.pass(1);
  deepStrictEqual([deadline.isOver, deadline.isBatchOver, log], [true, true, ["over"]]);
  deadline.onOver(() => log.push("late"));
  deepStrictEqual(log, ["over", "late"]);
});

Deno.test("BatchDeadline is over with its request", async () => {
  const clock = fakeClock();
  const request = new RequestDeadline(50, clock.schedule);
  const deadline = new BatchDeadline(100, request, clock);
  let runs = 0;
  deadline.onOver(() => runs++);
  deadline.onOver(() => runs++)();
  await clock.pass(50);
  deepStrictEqual([deadline.isOver, deadline.isBatchOver, runs], [true, false, 1]);
});

Deno.test("BatchDeadline of 0 ms is never over, and clear() stops its timer", async () => {
  const clock = fakeClock();
  const unlimited = new BatchDeadline(0, null, clock);
  unlimited.begin();
  await clock.pass(1000);
  strictEqual(unlimited.isOver, false);
  const cleared = new BatchDeadline(100, null, clock);
  cleared.onOver(() => {
    throw new Error("called");
  });
  cleared.begin();
  cleared.clear();
  strictEqual(clock.next(), null);
});
