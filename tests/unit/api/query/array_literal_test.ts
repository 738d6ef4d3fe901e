import { strictEqual } from "node:assert/strict";
import { arrayLiteral } from "../../../../src/base/sql/array_literal.ts";

const rows: readonly (readonly [elements: readonly string[], array: string])[] = [
  [[], "{}"],
  [[""], '{""}'],
  [["a", "b c", "é😀"], '{"a","b c","é😀"}'],
  [['"', "\\", '\\"x', "{},"], '{"\\"","\\\\","\\\\\\"x","{},"}'],
];

Deno.test("arrayLiteral() quotes texts", () => {
  for (const [elements, array] of rows) strictEqual(arrayLiteral(elements), array);
});
