import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { parseTraceparent, traceparentOf } from "../../../../src/base/http/trace_context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const valid = `00-${traceId}-${spanId}-01`;

const rows: readonly (readonly [value: string | null, isValid: boolean])[] = [
  [valid, true],
  [`00-${traceId}-${spanId}-00`, true],
  [`cc-${traceId}-${spanId}-01`, true],
  [`cc-${traceId}-${spanId}-01-what-the-future-brings`, true],
  [null, false],
  ["", false],
  [`00-${traceId}-${spanId}-01-more`, false],
  [`00-${traceId}-${spanId}-01-`, false],
  [`cc-${traceId}-${spanId}-01.more`, false],
  [`ff-${traceId}-${spanId}-01`, false],
  [`00-${"0".repeat(32)}-${spanId}-01`, false],
  [`00-${traceId}-${"0".repeat(16)}-01`, false],
  [`00-${traceId.toUpperCase()}-${spanId}-01`, false],
  [`00-${traceId.slice(1)}-${spanId}-01`, false],
  [`00-${traceId}-${spanId}-1`, false],
  [`0-${traceId}-${spanId}-01`, false],
  [` ${valid}`, false],
  [`${valid}\n`, false],
  [`${valid}, ${valid}`, false],
];

Deno.test("parseTraceparent() accepts what W3C Trace Context does", async (t) => {
  for (const [value, isValid] of rows) {
    await t.step(JSON.stringify(value), () => {
      const expected = isValid ? { traceId, spanId, flags: value!.slice(53, 55) } : null;
      deepStrictEqual(parseTraceparent(value), expected);
    });
  }
});

Deno.test("traceparentOf() returns the header of a span", () => {
  strictEqual(traceparentOf(parseTraceparent(valid)!), valid);
});
