import { strictEqual } from "node:assert/strict";
import { invalidResponseGuc } from "../../../src/transaction/response_guc_check.ts";

const cases: readonly (readonly [sqlstate: string, bad: ReturnType<typeof invalidResponseGuc>])[] =
  [
    ["2201F", "status"],
    ["22012", "headers"],
    ["22P02", "headers"],
    ["54001", "headers"],
    ["57P01", null],
    ["57014", null],
    ["53200", null],
  ];

for (const [sqlstate, bad] of cases) {
  Deno.test(`invalidResponseGuc says of ${sqlstate}: ${bad}`, () =>
    strictEqual(invalidResponseGuc(sqlstate), bad));
}
