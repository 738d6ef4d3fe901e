import { deepStrictEqual } from "node:assert/strict";
import { parseCookies } from "../../../../src/base/http/cookie.ts";

Deno.test("parseCookies reads names and values as they are", () => {
  const rows: [header: string | null, cookies: Record<string, string>][] = [
    [null, {}],
    ["", {}],
    [" ; ;", {}],
    ['a=1; b="q x"; c; d=e=f; a=2', { a: "2", b: '"q x"', c: "", d: "e=f" }],
    ["a=1;b=2 ; c = 3", { a: "1", b: "2 ", "c ": " 3" }],
    ["=x", { "": "x" }],
    ["a=%41", { a: "%41" }],
  ];
  for (const [header, cookies] of rows) {
    deepStrictEqual(parseCookies(header), cookies, String(header));
  }
});

Deno.test("parseCookies takes names that objects inherit for names", () => {
  const cookies = parseCookies("__proto__=x; constructor=y");
  deepStrictEqual(Object.entries(cookies), [["__proto__", "x"], ["constructor", "y"]]);
  deepStrictEqual(JSON.stringify(cookies), '{"__proto__":"x","constructor":"y"}');
});
