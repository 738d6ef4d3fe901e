import { ok, strictEqual } from "node:assert/strict";
import { nestsDeeper } from "../../../src/database/nesting.ts";

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

Deno.test("nestsDeeper looks at a long value once", () => {
  const began = performance.now();
  nestsDeeper(`[${'"[",'.repeat(2_000_000)}1]`, 4000);
  ok(performance.now() - began < 2000);
});
