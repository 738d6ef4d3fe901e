import { readHeaders } from "../../../../src/api/request/raw_request.ts";
import { deepStrictEqual } from "node:assert/strict";

Deno.test("readHeaders copies headers by lower-case name, without cookies", () => {
  const received = new Headers([
    ["Accept", "text/csv"],
    ["accept", "*/*"],
    ["X-Empty", ""],
    ["Authorization", "Bearer a.b.c"],
    ["Cookie", "a=1; b=2"],
    ["constructor", "x"],
    ["__proto__", "y"],
  ]);
  const { headers, cookies } = readHeaders(received);
  deepStrictEqual(headers, {
    accept: "text/csv, */*",
    "x-empty": "",
    authorization: "Bearer a.b.c",
    constructor: "x",
  });
  deepStrictEqual(cookies, { a: "1", b: "2" });
  deepStrictEqual(readHeaders(new Headers()), { headers: {}, cookies: {} });
});

Deno.test("readHeaders decodes values whose bytes are UTF-8", () => {
  const rows: [received: string, value: string][] = [
    ["\xc3\xa9", "é"],
    ["\xf0\x9f\x98\x80!", "😀!"],
    ["\xe9", "\xe9"],
    ["\xc3\xa9\xff", "\xc3\xa9\xff"],
    ["\xc0\xaf", "\xc0\xaf"],
    ["\xa0", "\xa0"],
  ];
  for (const [received, value] of rows) {
    deepStrictEqual(readHeaders(new Headers({ x: received, cookie: `c=${received}` })), {
      headers: { x: value },
      cookies: { c: value },
    });
  }
});
