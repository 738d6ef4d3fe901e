import { deepStrictEqual } from "node:assert/strict";
import { readPolicyText } from "../../../../../src/wings/audit/diagnosis/policy_text.ts";

const names = {
  calls: new Set(["current_setting", "app.uid", '"My".f']),
  volatile: new Set(["random"]),
};

/** Texts of `pg_get_expr`, the number of their parts, and their form with subqueries. */
const rows: readonly (readonly [text: string, count: number, wrapped: string | null])[] = [
  ["true", 0, "true"],
  ["(id = app.uid())", 1, "(id = (select app.uid()))"],
  ["app.uid()", 1, "(select app.uid())"],
  ['("app.uid" = "My".f(1, \'(\'::text))', 1, '("app.uid" = (select "My".f(1, \'(\'::text)))'],
  ["(id = app.uid(a))", 0, "(id = app.uid(a))"],
  ["(id = (app.uid() + random()))", 1, "(id = ((select app.uid()) + random()))"],
  [
    "(at = (app.uid())::timestamp(3) with time zone)",
    1,
    "(at = (select (app.uid())::timestamp(3) with time zone))",
  ],
  ["(id = ( SELECT app.uid() AS uid))", 0, null],
  ["(id = ANY (ARRAY[app.uid()]))", 1, null],
  ["(id OPERATOR(api.=) app.uid())", 1, null],
  ["CASE\n    WHEN a THEN app.uid()\nEND", 1, null],
  ["", 0, ""],
];

for (const [text, count, wrapped] of rows) {
  Deno.test(`readPolicyText() reads ${text}`, () => {
    const read = readPolicyText(text, names);
    deepStrictEqual(
      read.wrapped === null ? null : read,
      wrapped === null ? null : { count, wrapped },
    );
  });
}

Deno.test("readPolicyText() reads no text of more than 10,000 characters", () => {
  deepStrictEqual(readPolicyText(`app.uid()${" ".repeat(10_000)}`, names).count, 0);
});
