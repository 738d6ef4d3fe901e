import { match, notStrictEqual, strictEqual } from "node:assert/strict";
import { applicationNameOf, requestIdOf } from "../../../../src/base/http/request_id.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

for (const sent of ["a", "AZaz09._:/+=-", "x".repeat(128)]) {
  Deno.test(`requestIdOf() keeps ${sent.slice(0, 20)}`, () => {
    strictEqual(requestIdOf(sent), sent);
  });
}

const hostile = [null, "", "a b", "a\n", 'a"', "ä", "<a>", "a\0", "x".repeat(129), "a,b", "a, b"];
for (const sent of hostile) {
  Deno.test(`requestIdOf() replaces ${JSON.stringify(sent)?.slice(0, 20)} by a UUID`, () => {
    match(requestIdOf(sent), uuid);
    notStrictEqual(requestIdOf(sent), requestIdOf(sent));
  });
}

const span = { traceId: "a".repeat(32), spanId: "b".repeat(16), flags: "00" };

Deno.test("applicationNameOf() prefers the span, and has at most 63 bytes", () => {
  strictEqual(applicationNameOf(span, "id"), `svc 00-${span.traceId}-${span.spanId}-00`);
  strictEqual(applicationNameOf(null, "id"), "svc id");
  strictEqual(applicationNameOf(null, "x".repeat(128)), `svc ${"x".repeat(59)}`);
  strictEqual(applicationNameOf(null, null), null);
});
