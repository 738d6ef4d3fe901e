import { deepStrictEqual } from "node:assert/strict";
import { parseQuery } from "../../../src/request/url/query_params.ts";
import { refusalOf } from "../../support/handler/refusal.ts";

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
const isVal = "isVal: (null, not_null, true, false, unknown)";
const key = "any non reserved character different from: .,>()";
const moreOfName = 'letter, digit, "-", "->>", "->"';
const fieldEnd = '"::", ".", ")", "," or end of input';
const aggregates = '"sum", "avg", "count", "max" or "min"';
const directions = '"asc", "desc", "nullsfirst" or "nullslast"';
const nulls = '"nullsfirst" or "nullslast"';

Deno.test("parseQuery tells where a filter breaks off", () => {
  checkRows([
    ["0", 1, `unexpected "0" expecting "not" or ${operator}`],
    ["10", 1, `unexpected "1" expecting "not" or ${operator}`],
    ["", 1, `unexpected end of input expecting "not" or ${operator}`],
    ["noop.1", 1, `unexpected "o" expecting "not" or ${operator}`],
    ["null", 1, `unexpected "u" expecting "not" or ${operator}`],
    ["EQ.1", 1, `unexpected "E" expecting "not" or ${operator}`],
    ["eq", 3, `unexpected end of input expecting ${operator}`],
    ["eq1", 3, `unexpected "1" expecting ${operator}`],
    ["gte", 4, `unexpected end of input expecting ${operator}`],
    ["gtx.1", 3, `unexpected "x" expecting ${operator}`],
    ["not", 4, `unexpected end of input expecting delimiter (.)`],
    ["notx.1", 4, `unexpected "x" expecting delimiter (.)`],
    ["not.", 5, `unexpected end of input expecting ${operator}`],
    ["not.not.eq.5", 5, `unexpected "n" expecting ${operator}`],
    ["is.nil", 5, `unexpected "i" expecting ${isVal}`],
    ["is.", 4, `unexpected end of input expecting ${isVal}`],
    ["is.not.null", 7, `unexpected "." expecting ${isVal}`],
    ["in.1,2", 4, `unexpected "1" expecting "("`],
    ["in.(1,2", 8, `unexpected end of input expecting "," or ")"`],
    ['in.("a', 7, `unexpected end of input expecting "," or ")"`],
    ["in(any).(1)", 3, `unexpected "(" expecting ${operator}`],
    ["is(any).null", 3, `unexpected "(" expecting ${operator}`],
    ["cs(any).{1}", 3, `unexpected "(" expecting ${operator}`],
    ["neq(any).{1}", 4, `unexpected "(" expecting ${operator}`],
    ["eq(some).{1}", 4, `unexpected "s" expecting ${operator}`],
    ["eq(any.{1}", 7, `unexpected "." expecting ${operator}`],
    ["eq().1", 4, `unexpected ")" expecting ${operator}`],
    ["fts().x", 5, `unexpected ")" expecting ${operator}`],
    ["fts(pg_catalog.english).x", 15, `unexpected "." expecting ${operator}`],
    ["isdistinct", 11, `unexpected end of input expecting ${operator}`],
    ["isdistinctly.1", 11, `unexpected "l" expecting ${operator}`],
    ["eq😀", 3, `unexpected "\\128512" expecting ${operator}`],
  ], { what: "filter", query: (text) => `id=${text}` });
});

