import { strictEqual } from "node:assert/strict";
import { quotable, quotableList, truncated } from "../../../../src/base/errors/quoting.ts";

Deno.test("quotable() gives short texts as they are, and the beginning of long ones", () => {
  strictEqual(quotable(""), "");
  strictEqual(quotable("x".repeat(1000)), "x".repeat(1000));
  strictEqual(quotable("x".repeat(1001)), `${"x".repeat(1000)}…`);
});

Deno.test("truncated() divides no character", () => {
  const rows: [text: string, length: number, expected: string][] = [
    ["abc", 3, "abc"],
    ["abc", 2, "ab…"],
    ["a😀b", 2, "a…"],
    ["a😀b", 3, "a😀…"],
    ["éé", 1, "é…"],
  ];
  for (const [text, length, expected] of rows) strictEqual(truncated(text, length), expected);
});

Deno.test("quotableList() lists ten names and counts the others", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
  const ten = "n0, n1, n2, n3, n4, n5, n6, n7, n8, n9";
  const rows: [count: number, uncounted: number, expected: string][] = [
    [0, 0, ""],
    [2, 0, "n0, n1"],
    [10, 0, ten],
    [11, 0, `${ten} and 1 more`],
    [1_000_000, 0, `${ten} and 999990 more`],
    [11, 5, `${ten} and 6 more`],
    [2, 5, "n0, n1 and 5 more"],
  ];
  for (const [count, uncounted, expected] of rows) {
    strictEqual(quotableList(names(count), uncounted), expected);
  }
  strictEqual(quotableList(["x".repeat(2000), "y"]), `${"x".repeat(1000)}…, y`);
});
