import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { schedule } from "../../../../src/base/lib/timers.ts";
import { inSlices, mapSliced, type SlicedWork } from "../../../../src/base/lib/slices.ts";
import { atOnce } from "../../../support/timing/at_once.ts";

Deno.test("mapSliced() returns the same list at once and in slices", async () => {
  const work = () => mapSliced(["a", "b"], (item, index) => `${item}${index}`);
  deepStrictEqual(atOnce(work()), ["a0", "b1"]);
  deepStrictEqual(await inSlices(work()), ["a0", "b1"]);
});

Deno.test("inSlices() lets timers run before the work ends", async () => {
  let fired = false;
  schedule(() => fired = true, 0);
  function* untilFired(): SlicedWork<boolean> {
    while (!fired) yield;
    return fired;
  }
  strictEqual(await inSlices(untilFired()), true);
});

Deno.test("inSlices() rejects with what the work throws", async () => {
  const work = mapSliced(["x"], () => {
    throw new Error("broken");
  });
  await rejects(inSlices(work), /broken/);
});
