import { strictEqual } from "node:assert/strict";
import { invalidResponseGuc } from "../../../../src/api/transaction/response_guc_check.ts";

const cases: readonly (readonly [error: string, bad: ReturnType<typeof invalidResponseGuc>])[] = [
  ["42704 svc(status)", "status"],
  ["42704 svc(headers)", "headers"],
  ["42704 svc(other)", null],
  ["22P02", "headers"],
  ["54001", "headers"],
  ["57P01", null],
  ["57014", null],
  ["53200", null],
];

for (const [error, bad] of cases) {
  const [sqlstate = "", message = ""] = error.split(" ");
  Deno.test(`invalidResponseGuc says of ${error}: ${bad}`, () =>
    strictEqual(invalidResponseGuc({ sqlstate, message }), bad));
}
