import { deepStrictEqual } from "node:assert/strict";
import { compile, ordinal, typeName } from "../../../../src/base/sql/fragment.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

const rows: readonly [text: string, sql: string][] = [
  ["int", "int"],
  ["double precision", "double precision"],
  ["_int4", "_int4"],
  ["Größe", "Größe"],
  ["a$$", "a$$"],
  ["$$", `"$$"`],
  ["int $$", `"int $$"`],
  ["3d", `"3d"`],
  ["int; drop table x", `"int; drop table x"`],
  ['int"', `"int"""`],
  ["int--", `"int--"`],
  ["int\n", `"int\n"`],
  [" int", `" int"`],
  ["", `""`],
];

for (const [text, expected] of rows) {
  Deno.test(`typeName writes ${JSON.stringify(text)} as ${JSON.stringify(expected)}`, () => {
    deepStrictEqual(compile(typeName(text)).text, expected);
  });
}

Deno.test("typeName() takes linear time for words without an end", () => {
  const make = (words: number) => `${"a ".repeat(words)}!`;
  // No type has a name as long as that.
  const run = (text: string) => refusalOf(() => typeName(text));
  assertLinearTime("typeName", { size: 50_000, make, run });
});

Deno.test("ordinal writes a column's number", () => {
  deepStrictEqual(compile(ordinal(12)).text, "12");
});
