import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { geometricMean, median, percentile, summarize } from "../../../tools/benchmark/figures.ts";

const medians: readonly (readonly [numbers: readonly number[], middle: number])[] = [
  [[7], 7],
  [[9, 1, 10], 9],
  [[10, 1, 2, 100], 6],
];

for (const [numbers, middle] of medians) {
  Deno.test(`median of ${numbers} is ${middle}`, () => strictEqual(median(numbers), middle));
}

const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

const percentiles: readonly (readonly [numbers: readonly number[], percent: number, at: number])[] =
  [[hundred, 50, 50], [hundred, 99, 99], [hundred, 100, 100], [[3], 99, 3], [[2, 10], 0, 2]];

for (const [numbers, percent, at] of percentiles) {
  Deno.test(`percentile ${percent} of ${numbers.length} numbers is ${at}`, () => {
    strictEqual(percentile(numbers, percent), at);
  });
}

Deno.test("geometricMean makes 1 of half as much and twice as much", () => {
  strictEqual(geometricMean([0.5, 2]), 1);
  ok(Math.abs(geometricMean([1, 10, 100]) - 10) < 1e-9);
});

Deno.test("summarize gives medians, and of some fields the highest number", () => {
  const records = [{ speed: 5, failed: 0 }, { speed: 1, failed: 2 }, { speed: 3, failed: 0 }];
  deepStrictEqual(summarize(records, ["failed"]), { speed: 3, failed: 2 });
  deepStrictEqual(summarize(records, []), { speed: 3, failed: 0 });
});
