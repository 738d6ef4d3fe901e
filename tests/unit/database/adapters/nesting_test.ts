import { strictEqual } from "node:assert/strict";
import { nestsDeeper } from "../../../../src/database/adapters/pglite.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";

const rows: readonly [string, boolean][] = [
  ["[[[]]]", false],
  ["[[[[]]]]", true],
  ['{"a":{"b":[[]]}}', true],
  ["[][][][][][]", false],
  ['["[[[[[["]', false],
  ['["\\"[[[["]', false],
  ["[[[[", true],
  ["]]]][[[", false],
];

Deno.test("nestsDeeper counts brackets outside of quotes", () => {
  for (const [text, deeper] of rows) {
    strictEqual(nestsDeeper(text, 3), deeper, text);
    strictEqual(nestsDeeper(new TextEncoder().encode(text), 3), deeper, text);
  }
  strictEqual(nestsDeeper(null, 3), false);
  strictEqual(nestsDeeper({ binary: new Uint8Array([0x5b, 0x5b, 0x5b, 0x5b]) }, 3), false);
});

Deno.test("nestsDeeper() takes linear time", () => {
  const make = (texts: number) => `[${'"[",'.repeat(texts)}1]`;
  const run = (value: string) => nestsDeeper(value, 4000);
  assertLinearTime("nestsDeeper", { size: 200_000, make, run });
});
