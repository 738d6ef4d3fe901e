import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import {
  assumed,
  bestThreads,
  fitModel,
  type MeasuredPoint,
  modelErrors,
  type ScalabilityModel,
  throughput,
} from "../../../tools/benchmark/scalability.ts";

/** Points that a model determines, each times a factor. */
function pointsOf(
  model: ScalabilityModel,
  threads: readonly number[],
  factors: readonly number[] = [],
): readonly MeasuredPoint[] {
  return threads.map((count, at) => ({
    threads: count,
    rate: throughput(model, count) * (factors[at] ?? 1),
  }));
}

function isNear(actual: number, expected: number, share = 1e-6): void {
  ok(Math.abs(actual - expected) <= share * Math.max(1, Math.abs(expected)), `${actual}`);
}

/** λ of a service alone, and of a service beside PostgreSQL on the same processors. */
const [alone, beside] = [1e6 / 21, 1e6 / 41];

for (
  const [rate, threads, expected] of [
    [alone, 1, 47_619],
    [alone, 2, 93_362],
    [alone, 16, 580_720],
    [alone, 64, 1_238_064],
    [beside, 2, 47_819],
    [beside, 16, 297_442],
    [beside, 64, 634_130],
  ] as const
) {
  Deno.test(`throughput() of ${threads} threads is ${expected}`, () => {
    strictEqual(Math.round(throughput({ rate, ...assumed }, threads)), expected);
  });
}

Deno.test("bestThreads() is the maximum of the throughput", () => {
  const model = { rate: 1, ...assumed };
  const best = bestThreads(model);
  ok(throughput(model, best) >= throughput(model, best - 1));
  ok(throughput(model, best) >= throughput(model, best + 2));
  strictEqual(bestThreads({ ...model, kappa: 0 }), Infinity);
  strictEqual(bestThreads({ ...model, kappa: 2 }), 1);
});

const model: ScalabilityModel = { rate: 40_000, sigma: 0.05, kappa: 0.001 };

Deno.test("fitModel() finds the coefficients of exact points", () => {
  for (const threads of [[1, 2, 4], [1, 2, 4, 8, 16], [2, 3, 5, 64]]) {
    const fit = fitModel(pointsOf(model, threads));
    isNear(fit.rate, model.rate);
    isNear(fit.sigma, model.sigma);
    isNear(fit.kappa, model.kappa);
    deepStrictEqual(fit.fitted, ["rate", "sigma", "kappa"]);
  }
});

Deno.test("fitModel() balances points that contradict each other", () => {
  const points = pointsOf(model, [1, 2, 4, 8, 16, 32], [1.02, 0.98, 1.02, 0.98, 1.02, 0.98]);
  const fit = fitModel(points);
  isNear(fit.rate, model.rate, 0.05);
  isNear(fit.sigma, model.sigma, 0.5);
  for (const error of modelErrors(fit, points)) ok(Math.abs(error) < 0.04, `${error}`);
});

Deno.test("fitModel() assumes what points do not determine", () => {
  const [one, two] = pointsOf({ ...model, kappa: assumed.kappa }, [1, 2]);
  const single = fitModel([one!]);
  deepStrictEqual(single, { rate: 40_000, ...assumed, fitted: ["rate"] });
  const pair = fitModel([one!, two!]);
  isNear(pair.sigma, model.sigma);
  strictEqual(pair.kappa, assumed.kappa);
  deepStrictEqual(pair.fitted, ["rate", "sigma"]);
  // The same number of threads twice is one point.
  deepStrictEqual(fitModel([one!, one!]).fitted, ["rate"]);
});

Deno.test("fitModel() has no negative coefficient", () => {
  const growing = [1, 2, 4, 8].map((threads) => ({ threads, rate: 1000 * threads ** 1.2 }));
  const fit = fitModel(growing);
  deepStrictEqual([fit.sigma, fit.kappa], [0, 0]);
  ok(fit.rate > 0);
  strictEqual(fitModel(growing.slice(0, 2)).sigma, 0);
  // Only coherency: contention would be negative.
  const falling = pointsOf({ rate: 1000, sigma: 0, kappa: 0.01 }, [1, 2, 4, 8], [1, 1.01, 1.01]);
  const bound = fitModel(falling);
  strictEqual(bound.sigma, 0);
  isNear(bound.kappa, 0.01, 0.2);
});

Deno.test("fitModel() needs a point", () => {
  throws(() => fitModel([]), new RangeError("a model needs a measured point"));
});

Deno.test("modelErrors() are relative to what was measured", () => {
  deepStrictEqual(modelErrors({ rate: 100, sigma: 0, kappa: 0 }, [{ threads: 2, rate: 160 }]), [
    0.25,
  ]);
});
