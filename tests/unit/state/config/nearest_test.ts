import { strictEqual } from "node:assert/strict";
import { nearest } from "../../../../src/base/lib/nearest.ts";

const rows:
  readonly (readonly [word: string, candidates: readonly string[], found: string | null])[] = [
    ["flim", ["actor", "film"], "film"],
    ["API", ["Api2", "api"], "api"],
    ["Api", ["API", "api", "apI"], "api"],
    ["prcie", ["pride", "price"], "price"],
    ["tset", ["sets", "test"], "test"],
    ["api", ["shop", "warehouse"], null],
    ["x".repeat(65), ["x".repeat(65)], null],
  ];

for (const [word, candidates, found] of rows) {
  Deno.test(`nearest() finds ${found} for ${word} in ${candidates}`, () => {
    strictEqual(nearest(word, candidates), found);
  });
}