Deno.test("parseQuery tells where a parameter's name breaks off", () => {
  checkRows([
    ["", 1, `unexpected end of input expecting ${name}`],
    ["*", 1, `unexpected "*" expecting ${name}`],
    ["a..b", 3, `unexpected "." expecting ${name}`],
    ["a.", 3, `unexpected end of input expecting ${name}`],
    ["a-", 3, `unexpected end of input expecting ">", letter or digit`],
    ["a--b", 3, `unexpected "-" expecting ">", letter or digit`],
    ["a->", 4, `unexpected end of input expecting "-", digit or ${key}`],
    ["a->b-", 6, `unexpected end of input expecting ">" or ${key}`],
    ["a->-x", 5, `unexpected "x" expecting digit`],
    ['"a', 3, `unexpected end of input expecting "\\\\" or "\\""`],
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
    ["id,", 4, `unexpected end of input expecting "...", ${name}, "*" or "count()"`],
    ["id,,name", 4, `unexpected "," expecting "...", ${name}, "*" or "count()"`],
    ["id::", 5, "unexpected end of input expecting letter or digit"],
    ["id::int[]", 8, `unexpected '[' expecting letter, digit, ".", "::", ")", "," or end of input`],
    [
      "id::numeric(10,2)",
      12,
      `unexpected '(' expecting letter, digit, ".", "::", ")", "," or end of input`,
    ],
    ["id::public.foo", 12, `unexpected "f" expecting ${aggregates}`],
    ["id.foo", 4, `unexpected "f" expecting ${aggregates}`],
    ["rel.id", 5, `unexpected "i" expecting ${aggregates}`],
    ["id.sum", 7, `unexpected end of input expecting "()"`],
    ["count(*)", 6, `unexpected '(' expecting ${moreOfName}, ${fieldEnd}`],
    ["id[0]", 3, `unexpected '[' expecting ${moreOfName}, ${fieldEnd}`],
    ["id;x", 3, `unexpected ';' expecting ${moreOfName}, ${fieldEnd}`],
    ["name!hint", 5, `unexpected '!' expecting ${moreOfName}, ${fieldEnd}`],
    ["rel(id", 7, `unexpected end of input expecting ${moreOfName}, ${fieldEnd}`],
    ["id,rel(", 8, `unexpected end of input expecting "...", ${name}, "*", "count()" or ")"`],
    ["rel(a,", 7, `unexpected end of input expecting "...", ${name}, "*" or "count()"`],
    ["rel(sub()", 10, `unexpected end of input expecting "," or ")"`],
    ["a:b:c", 4, `unexpected "c" expecting "::"`],
    ["id:", 4, `unexpected end of input expecting ":" or ${name}`],
    ["a:*", 3, `unexpected "*" expecting ":" or ${name}`],
    ["a:...rel(*)", 3, `unexpected "." expecting ":" or ${name}`],
    ["rel->a(*)", 7, `unexpected '(' expecting "-", "->>", "->", ${fieldEnd}`],
    ["rel!a!b!c(id)", 4, `unexpected '!' expecting ${moreOfName}, ${fieldEnd}`],
    ["rel!(id)", 4, `unexpected '!' expecting ${moreOfName}, ${fieldEnd}`],
    ["rel!leftover(id)", 4, `unexpected '!' expecting ${moreOfName}, ${fieldEnd}`],
    ["id,...rel", 10, `unexpected end of input expecting letter, digit, "-", "!" or "("`],
    ["...rel!(id)", 8, `unexpected "(" expecting "left", "inner" or ${name}`],
    ["..rel(id)", 1, `unexpected "r" expecting "...", ${name}, "*" or "count()"`],
    ["data->(x", 7, `unexpected "(" expecting "-", digit or ${key}`],
    ["data->>--34", 9, `unexpected "-" expecting digit`],
    ["data->>-78xy", 11, `unexpected 'x' expecting digit, "->", "::", ".", "," or end of input`],
    ['"a""b"', 4, `unexpected '"' expecting "->>", "->", ${fieldEnd}`],
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
    ["", 1, `unexpected end of input expecting ${name}`],
    ["id,", 4, `unexpected end of input expecting ${name}`],
    ["id.", 4, `unexpected end of input expecting ${directions}`],
    ["id.ac", 4, `unexpected "c" expecting ${directions}`],
    ["id.smth", 4, `unexpected "s" expecting ${directions}`],
    ["rel.id", 5, `unexpected "i" expecting ${directions}`],
    ["id.descc", 8, `unexpected 'c' expecting delimiter (.), "," or end of input`],
    ["id.asc ", 7, `unexpected ' ' expecting delimiter (.), "," or end of input`],
    ["id.asc.", 8, `unexpected end of input expecting ${nulls}`],
    ["id.asc.nlsfst", 8, `unexpected "l" expecting ${nulls}`],
    ["id.asc.nullslasttt", 17, `unexpected 't' expecting "," or end of input`],
    ["id.nullsfirst.asc", 14, `unexpected '.' expecting "," or end of input`],
    ...["rel(id,name)", "rel()"].map((text): Row => [
      text,
      4,
      `unexpected '(' expecting ${moreOfName}, delimiter (.), "," or end of input`,
    ]),
    ["*", 1, `unexpected "*" expecting ${name}`],
  ], { what: "order", query: (text) => `order=${text}` });
});

Deno.test("parseQuery tells where a logic tree breaks off, counting its operator", () => {
  const treeStart = `${name}, negation operator (not) or logic operator (and, or)`;
  checkRows([
    ["()", 4, `unexpected ")" expecting ${treeStart}`],
    ["", 3, `unexpected end of input expecting "("`],
    [")(", 3, `unexpected ")" expecting "("`],
    ["(id.eq.1", 11, `unexpected end of input expecting "," or ")"`],
    ["(id.eq.1,)", 12, `unexpected ")" expecting ${treeStart}`],
    ["(a)", 5, `unexpected ")" expecting ${moreOfName} or delimiter (.)`],
    ["(a.xx.1)", 6, `unexpected "x" expecting "not" or ${operator}`],
    ["(id.in.1,2)", 10, `unexpected "1" expecting "("`],
    ["(not.xor(a.eq.1))", 8, `unexpected "x" expecting logic operator (and, or)`],
    ["(ord(a.eq.1))", 6, `unexpected "d" expecting "("`],
    ["(a.eq.1,not.)", 15, `unexpected ")" expecting logic operator (and, or)`],
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
