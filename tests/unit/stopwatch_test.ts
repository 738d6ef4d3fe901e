import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type Stage, stages, Stopwatch } from "../../src/stopwatch.ts";

/** Laps all stages, and gives what was told. */
function lapped(on: boolean) {
  const told: { readonly stage: Stage; readonly start: number; readonly end: number }[] = [];
  const stopwatch = new Stopwatch(on, (stage, times) => told.push({ stage, ...times }));
  for (const stage of stages) stopwatch.lap(stage);
  return { stopwatch, told };
}

for (const on of [true, false]) {
  Deno.test(`Stopwatch tells of each stage ${on ? "beside" : "without"} measuring`, () => {
    const before = performance.timeOrigin + performance.now();
    const { stopwatch, told } = lapped(on);
    deepStrictEqual(told.map(({ stage }) => stage), [...stages]);
    ok(told[0]!.start >= before);
    for (const [position, { start, end }] of told.entries()) {
      ok(end >= start);
      if (position > 0) strictEqual(start, told[position - 1]!.end);
    }
    strictEqual(stopwatch.timings() !== null, on);
  });
}

Deno.test("Stopwatch gives the time of each stage, none for those that did not take place", () => {
  const stopwatch = new Stopwatch(true);
  stopwatch.lap("jwt");
  const timings = stopwatch.timings()!;
  deepStrictEqual(Object.keys(timings), [...stages]);
  ok(timings.jwt >= 0);
  strictEqual(timings.transaction, 0);
});

Deno.test("Stopwatch is silent unless it is wanted", () => {
  const stopwatch = new Stopwatch(false);
  stopwatch.lap("jwt");
  strictEqual(stopwatch.timings(), null);
});
