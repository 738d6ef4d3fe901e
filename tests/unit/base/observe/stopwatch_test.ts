import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { stages, Stopwatch } from "../../../../src/base/observe/stopwatch.ts";

/** Clock that advances by 1, 2, 4 … ms with each read. */
function doublingClock(): () => number {
  let time = 0.5;
  return () => time *= 2;
}

for (const on of [true, false]) {
  Deno.test(`Stopwatch.lap() traces each stage ${on ? "with" : "without"} timings`, () => {
    const traced: (readonly [string, start: number, end: number])[] = [];
    const { timeOrigin } = performance;
    const trace = (
      stage: string,
      { start, end }: { readonly start: number; readonly end: number },
    ) => traced.push([stage, Math.round(start - timeOrigin), Math.round(end - timeOrigin)]);
    const stopwatch = new Stopwatch(on, trace, doublingClock());
    for (const stage of stages) stopwatch.lap(stage);
    deepStrictEqual(traced, [
      ["jwt", 1, 2],
      ["parse", 2, 4],
      ["plan", 4, 8],
      ["transaction", 8, 16],
      ["response", 16, 32],
    ]);
    const timings = { jwt: 1, parse: 2, plan: 4, transaction: 8, response: 16 };
    deepStrictEqual(stopwatch.timings(), on ? timings : null);
  });
}

Deno.test("Stopwatch.timings() returns 0 for skipped stages", () => {
  const stopwatch = new Stopwatch(true, null, doublingClock());
  stopwatch.lap("jwt");
  deepStrictEqual(stopwatch.timings(), { jwt: 1, parse: 0, plan: 0, transaction: 0, response: 0 });
});

Deno.test("Stopwatch reads no clock unless it measures or traces", () => {
  const stopwatch = new Stopwatch(false, null, () => {
    throw new Error("the clock is read");
  });
  stopwatch.lap("jwt");
  strictEqual(stopwatch.timings(), null);
});
