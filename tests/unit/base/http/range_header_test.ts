import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  exactInteger,
  parseRange,
  type RangeHeader,
} from "../../../../src/base/http/range_header.ts";

Deno.test("parseRange reads two bounds or one, and nothing else", () => {
  const rows: [header: string | null, range: RangeHeader | null][] = [
    [null, null],
    ["", null],
    ["0-9", { first: 0n, last: 9n }],
    ["007-010", { first: 7n, last: 10n }],
    ["10-", { first: 10n, last: null }],
    ["3-1", { first: 3n, last: 1n }],
    ["-5", null],
    ["5", null],
    ["items=0-9", null],
    ["bytes=0-9", null],
    ["0-9 ", null],
    ["0 - 9", null],
    ["0-9,20-29", null],
    ["a-b", null],
    ["0-9\n", null],
    ["٠-٩", null],
    [`0-${"9".repeat(400)}`, { first: 0n, last: 10n ** 400n - 1n }],
    ["9223372036854775808-", { first: 9223372036854775808n, last: null }],
  ];
  for (const [header, range] of rows) deepStrictEqual(parseRange(header), range, String(header));
});

Deno.test("exactInteger cuts what would not be exact", () => {
  const { MAX_SAFE_INTEGER: max, MIN_SAFE_INTEGER: min } = Number;
  const rows: [digits: string, number: number][] = [
    ["0", 0],
    ["-0", 0],
    ["-12", -12],
    ["9007199254740991", max],
    ["9007199254740993", max],
    ["-9007199254740993", min],
    ["9".repeat(400), max],
  ];
  for (const [digits, number] of rows) strictEqual(exactInteger(digits), number, digits);
});
