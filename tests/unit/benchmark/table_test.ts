import { strictEqual } from "node:assert/strict";
import { markdownTable, shown } from "../../../tools/benchmark/table.ts";

Deno.test("markdownTable aligns names to the left and numbers to the right", () => {
  strictEqual(
    markdownTable(["case", "n"], [["a longer one", "1"], ["b", "1,000"]]),
    [
      "| case         |     n |",
      "| ------------ | ----: |",
      "| a longer one |     1 |",
      "| b            | 1,000 |",
    ].join("\n"),
  );
});

const numbers: readonly (readonly [number: number | null, text: string])[] = [
  [12_345.6, "12,346"],
  [999.6, "1,000"],
  [123.45, "123"],
  [12.345, "12.3"],
  [1.2345, "1.23"],
  [0.12345, "0.123"],
  [0.0001, "0"],
  [0, "0"],
  [-1.234, "-1.23"],
  [null, "–"],
  [NaN, "–"],
];

for (const [number, text] of numbers) {
  Deno.test(`shown writes ${number} as ${text}`, () => strictEqual(shown(number), text));
}
