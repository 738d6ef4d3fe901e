import { strictEqual } from "node:assert/strict";
import { problemOf } from "../../../../../src/wings/console/pages/edit.ts";

/** Type, text, and why the text is no value of the type. */
const rows: readonly (readonly [type: string, text: string, problem: string | null])[] = [
  ["integer", "12", null],
  ["integer", "-2147483648", null],
  ["bigint", "9223372036854775807", null],
  ["integer", "1.5", "Expected a whole number"],
  ["integer", "", "Expected a whole number"],
  ["numeric", "1e400", null],
  ["numeric", "NaN", null],
  ["double precision", "x", "Expected a number"],
  ["money", "$1,000.00", null],
  ["uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", null],
  ["uuid", "a0ee", "Expected a UUID"],
  ["date", "2026-02-28", null],
  ["date", "today", null],
  ["date", "2026-02-30", null],
  ["timestamp with time zone", "2026-01-31 10:00+02", null],
  ["jsonb", '{"a":1}', null],
  ["jsonb", "{a:1}", "Expected JSON"],
  ["text[]", "{a,b}", null],
  ["text[]", '["a"]', null],
  ["text[]", "a,b", "Expected a list such as {a,b}"],
  ["bytea", "\\x00ff", null],
  ["bytea", "00f", "Expected pairs of digits such as \\x00ff"],
  ["text", "", null],
  ["inet", "anything", null],
];
for (const [type, text, problem] of rows) {
  Deno.test(`problemOf() ${JSON.stringify(text)} as ${type}: ${problem}`, () => {
    strictEqual(problemOf({ baseType: type, enumLabels: [], maxLength: null }, text), problem);
  });
}

Deno.test("problemOf() compares with the labels of an enum and the length of a type", () => {
  const column = { baseType: "mood", enumLabels: ["ok", "sad"], maxLength: null };
  strictEqual(problemOf(column, "ok"), null);
  strictEqual(problemOf(column, "bad"), "Expected one of ok, sad");
  const short = { baseType: "character varying", enumLabels: [], maxLength: 2 };
  strictEqual(problemOf(short, "äé"), null);
  strictEqual(problemOf(short, "abc"), "Expected at most 2 characters");
});
