import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { ServiceError } from "../../../src/errors/service_error.ts";
import { headerOverrides, mergeHeaders, statusOverride } from "../../../src/response/overrides.ts";

const statuses: readonly [string | null, number | null][] = [
  [null, null],
  ["200", 200],
  ["404abc", 404],
  ["0418", 418],
  ["599", 599],
];
const badStatuses = [" 404", "-1", "abc", "", "99", "100", "199", "600", "99999999999999999999"];

Deno.test("statusOverride() reads the leading digits", () => {
  for (const [setting, status] of statuses) strictEqual(statusOverride(setting), status);
});

Deno.test("statusOverride() throws 112 for a status that cannot be sent", () => {
  for (const setting of badStatuses) throwsCode("112", () => statusOverride(setting));
});

Deno.test("headerOverrides() reads one header per object and keeps repeats", () => {
  deepStrictEqual(headerOverrides(null), []);
  deepStrictEqual(headerOverrides("[]"), []);
  deepStrictEqual(
    headerOverrides('[{"Set-Cookie":"a=1"},{"Set-Cookie":"b=é"},{"X":""}]'),
    [["Set-Cookie", "a=1"], ["Set-Cookie", "b=Ã©"], ["X", ""]],
  );
});

Deno.test("headerOverrides() omits headers that frame the message", () => {
  deepStrictEqual(
    headerOverrides(
      '[{"Content-Length":"3"},{"transfer-encoding":"chunked"},{"Connection":"close"},{"Upgrade":"h2c"},{"X":"y"}]',
    ),
    [["X", "y"]],
  );
});

const badHeaders = [
  "{}",
  "nonsense",
  "5",
  "null",
  '["a"]',
  "[null]",
  "[[]]",
  '[["a"]]',
  "[{}]",
  '[{"a":"b","c":"d"}]',
  '[{"a":1}]',
  '[{"a":null}]',
  '[{"a b":"c"}]',
  '[{"":"c"}]',
  '[{"a":"b\\r\\nSet-Cookie: c=d"}]',
  '[{"a\\r\\n":"b"}]',
  '[{"a":"\\u0000"}]',
];

Deno.test("headerOverrides() throws 111 for other values", () => {
  for (const setting of badHeaders) throwsCode("111", () => headerOverrides(setting));
});

Deno.test("mergeHeaders() replaces the service's headers in any case, and adds the others", () => {
  deepStrictEqual(
    mergeHeaders([["Vary", "Accept"], ["Content-Type", "a/b"]], [
      ["content-type", "c/d"],
      ["Set-Cookie", "1"],
      ["Set-Cookie", "2"],
    ]),
    [["Vary", "Accept"], ["content-type", "c/d"], ["Set-Cookie", "1"], ["Set-Cookie", "2"]],
  );
});

Deno.test("mergeHeaders() omits headers with an empty value", () => {
  deepStrictEqual(
    mergeHeaders([["Vary", "Accept"], ["Content-Type", "a/b"]], [["vary", " "], ["X", ""]]),
    [["Content-Type", "a/b"]],
  );
});

function throwsCode(code: string, run: () => unknown): void {
  throws(run, (error) => error instanceof ServiceError && error.fields.code === code);
}
