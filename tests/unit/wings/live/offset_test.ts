import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  offsetText,
  parsePgSnapshot,
  readOffset,
  sumOf,
} from "../../../../src/wings/live/offset.ts";

const offset = { xmax: 673691n, ms: 1_795_379_142_000, sum: 2n ** 64n - 1n };

Deno.test("readOffset() reads what offsetText() writes", () => {
  const text = offsetText(offset);
  strictEqual(text, String(673691n * 2n ** 112n + 1_795_379_142_000n * 2n ** 64n + 2n ** 64n - 1n));
  deepStrictEqual(readOffset(`${text}_0`), offset);
});

for (const text of ["", "-1", "now", "1", "1_", "_1", "x_0", `${"9".repeat(54)}_0`, "1_0 "]) {
  Deno.test(`readOffset() refuses ${JSON.stringify(text)}`, () => {
    strictEqual(readOffset(text), null);
  });
}

const snapshots = [
  ["10:12:10,11", { xmin: 10n, xmax: 12n, xips: ["10", "11"] }],
  ["7:7:", { xmin: 7n, xmax: 7n, xips: [] }],
] as const;

for (const [text, expected] of snapshots) {
  Deno.test(`parsePgSnapshot() reads ${text}`, () => {
    deepStrictEqual(parsePgSnapshot(text), { text, ...expected });
  });
}

Deno.test("sumOf() returns the first 64 bits of SHA-256", () => {
  strictEqual(sumOf("abc"), 0xba7816bf8f01cfean);
});
