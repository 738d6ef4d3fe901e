import { deepStrictEqual } from "node:assert/strict";
import { parseQuery } from "../../../src/request/query_params.ts";
import type { Window } from "../../../src/request/query_types.ts";
import { chooseWindow } from "../../../src/request/window.ts";
import { type Refusal, refusalOf } from "../../support/refusal.ts";

function windowOf(method: string, query: string, range: string | null = null): Window {
  return chooseWindow({ method, range, query: parseQuery(query, "relation") });
}

const negative: Refusal = {
  code: "103",
  status: 416,
  message: "Requested range not satisfiable",
  details: "Limit should be greater than or equal to zero.",
};
const lower: Refusal = {
  ...negative,
  details:
    "The lower boundary must be lower than or equal to the upper boundary in the Range header.",
};
const unordered: Refusal = {
  code: "109",
  status: 400,
  message: "A 'limit' was applied without an explicit 'order'",
  hint: "Apply an 'order' using unique column(s)",
};
const put: Refusal = {
  code: "114",
  status: 400,
  message: "limit/offset querystring parameters are not allowed for PUT",
};

const max = Number.MAX_SAFE_INTEGER;

Deno.test("chooseWindow intersects limit, offset and Range", () => {
  const rows: [query: string, range: string | null, first: number, last: number | null][] = [
    ["", null, 0, null],
    ["limit=3", null, 0, 2],
    ["offset=2", null, 2, null],
    ["limit=3&offset=2", null, 2, 4],
    ["limit=abc&offset=2", null, 2, null],
    ["limit=3&offset=x", null, 0, 2],
    ["limit=0", null, 0, -1],
    ["limit=0&offset=0", null, 0, -1],
    ["offset=-5", null, 0, null],
    ["offset=-2&limit=3", null, 0, 0],
    ["offset=-2&limit=2", null, 0, -1],
    ["tools.limit=-1", null, 0, null],
    ["", "0-9", 0, 9],
    ["", "0-0", 0, 0],
    ["", "10-", 10, null],
    ["", "items=0-9", 0, null],
    ["", "-5", 0, null],
    ["", "a-b", 0, null],
    ["", "1-2,4-5", 0, null],
    ["", " 1-2", 0, null],
    ["limit=3", "0-1", 0, 1],
    ["limit=3", "2-5", 2, 2],
    ["offset=4", "2-5", 4, 5],
    ["limit=0", "5-9", 0, -1],
    ["limit=0", "3-1", 0, -1],
    ["limit=99999999999999999999", null, 0, max - 1],
    ["offset=99999999999999999999", null, max, null],
  ];
  for (const [query, range, first, last] of rows) {
    deepStrictEqual(windowOf("GET", query, range), { first, last }, `${query} ${range}`);
  }
});

Deno.test("chooseWindow reads Range with GET alone", () => {
  for (const method of ["HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]) {
    for (const range of ["2-3", "3-1"]) {
      deepStrictEqual(windowOf(method, "", range), { first: 0, last: null }, method);
    }
  }
});

Deno.test("chooseWindow refuses windows that cannot be", () => {
  const rows: [method: string, query: string, range: string | null, refusal: Refusal][] = [
    ["GET", "limit=-1", null, negative],
    ["GET", "limit=-1&offset=5", null, negative],
    ["GET", "limit=0&offset=1", null, negative],
    ["GET", "offset=-3&limit=2", null, negative],
    ["GET", "limit=2", "2-5", negative],
    ["GET", "offset=6", "2-5", negative],
    ["GET", "", "3-1", lower],
    ["GET", "limit=5", "3-1", lower],
    ["GET", "limit=-1", "3-1", lower],
    ["HEAD", "limit=-1", null, negative],
    ["POST", "limit=-1", null, negative],
    ["PATCH", "limit=-1", null, negative],
    ["PUT", "limit=-1", null, negative],
    ["DELETE", "limit=-1&order=id", null, negative],
    ["PATCH", "limit=1", null, unordered],
    ["DELETE", "limit=1", null, unordered],
    ["DELETE", "offset=0", null, unordered],
    ["DELETE", "limit=abc", null, unordered],
    ["DELETE", "tools.limit=1", null, unordered],
    ["DELETE", "limit=1&tools.order=id", null, unordered],
    ["PUT", "limit=1", null, put],
    ["PUT", "limit=0", null, put],
    ["PUT", "offset=1&order=id", null, put],
  ];
  for (const [method, query, range, refusal] of rows) {
    const label = `${method} ${query} ${range}`;
    deepStrictEqual(refusalOf(() => windowOf(method, query, range)), refusal, label);
  }
});

Deno.test("chooseWindow lets writes have what does no harm", () => {
  const rows: [method: string, query: string, window: Window][] = [
    ["PATCH", "limit=1&order=id", { first: 0, last: 0 }],
    ["DELETE", "offset=1&order=id.desc", { first: 1, last: null }],
    ["DELETE", "order=id", { first: 0, last: null }],
    ["PUT", "offset=0", { first: 0, last: null }],
    ["PUT", "tools.limit=1", { first: 0, last: null }],
    ["PUT", "limit=x", { first: 0, last: null }],
    ["POST", "limit=1", { first: 0, last: 0 }],
  ];
  for (const [method, query, window] of rows) {
    deepStrictEqual(windowOf(method, query), window, `${method} ${query}`);
  }
});
