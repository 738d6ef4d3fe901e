import { strictEqual } from "node:assert/strict";
import { compile, literal } from "../../../../src/base/sql/fragment.ts";
import { raise, raisedDetail } from "../../../../src/base/sql/raise.ts";

const rows: readonly (readonly [sqlstate: string, message: string, detail: string | null])[] = [
  ["42704", 'unrecognized configuration parameter "svc(row 3 hidden)"', "row 3 hidden"],
  [
    "42704",
    "nicht erkannter Konfigurationsparameter »svc(2 sent, 1 written)«",
    "2 sent, 1 written",
  ],
  ["42704", 'unrecognized configuration parameter "app.user"', null],
  ["42704", 'type "svc" does not exist', null],
  ["22P02", 'invalid input syntax for type integer: "svc(status)"', null],
];
for (const [sqlstate, message, detail] of rows) {
  Deno.test(`raisedDetail() reads ${sqlstate} ${message}`, () =>
    strictEqual(raisedDetail({ sqlstate, message }), detail));
}

Deno.test("raise() names a setting after the detail", () =>
  strictEqual(
    compile(raise(literal("status"))).text,
    "pg_catalog.current_setting('svc(' || 'status' || ')')",
  ));
