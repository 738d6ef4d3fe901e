import { deepStrictEqual, match, ok, throws } from "node:assert/strict";
import { headersOf, type LoadRequest, parseWrk, wrkScript } from "../../../tools/benchmark/wrk.ts";
import type { User } from "../../../tools/benchmark/template.ts";

const printed = `Running 1s test @ http://127.0.0.1:3000
  1 threads and 20 connections
Requests/sec:   5000.00

{"requests":5050,"microseconds":1010000,"p50":2550,"p99":11040,"refused":3,"broken":1}
`;

Deno.test("parseWrk reads the line that the script writes", () => {
  deepStrictEqual(parseWrk(printed), {
    requests: 5050,
    perSecond: 5000,
    p50: 2.55,
    p99: 11.04,
    refused: 3,
    broken: 1,
  });
});

Deno.test("parseWrk refuses a text without that line", () => {
  throws(
    () => parseWrk("unable to connect\n"),
    /^Error: wrk said nothing of its requests:\nunable/,
  );
});

const users = ["a", "b"].map((token, index): User => ({
  number: 1000 + index,
  claims: "{}",
  token,
}));

Deno.test("headersOf gives a place for a token, the type of a body and the case's own headers", () => {
  const request: LoadRequest = {
    line: "POST /notes",
    body: "{}",
    users,
    headers: { Prefer: "count=exact" },
  };
  deepStrictEqual(headersOf(request), {
    Authorization: "Bearer {token}",
    "Content-Type": "application/json",
    Prefer: "count=exact",
  });
  deepStrictEqual(headersOf({ line: "GET /notes" }), {});
});

const scripts:
  readonly (readonly [what: string, request: LoadRequest, parts: readonly string[]])[] = [
    ["sends a constant request", { line: "GET /items" }, [
      String.raw`local part0 = "GET /items HTTP/1.1\r\nHost: x:3000\r\n\r\n"`,
      "request = function()\n  return part0\nend",
    ]],
    ["draws a number", { line: "GET /items?id=eq.{1..9}&limit=1" }, [
      `local part0 = "GET /items?id=eq."`,
      String.raw`local part2 = "&limit=1 HTTP/1.1\r\nHost: x:3000\r\n\r\n"`,
      "request = function()\n  return part0 .. math.random(1, 9) .. part2\nend",
    ]],
    ["draws a user", { line: "GET /items?id=eq.{user}", users }, [
      "local users = {1000,1001}",
      `local tokens = {"a","b"}`,
      String.raw`Authorization: Bearer "`,
      "  local user = math.random(#tokens)\n" +
      "  return part0 .. users[user] .. part2 .. tokens[user] .. part4",
    ]],
    ["counts a body in bytes", { line: "POST /notes", body: '{"a":"é"}' }, [
      String.raw`Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"a\":\"é\"}"`,
    ]],
  ];

for (const [what, request, parts] of scripts) {
  Deno.test(`wrkScript ${what}`, () => {
    const script = wrkScript(request, "http://x:3000");
    for (const part of parts) ok(script.includes(part), script);
    match(script, /^done = function/m);
  });
}
