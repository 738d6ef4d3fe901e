/** The grammar of `rate-limits`. */
import { deepStrictEqual } from "node:assert/strict";
import {
  type RateLimitPolicy,
  readRateLimits,
} from "../../../../src/state/config/rate_limit_grammar.ts";

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
  ["a: 5/1m by $.a[?(@.b[0] == 'c ]')].d", {
    ...{ name: "a", ...perMinute(5), ...anyRequest },
    by: { kind: "claim", path: "$.a[?(@.b[0] == 'c ]')].d" },
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

const many = Array.from({ length: 33 }, (_, number) => `p${number}: 1/1s by ip`).join(";");

const form = "expected name: count/time [burst count] by what [for role, …] [on [method] path]";

const wrongForms = [
  "",
  "9: 5/1m by ip",
  "a 5/1m by ip",
  "a: x/1m by ip",
  "a: 5 1m by ip",
  "a: 5/m by ip",
  "a: 5/1w by ip",
  "a: 5/1m",
  "a: 5/1m for x",
  "a: 5/1m byip",
  "a: 5/1m by host",
  "a: 5/1m by ipx",
  "a: 5/1m by IP",
  "a: 5/1m by ip for ",
  "a: 5/1m by ip for x,",
  'a: 5/1m by ip for "x',
  "a: 5/1m by $['x",
  "a: 5/1m by ip on",
  "a: 5/1m by ip on GET",
  "a: 5/1m by ip on GET rpc",
  "a: 5/1m by ip, b: 5/1m by ip",
];

const invalid: readonly (readonly [text: string, problem: string])[] = [
  ...wrongForms.map((text) => [text, `policy 1: ${form}`] as const),
  ["a: 5/1m by ip; b", `policy 2: ${form}`],
  ["a: 0/1m by ip", "policy 1: expected a number from 1 to 1000000000"],
  ["a: 5/0s by ip", 'policy 1: expected a time from "1s" to "30d"'],
  ["a: 5/31d by ip", 'policy 1: expected a time from "1s" to "30d"'],
  ["a: 100001/1s by ip", "policy 1: expected at most 100000 requests in a second"],
  ["a: 1/1d burst 31 by ip", "policy 1: expected a burst that refills within 30 days"],
  ["a: 5/1m by ip; a: 6/1m by ip", "policy 2: expected a name that no other policy has"],
  [many, "policy 33: expected at most 32 policies"],
];

for (const [text, problem] of invalid) {
  Deno.test(`readRateLimits() refuses "${text.slice(-40)}"`, () => {
    deepStrictEqual(readRateLimits(text), { kind: "problem", problem });
  });
}
