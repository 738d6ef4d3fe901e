import { deepStrictEqual } from "node:assert/strict";
import { parseQuery } from "../../../../src/api/request/url/query_params.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

/** A text, and where and how reading it fails. The cases of conformance have those of PostgREST. */
type Row = readonly [text: string, column: number, details: string];

/** Encodes what would divide a query string. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll("%20", "+");
}

function checkRows(
  rows: readonly Row[],
  problem: { readonly what: string; readonly query: (text: string) => string },
): void {
  for (const [text, column, details] of rows) {
    deepStrictEqual(
      refusalOf(() => parseQuery(problem.query(encoded(text)), "relation")),
      {
        code: "100",
        status: 400,
        message: `"failed to parse ${problem.what} (${text})" (line 1, column ${column})`,
        details,
      },
      `${problem.what} ${text}`,
    );
  }
}

const name = "field name (* or [a..z0..9_$])";
const operator = "operator (eq, gt, ...)";
const key = "any non reserved character different from: .,>()";
const moreOfName = 'letter, digit, "-", "->>", "->"';
const fieldEnd = '"::", ".", ")", "," or end of input';

Deno.test("parseQuery tells where a filter breaks off", () => {
  checkRows([
    ["gtx.1", 3, `unexpected "x" expecting ${operator}`],
    ["notx.1", 4, `unexpected "x" expecting delimiter (.)`],
    ['in.("a', 7, `unexpected end of input expecting "," or ")"`],
    ["is(any).null", 3, `unexpected "(" expecting ${operator}`],
    ["cs(any).{1}", 3, `unexpected "(" expecting ${operator}`],
    ["eq(any.{1}", 7, `unexpected "." expecting ${operator}`],
    ["isdistinctly.1", 11, `unexpected "l" expecting ${operator}`],
    ["eq😀", 3, `unexpected "\\128512" expecting ${operator}`],
  ], { what: "filter", query: (text) => `id=${text}` });
});

Deno.test("parseQuery tells where a parameter's name breaks off", () => {
  checkRows([
    ["a--b", 3, `unexpected "-" expecting ">", letter or digit`],
    ["a->b-", 6, `unexpected end of input expecting ">" or ${key}`],
    ['"a\\', 4, "unexpected end of input"],
    ["é->(", 4, `unexpected "(" expecting "-", digit or ${key}`],
    ["😀", 1, `unexpected "\\128512" expecting ${name}`],
  ], { what: "tree path", query: (text) => `${text}=eq.1` });
});

Deno.test("parseQuery wants nothing but names before order, limit and offset", () => {
  const problem = { what: "tree path", query: (text: string) => `${text}=1` };
  for (const word of ["order", "limit", "offset"]) {
    checkRows([
      [`a..${word}`, 3, `unexpected "." expecting ${name}`],
      [`.${word}`, 1, `unexpected "." expecting ${name}`],
      [
        `a(b).${word}`,
        2,
        `unexpected '(' expecting letter, digit, "-", delimiter (.) or end of input`,
      ],
    ], problem);
  }
});

Deno.test("parseQuery tells where select breaks off", () => {
  checkRows([
    [
      "id::numeric(10,2)",
      12,
      `unexpected '(' expecting letter, digit, ".", "::", ")", "," or end of input`,
    ],
    ["rel(a,", 7, `unexpected end of input expecting "...", ${name}, "*" or "count()"`],
    ["rel(sub()", 10, `unexpected end of input expecting "," or ")"`],
    ["rel!leftover(id)", 4, `unexpected '!' expecting ${moreOfName}, ${fieldEnd}`],
    ["...rel!(id)", 8, `unexpected "(" expecting "left", "inner" or ${name}`],
    ["..rel(id)", 1, `unexpected "r" expecting "...", ${name}, "*" or "count()"`],
    // PostgREST reads these as far as they go, or as nothing at all.
    ["id)", 3, `unexpected ')' expecting "," or end of input`],
    ["rel(id))", 8, `unexpected ')' expecting "," or end of input`],
    ["rel(id).name", 8, `unexpected '.' expecting "," or end of input`],
    [",id", 1, `unexpected "," expecting "...", ${name}, "*" or "count()"`],
    ["(id)", 1, `unexpected "(" expecting "...", ${name}, "*" or "count()"`],
    [":id", 1, `unexpected ":" expecting "...", ${name}, "*" or "count()"`],
    ["*::text", 2, `unexpected ':' expecting ")", "," or end of input`],
  ], { what: "select parameter", query: (text) => `select=${text}` });
});

Deno.test("parseQuery tells where order breaks off", () => {
  checkRows([
    ["id.asc ", 7, `unexpected ' ' expecting delimiter (.), "," or end of input`],
    ...["rel(id,name)", "rel()"].map((text): Row => [
      text,
      4,
      `unexpected '(' expecting ${moreOfName}, delimiter (.), "," or end of input`,
    ]),
  ], { what: "order", query: (text) => `order=${text}` });
});

Deno.test("parseQuery tells where a logic tree breaks off, counting its operator", () => {
  checkRows([
    ["(makers.city.eq.Ulm)", 11, `unexpected "c" expecting "not" or ${operator}`],
    ["(and(a.eq.1)x)", 15, `unexpected "x" expecting "," or ")"`],
    ["(a.cs.{b}c)", 12, `unexpected "c" expecting "," or ")"`],
    ["(a.is.nullx)", 13, `unexpected "x" expecting "," or ")"`],
  ], { what: "logic tree", query: (text) => `or=${text}` });
  checkRows([
    ["(a)", 10, `unexpected ")" expecting ${moreOfName} or delimiter (.)`],
  ], { what: "logic tree", query: (text) => `not.and=${text}` });
});

Deno.test("parseQuery tells where the path of a logic tree breaks off", () => {
  checkRows([
    [".or", 1, `unexpected "." expecting ${name}`],
    ["a..and", 3, `unexpected "." expecting ${name}`],
    ["a->b.or", 2, `unexpected '-' expecting letter, digit, "-", delimiter (.) or end of input`],
  ], { what: "logic path", query: (text) => `${text}=(a.eq.1)` });
});

Deno.test("parseQuery tells where columns and on_conflict break off", () => {
  for (const parameter of ["columns", "on_conflict"]) {
    checkRows([
      ["", 1, `unexpected end of input expecting ${name}`],
      ["a,*", 3, `unexpected "*" expecting ${name}`],
      ["a, ", 4, `unexpected end of input expecting ${name}`],
    ], { what: `${parameter} parameter`, query: (text) => `${parameter}=${text}` });
  }
});

Deno.test("parseQuery refuses the character that PostgreSQL's text cannot hold", () => {
  const rows: [query: string, raw: string, column: number][] = [
    ["id=eq.a%00b", "eq.a%00b", 5],
    ["%00=eq.1", "%00", 1],
    ["select=%F0%9F%98%80%00", "😀%00", 2],
    ["limit=%001", "%001", 1],
  ];
  for (const [query, raw, column] of rows) {
    for (const mode of ["relation", "call-get", "call-post"] as const) {
      deepStrictEqual(refusalOf(() => parseQuery(query, mode)), {
        code: "100",
        status: 400,
        message: `"failed to parse query parameter (${raw})" (line 1, column ${column})`,
        details: 'unexpected "%00": PostgreSQL has no text with the character U+0000',
      });
    }
  }
});

Deno.test("parseQuery reports the first problem of the first kind", () => {
  const order = ["order=", "or=", "columns=", "select=,", "id=1", "on_conflict=", "a..limit=1"];
  const whats = [
    "order",
    "logic tree",
    "columns parameter",
    "select parameter",
    "filter",
    "on_conflict parameter",
    "tree path",
  ];
  whats.forEach((what, first) => {
    const query = order.slice(first).reverse().join("&");
    const { message } = refusalOf(() => parseQuery(query, "relation"));
    deepStrictEqual(message.startsWith(`"failed to parse ${what} (`), true, message);
  });
  const { message } = refusalOf(() => parseQuery("a=1&b=2&*=eq.1", "relation"));
  deepStrictEqual(message, '"failed to parse filter (1)" (line 1, column 1)');
});
