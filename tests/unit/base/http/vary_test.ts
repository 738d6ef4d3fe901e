import { deepStrictEqual } from "node:assert/strict";
import { withVary } from "../../../../src/base/http/vary.ts";

Deno.test("withVary() names the field once", () => {
  const rows: readonly (readonly [vary: string | null, expected: string])[] = [
    [null, "Cookie"],
    ["Accept, Prefer", "Accept, Prefer, Cookie"],
    ["Accept, cookie", "Accept, cookie"],
    ["COOKIE", "COOKIE"],
    ["*", "*"],
    ["Set-Cookie", "Set-Cookie, Cookie"],
  ];
  for (const [vary, expected] of rows) {
    const headers = vary === null ? [] : [["vary", vary] as const];
    const [[, value] = []] = withVary(headers, ["Cookie"]);
    deepStrictEqual(value, expected);
  }
});
