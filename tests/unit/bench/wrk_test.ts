import { deepStrictEqual, match, ok, throws } from "node:assert/strict";
import { drawnLine, headersOf, type LoadRequest, parseWrk, wrkScript } from "../../bench/wrk.ts";

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

const lines: readonly (readonly [line: string, chance: number, drawn: string])[] = [
  ["GET /items?id=eq.{1..100}", 0, "GET /items?id=eq.1"],
  ["GET /items?id=eq.{1..100}&limit=1", 0.999, "GET /items?id=eq.100&limit=1"],
  ["GET /items?offset={0..1}", 0.5, "GET /items?offset=1"],
  ["GET /items", 0.5, "GET /items"],
];

for (const [line, chance, drawn] of lines) {
  Deno.test(`drawnLine draws from ${line} at ${chance}`, () => {
    deepStrictEqual(drawnLine({ line }, chance), drawn);
  });
}

Deno.test("headersOf gives a token, the type of a body and the case's own headers", () => {
  const request: LoadRequest = {
    line: "POST /notes",
    body: "{}",
    tokens: ["a", "b"],
    headers: { Prefer: "count=exact" },
  };
  deepStrictEqual(headersOf(request, "b"), {
    Authorization: "Bearer b",
    "Content-Type": "application/json",
    Prefer: "count=exact",
  });
  deepStrictEqual(headersOf({ line: "GET /notes" }, "b"), {});
});

const scripts:
  readonly (readonly [what: string, request: LoadRequest, parts: readonly string[]])[] = [
    ["sends a constant request", { line: "GET /items" }, [
      String.raw`local part0 = "GET /items HTTP/1.1\r\nHost: x:3000\r\n\r\n"`,
      "request = function() return part0 end",
    ]],
    ["draws a number", { line: "GET /items?id=eq.{1..9}&limit=1" }, [
      `local part0 = "GET /items?id=eq."`,
      String.raw`local part1 = "&limit=1 HTTP/1.1\r\nHost: x:3000\r\n\r\n"`,
      "request = function() return part0 .. math.random(1, 9) .. part1 end",
    ]],
    ["draws a token", { line: "GET /items", tokens: ["a", "b"] }, [
      `local tokens = {"a","b"}`,
      String.raw`Authorization: Bearer "`,
      "request = function() return part0 .. tokens[math.random(#tokens)] .. part1 end",
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
