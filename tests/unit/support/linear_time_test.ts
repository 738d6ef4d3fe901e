import { doesNotThrow, strictEqual, throws } from "node:assert/strict";
import { assertLinearTime } from "../../support/timing/linear_time.ts";

/** Work that takes as many milliseconds as `cost` says, on a clock of its own. */
function workOf(cost: (size: number, run: number) => number) {
  let [time, runs] = [0, 0];
  return {
    size: 1600,
    make: (size: number) => size,
    run: (size: number) => void (time += cost(size, runs++)),
    now: () => time,
  };
}

/** Milliseconds of a run by the size of its input, and whether that is linear. */
const rows: readonly (readonly [
  name: string,
  cost: (size: number, run: number) => number,
  isLinear: boolean,
])[] = [
  ["no time", () => 0, true],
  ["constant time", () => 5, true],
  ["linear time", (size) => size, true],
  ["linear time with a logarithm", (size) => size * Math.log(size), true],
  ["linear time where all but one measurement are too long", (size, run) => {
    return size * (run < 17 * 20 ? 100 * Math.ceil(size / 400) : 1);
  }, true],
  ["quadratic time", (size) => size ** 2, false],
  ["quadratic time beside linear time", (size) => size ** 2 + 100 * size, false],
];

for (const [name, cost, isLinear] of rows) {
  Deno.test(`assertLinearTime() ${isLinear ? "accepts" : "rejects"} ${name}`, () => {
    const check = () => assertLinearTime("the work", workOf(cost));
    if (isLinear) doesNotThrow(check);
    else throws(check, /^Error: the work is not linear: 16 inputs of 100 take /);
  });
}

Deno.test("assertLinearTime() names both times", () => {
  let message = "";
  try {
    assertLinearTime("it", workOf((size) => size ** 2 / 1000));
  } catch (error) {
    message = String(error);
  }
  strictEqual(
    message,
    "Error: it is not linear: 16 inputs of 100 take 160.000 ms, one of 1600 takes 2560.000 ms",
  );
});
