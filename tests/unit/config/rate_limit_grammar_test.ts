/** The grammar of `rate-limits`. */
import { deepStrictEqual } from "node:assert/strict";
import { type RateLimitPolicy, readRateLimits } from "../../../src/config/rate_limit_grammar.ts";

const anyRequest = { roles: null, method: null, path: "/" } as const;
const perMinute = (count: number) => ({ count, windowSeconds: 60, burst: count });

const valid: readonly (readonly [text: string, ...policies: RateLimitPolicy[]])[] = [
  ["a: 5/1m by ip", { name: "a", ...perMinute(5), by: { kind: "ip" }, ...anyRequest }],
  ["a:5/60s by all", { name: "a", ...perMinute(5), by: { kind: "all" }, ...anyRequest }],
  [
    " a-B_9 : 5 / 1m burst 2 by role ; ",
    { name: "a-B_9", ...perMinute(5), burst: 2, by: { kind: "role" }, ...anyRequest },
  ],
  ["a: 1/1h by token for web_anon, clerk", {
    ...{ name: "a", count: 1, windowSeconds: 3600, burst: 1, by: { kind: "token" } },
    ...{ ...anyRequest, roles: ["web_anon", "clerk"] },
  }],
  ['a: 5/1m by ip for "one; role","a ""b""" on post /rpc/login', {
    ...{ name: "a", ...perMinute(5), by: { kind: "ip" } },
    ...{ roles: ["one; role", 'a "b"'], method: "POST", path: "/rpc/login" },
  }],
  [
    "a: 5/1m by ip on /todos; b: 5/1m by $.sub",
    { name: "a", ...perMinute(5), by: { kind: "ip" }, ...anyRequest, path: "/todos" },
    { name: "b", ...perMinute(5), by: { kind: "claim", path: "$.sub" }, ...anyRequest },
  ],
  ["a: 5/1m by $['x; y'][?@.b == \"c d\"] on GET /", {
    ...{ name: "a", ...perMinute(5), ...anyRequest, method: "GET" },
    by: { kind: "claim", path: "$['x; y'][?@.b == \"c d\"]" },
  }],
  ["a: 1/30d by ip", {
    ...{ name: "a", count: 1, windowSeconds: 2_592_000, burst: 1 },
    ...{ by: { kind: "ip" }, ...anyRequest },
  }],
];

for (const [text, ...policies] of valid) {
  Deno.test(`readRateLimits() reads ${text}`, () => {
    deepStrictEqual(readRateLimits(text), { kind: "policies", policies });
  });
}

const by = '"ip", "role", "token", "all" or a JSONPath such as "$.sub"';
const many = Array.from({ length: 33 }, (_, number) => `p${number}: 1/1s by ip`).join(";");

const invalid: readonly (readonly [text: string, position: number, expected: string])[] = [
  ["", 1, "a policy's name"],
  ["9: 5/1m by ip", 1, "a policy's name"],
  ["a 5/1m by ip", 3, '":"'],
  ["a: x/1m by ip", 4, "a number of requests"],
  ["a: 0/1m by ip", 4, "a number from 1 to 1000000000"],
  ["a: 5 1m by ip", 6, '"/"'],
  ["a: 5/m by ip", 6, 'a time such as "10s", "1m", "1h" or "1d"'],
  ["a: 5/1w by ip", 6, 'a time such as "10s", "1m", "1h" or "1d"'],
  ["a: 5/0s by ip", 6, 'a time from "1s" to "30d"'],
  ["a: 5/31d by ip", 6, 'a time from "1s" to "30d"'],
  ["a: 100001/1s by ip", 4, "at most 100000 requests in a second"],
  ["a: 1/1d burst 31 by ip", 4, "a burst that refills within 30 days"],
  ["a: 5/1m", 8, '"burst" or "by"'],
  ["a: 5/1m for x", 9, '"burst" or "by"'],
  ["a: 5/1m byip", 9, '"burst" or "by"'],
  ["a: 5/1m by host", 12, by],
  ["a: 5/1m by IP", 12, by],
  ["a: 5/1m by ip for ", 19, "a role"],
  ["a: 5/1m by ip for x,", 21, "a role"],
  ['a: 5/1m by ip for "x', 19, "a role in double quotes"],
  ["a: 5/1m by ip on", 17, 'a method or a path such as "/rpc/login"'],
  ["a: 5/1m by ip on GET", 21, 'a path such as "/rpc/login"'],
  ["a: 5/1m by ip on GET rpc", 22, 'a path such as "/rpc/login"'],
  ["a: 5/1m by ip, b: 5/1m by ip", 14, '";"'],
  ["a: 5/1m by ip; a: 6/1m by ip", 16, "a name that no other policy has"],
  [many, many.lastIndexOf("p32") + 1, "at most 32 policies"],
];

for (const [text, position, expected] of invalid) {
  Deno.test(`readRateLimits() refuses "${text.slice(-40)}"`, () => {
    deepStrictEqual(readRateLimits(text), { kind: "problem", position, expected });
  });
}
