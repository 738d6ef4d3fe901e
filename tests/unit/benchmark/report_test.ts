import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { LoadStanding } from "../../../tools/benchmark/contest.ts";
import type { LoadFigures } from "../../../tools/benchmark/measure.ts";
import {
  compare,
  isFlawless,
  meansOfSets,
  resultJson,
  resultTables,
} from "../../../tools/benchmark/report.ts";

const base: LoadFigures = {
  perSecond: 1000,
  p50: 2,
  p99: 10,
  cpu: 100,
  postgresCpu: 50,
  peakMemory: 120,
  otherLoad: 0.05,
  failed: 0,
};

function standing(name: string, parts: Partial<Omit<LoadStanding, "name">> = {}): LoadStanding {
  return { set: "plain", name, service: base, peer: null, floor: null, ...parts };
}

const faster = standing("a", {
  service: { ...base, perSecond: 4000, p99: 9 },
  peer: { ...base, cpu: 300, postgresCpu: 100 },
  floor: { ...base, postgresCpu: 40, p50: NaN },
});
const slower = standing("b", { service: { ...base, p99: 11 }, peer: base });

/** Loads, and their `speed`, `cpu`, `postgresCpu`, `ofFloor`, `peerOfFloor` and `lowerP99`. */
const comparisons: readonly (readonly [LoadStanding, ...unknown[]])[] = [
  [faster, 4, 3, 2, 1.25, 2.5, "service"],
  [slower, 1, 1, 1, null, null, "peer"],
  [standing("c", { floor: base }), null, null, null, 1, null, null],
];

for (const [load, ...comparison] of comparisons) {
  Deno.test(`compare() compares the contenders of ${load.name}`, () => {
    deepStrictEqual(Object.values(compare(load)), comparison);
  });
}

Deno.test("compare() finds neither p99 lower when they are equal", () => {
  strictEqual(compare(standing("d", { peer: base })).lowerP99, "neither");
});

Deno.test("meansOfSets() gives the geometric means of each set", () => {
  const means = meansOfSets([faster, slower, { ...slower, set: "rls" }]);
  deepStrictEqual(Object.keys(means), ["plain", "rls"]);
  strictEqual(means.plain?.speed, 2);
  strictEqual(means.plain?.ofFloor, 1.25);
  strictEqual(means.rls?.speed, 1);
  strictEqual(means.rls?.ofFloor, null);
});

Deno.test("isFlawless is false when a server failed to answer", () => {
  const failed = { ...base, failed: 1 };
  strictEqual(isFlawless({ loads: [faster, slower], large: [] }), true);
  strictEqual(
    isFlawless({ loads: [slower, standing("c", { service: failed })], large: [] }),
    false,
  );
  strictEqual(isFlawless({ loads: [standing("c", { peer: failed })], large: [] }), false);
});

Deno.test("resultTables says all that was measured", () => {
  const figures = { total: 500, firstByte: 400, cpu: 50, postgresCpu: 300, growth: 90 };
  const large = [{
    name: "big",
    service: figures,
    peer: null,
    floor: { ...figures, cpu: NaN, growth: NaN },
  }];
  const failed = { ...standing("c", { service: { ...base, failed: 3 } }), set: "rls" } as const;
  strictEqual(
    resultTables({ loads: [faster, failed], large }),
    `
| case                  | requests/s |  peer | ratio | p50 ms | peer | p99 ms | peer | CPU µs | peer |  less | PostgreSQL CPU µs | peer | floor | of floor |  peer | peak MB | peer |
| --------------------- | ---------: | ----: | ----: | -----: | ---: | -----: | ---: | -----: | ---: | ----: | ----------------: | ---: | ----: | -------: | ----: | ------: | ---: |
| a                     |      4,000 | 1,000 | 4.00× |      2 |    2 |      9 |   10 |    100 |  300 | 3.00× |                50 |  100 |    40 |    1.25× | 2.50× |     120 |  120 |
| geometric mean, plain |            |       | 4.00× |        |      |        |      |        |      | 3.00× |                   |      |       |    1.25× | 2.50× |         |      |
| c                     |      1,000 |     – |     – |      2 |    – |     10 |    – |    100 |    – |     – |                50 |    – |     – |        – |     – |     120 |    – |
| geometric mean, rls   |            |       |     – |        |      |        |      |        |      |     – |                   |      |       |        – |     – |         |      |

c, service: 3 answers failed

| one at a time                |  ms | first byte ms | CPU ms | PostgreSQL CPU ms | growth MB |
| ---------------------------- | --: | ------------: | -----: | ----------------: | --------: |
| big                          | 500 |           400 |     50 |               300 |        90 |
| – statement, bare connection | 500 |           400 |      – |               300 |         – |
`.trim(),
  );
});

Deno.test("resultTables() warns when other processes used the processors", () => {
  const loads = [standing("c"), standing("d", { floor: { ...base, otherLoad: 0.345 } })];
  strictEqual(
    resultTables({ loads, large: [] }).split("\n").at(-1),
    "other processes used up to 35 % of the processors: rates are too low",
  );
});

Deno.test("resultTables leaves out what was not measured", () => {
  const text = resultTables({ loads: [standing("c")], large: [] });
  strictEqual(text.split("\n").length, 4);
  strictEqual(text.includes("peer"), false);
  strictEqual(resultTables({ loads: [], large: [] }), "");
});

Deno.test("resultJson has null for what was not measured", () => {
  const { loads, comparisons, means } = JSON.parse(
    resultJson({ loads: [faster], large: [] }, null),
  );
  strictEqual(loads[0].floor.p50, null);
  deepStrictEqual(comparisons.map(({ set, name }: LoadStanding) => [set, name]), [["plain", "a"]]);
  strictEqual(means.plain.speed, 4);
});
