import { deepStrictEqual } from "node:assert/strict";
import { compile, smallNumber, sql } from "../../../../src/base/sql/fragment.ts";

const rows: readonly (readonly [digits: string, text: string, params: readonly string[]])[] = [
  ["0", "limit 0", []],
  ["25", "limit 25", []],
  ["0025", "limit 25", []],
  ["9999", "limit 9999", []],
  ["10000", "limit $1", ["10000"]],
  ["9223372036854775807", "limit $1", ["9223372036854775807"]],
  ["-1", "limit $1", ["-1"]],
  ["1; drop table t", "limit $1", ["1; drop table t"]],
  ["1\n", "limit $1", ["1\n"]],
  ["", "limit $1", [""]],
];

for (const [digits, text, params] of rows) {
  Deno.test(`smallNumber of ${JSON.stringify(digits)}`, () => {
    const { text: given, params: values } = compile(sql`limit ${smallNumber(digits)}`);
    deepStrictEqual([given, values], [text, params]);
  });
}
