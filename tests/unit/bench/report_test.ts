import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { LoadStanding } from "../../bench/load_contest.ts";
import type { LoadFigures } from "../../bench/measure.ts";
import {
  compare,
  isFlawless,
  meansOf,
  resultJson,
  resultTables,
  shareOfFloor,
} from "../../bench/report.ts";

const base: LoadFigures = {
  perSecond: 1000,
  p50: 2,
  p99: 10,
  cpu: 100,
  postgresCpu: 50,
  peakMemory: 120,
  failed: 0,
};

function standing(name: string, parts: Partial<Omit<LoadStanding, "name">> = {}): LoadStanding {
  return { name, service: base, peer: null, floor: null, ...parts };
}

const faster = standing("a", {
  service: { ...base, perSecond: 4000, p99: 9 },
  peer: { ...base, cpu: 300 },
  floor: { ...base, perSecond: 8000, peakMemory: NaN },
});
const slower = standing("b", { service: { ...base, p99: 11 }, peer: base });

Deno.test("compare gives ratios above 1 where the service is better", () => {
  deepStrictEqual(compare([faster, slower, standing("c"), standing("d", { peer: base })]), [
    { name: "a", speed: 4, cpu: 3, lowerP99: "service" },
    { name: "b", speed: 1, cpu: 1, lowerP99: "peer" },
    { name: "d", speed: 1, cpu: 1, lowerP99: "neither" },
  ]);
});

Deno.test("meansOf gives geometric means", () => {
  deepStrictEqual(meansOf(compare([faster, slower])).speed, 2);
});

Deno.test("shareOfFloor compares with the same statements without HTTP", () => {
  strictEqual(shareOfFloor([slower, faster]), 0.5);
  strictEqual(shareOfFloor([slower]), null);
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
  strictEqual(
    resultTables({ loads: [faster], large }),
    `
| case                          | requests/s | p50 ms | p99 ms | CPU µs | PostgreSQL CPU µs | peak MB | failed |
| ----------------------------- | ---------: | -----: | -----: | -----: | ----------------: | ------: | -----: |
| a                             |      4,000 |      2 |      9 |    100 |                50 |     120 |      0 |
| – peer                        |      1,000 |      2 |     10 |    300 |                50 |     120 |      0 |
| – its statements without HTTP |      8,000 |      2 |     10 |    100 |                50 |       – |      0 |

a: 50 % of its statements without HTTP

| one at a time                        |  ms | first byte ms | CPU ms | PostgreSQL CPU ms | growth MB |
| ------------------------------------ | --: | ------------: | -----: | ----------------: | --------: |
| big                                  | 500 |           400 |     50 |               300 |        90 |
| – its statement on a bare connection | 500 |           400 |      – |               300 |         – |

| service against peer | requests/s | less CPU | lower p99 |
| -------------------- | ---------: | -------: | --------: |
| a                    |      4.00× |    3.00× |   service |
| geometric mean       |      4.00× |    3.00× |           |
| median               |      4.00× |    3.00× |           |
`.trim(),
  );
});

Deno.test("resultTables leaves out what was not measured", () => {
  const text = resultTables({ loads: [standing("c")], large: [] });
  strictEqual(text.split("\n").length, 3);
  strictEqual(resultTables({ loads: [], large: [] }), "");
});

Deno.test("resultJson has null for what was not measured", () => {
  const { loads, comparisons, means, ofFloor } = JSON.parse(
    resultJson({ loads: [faster], large: [] }),
  );
  strictEqual(loads[0].floor.peakMemory, null);
  strictEqual(comparisons.length, 1);
  strictEqual(means.speed, 4);
  strictEqual(ofFloor, 0.5);
});
