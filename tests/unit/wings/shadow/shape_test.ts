import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { requestOfLine } from "../../../../src/wings/shadow/command.ts";
import { shapeOf, shownTarget } from "../../../../src/wings/shadow/shape.ts";

const shapes: readonly (readonly [target: string, shape: string])[] = [
  ["/items", "GET /items"],
  ["/items?id=eq.1&select=id,name", "GET /items?id=eq&select"],
  ["/items?select=id&id=eq.2", "GET /items?id=eq&select"],
  ["/items?id=gt.1&id=lt.9", "GET /items?id=gt&id=lt"],
  ["/items?id=not.in.(1,2)", "GET /items?id=not.in"],
  ["/items?id=eq(any).{1,2}", "GET /items?id=eq"],
  ["/items?or=(a.eq.1,b.eq.2)&order=a.desc&limit=3", "GET /items?limit&or&order"],
  ["/rpc/f?name=anna.b&n=1", "GET /rpc/f?n&name"],
  ["/rpc/f?a?b=1", "GET /rpc/f?a?b"],
  ["/a%0Ab?x%0A=1", "GET /a%0Ab?x"],
];

for (const [target, shape] of shapes) {
  Deno.test(`shapeOf() of ${target} has no values`, () => {
    strictEqual(shapeOf({ method: "GET", target }), shape);
  });
}

Deno.test("shownTarget() hides secrets", () => {
  const token = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYSJ9.c2ln";
  strictEqual(
    shownTarget(`/f?apikey=a&n=1&reset_token=eq.x&x=${token}&or=(pwd.eq.x)&%74oken=x`),
    "/f?apikey=***&n=1&reset_token=***&x=***&or=***&%74oken=***",
  );
});

const lines: readonly (readonly [label: string, line: string, found: unknown])[] = [
  [
    "combined",
    '10.0.0.1 - anna [10/Oct/2025:13:55:36 +0000] "GET /a?b=eq.1 HTTP/1.1" 200 12 "-" "curl/8"',
    { method: "GET", target: "/a?b=eq.1" },
  ],
  [
    "common",
    '10.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "HEAD /a HTTP/2.0" 200 0',
    { method: "HEAD", target: "/a" },
  ],
  [
    "an escaped quotation mark",
    '::1 - - [1] "GET /a?or=(\\x22b\\x22.eq.1) HTTP/1.1" 200 1 "-" "GET /x HTTP/1.1"',
    { method: "GET", target: "/a?or=(%22b%22.eq.1)" },
  ],
  ["a write", '::1 - - [1] "POST /a HTTP/1.1" 201 0', { method: "POST", target: "/a" }],
  ["bytes that are not HTTP", '::1 - - [1] "\\x16\\x03" 400 0 "-" "-"', null],
  ["a request line in a user agent", '::1 - - [1] "-" 400 0 "-" "GET /a HTTP/1.1"', null],
];

for (const [label, line, found] of lines) {
  Deno.test(`requestOfLine() reads ${label}`, () => {
    deepStrictEqual(requestOfLine(line), found);
  });
}
