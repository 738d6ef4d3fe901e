import { strictEqual, throws } from "node:assert/strict";
import {
  applyResultChecks,
  type ColumnBounds,
} from "../../../../src/api/transaction/result_checks.ts";

interface BoundsRow {
  readonly name: string;
  readonly head: readonly (string | null)[];
  readonly bounds: readonly ColumnBounds[];
  readonly ended: "commit" | "rollback";
}

const exactlyOne: ColumnBounds = { columns: [0], min: 1, max: 1 };

const boundsRows: readonly BoundsRow[] = [
  { name: "no bounds", head: [], bounds: [], ended: "commit" },
  { name: "the minimum", head: ["1"], bounds: [{ ...exactlyOne, max: 5 }], ended: "commit" },
  { name: "the maximum", head: ["5"], bounds: [{ ...exactlyOne, max: 5 }], ended: "commit" },
  { name: "less than the minimum", head: ["0"], bounds: [exactlyOne], ended: "rollback" },
  { name: "more than the maximum", head: ["2"], bounds: [exactlyOne], ended: "rollback" },
  { name: "NULL, which is 0", head: [null], bounds: [exactlyOne], ended: "rollback" },
  {
    name: "NULL where 0 is allowed",
    head: [null],
    bounds: [{ columns: [0], min: 0, max: 0 }],
    ended: "commit",
  },
  { name: "no row, which is 0", head: [], bounds: [exactlyOne], ended: "rollback" },
  {
    name: "the first column that is not NULL",
    head: [null, "1", "7"],
    bounds: [{ ...exactlyOne, columns: [0, 1, 2] }],
    ended: "commit",
  },
  {
    name: "columns in the order of the bounds",
    head: ["1", "7"],
    bounds: [{ ...exactlyOne, columns: [1, 0] }],
    ended: "rollback",
  },
  {
    name: "several bounds of which one does not hold",
    head: ["1", "7"],
    bounds: [exactlyOne, { columns: [1], min: 0, max: 6 }],
    ended: "rollback",
  },
  {
    name: "several bounds that hold",
    head: ["1", "6"],
    bounds: [exactlyOne, { columns: [1], min: 0, max: Infinity }],
    ended: "commit",
  },
  { name: "a text that is no number", head: ["many"], bounds: [exactlyOne], ended: "rollback" },
];

for (const { name, head, bounds, ended } of boundsRows) {
  Deno.test(`applyResultChecks() ${ended === "commit" ? "accepts" : "refuses"} ${name}`, () => {
    const error = new RangeError("outside");
    const checks = bounds.map((each) => ({ ...each, error: () => error }));
    if (ended === "commit") strictEqual(applyResultChecks(checks, head), undefined);
    else throws(() => applyResultChecks(checks, head), error);
  });
}
