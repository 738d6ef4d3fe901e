import { formatServerTiming } from "../../../../src/base/observe/stopwatch.ts";
import { strictEqual } from "node:assert/strict";

Deno.test("formatServerTiming writes milliseconds with one decimal", () => {
  strictEqual(
    formatServerTiming({ jwt: 0.4, parse: 0.06, plan: 0, transaction: 3.54, response: 1234.5678 }),
    "jwt;dur=0.4, parse;dur=0.1, plan;dur=0.0, transaction;dur=3.5, response;dur=1234.6",
  );
  strictEqual(formatServerTiming({}), "");
});
