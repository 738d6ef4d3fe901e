import { deepStrictEqual } from "node:assert/strict";
import { parseQuery } from "../../../../src/api/request/url/query_params.ts";
import type { RowBounds } from "../../../../src/api/request/url/query_types.ts";
import { chooseRowBounds } from "../../../../src/api/request/url/row_bounds.ts";
import { type Refusal, refusalOf } from "../../../support/handler/refusal.ts";

function boundsOf(method: string, query: string, range: string | null = null): RowBounds {
  return chooseRowBounds({ method, range, query: parseQuery(query, "relation") });
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

Deno.test("chooseRowBounds intersects limit, offset and Range", () => {
  const rows: [query: string, range: string | null, first: bigint, last: bigint | null][] = [
    ["", null, 0n, null],
    ["limit=3", null, 0n, 2n],
    ["offset=2", null, 2n, null],
    ["limit=3&offset=2", null, 2n, 4n],
    ["limit=abc&offset=2", null, 2n, null],
    ["limit=3&offset=x", null, 0n, 2n],
    ["limit=0", null, 0n, -1n],
    ["limit=0&offset=0", null, 0n, -1n],
    ["offset=-5", null, 0n, null],
    ["offset=-2&limit=3", null, 0n, 0n],
    ["offset=-2&limit=2", null, 0n, -1n],
    ["tools.limit=-1", null, 0n, null],
    ["", "0-9", 0n, 9n],
    ["", "0-0", 0n, 0n],
    ["", "10-", 10n, null],
    ["", "items=0-9", 0n, null],
    ["", "-5", 0n, null],
    ["", "a-b", 0n, null],
    ["", "1-2,4-5", 0n, null],
    ["", " 1-2", 0n, null],
    ["limit=3", "0-1", 0n, 1n],
    ["limit=3", "2-5", 2n, 2n],
    ["offset=4", "2-5", 4n, 5n],
    ["limit=0", "5-9", 0n, -1n],
    ["limit=0", "3-1", 0n, -1n],
    ["limit=99999999999999999999", null, 0n, 99999999999999999998n],
    ["offset=99999999999999999999", null, 99999999999999999999n, null],
  ];
  for (const [query, range, first, last] of rows) {
    deepStrictEqual(boundsOf("GET", query, range), { first, last }, `${query} ${range}`);
  }
});

Deno.test("chooseRowBounds reads Range with GET alone", () => {
  for (const method of ["HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]) {
    for (const range of ["2-3", "3-1"]) {
      deepStrictEqual(boundsOf(method, "", range), { first: 0n, last: null }, method);
    }
  }
});

Deno.test("chooseRowBounds refuses windows that cannot be", () => {
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
    deepStrictEqual(refusalOf(() => boundsOf(method, query, range)), refusal, label);
  }
});

Deno.test("chooseRowBounds lets writes have what does no harm", () => {
  const rows: [method: string, query: string, bounds: RowBounds][] = [
    ["PATCH", "limit=1&order=id", { first: 0n, last: 0n }],
    ["DELETE", "offset=1&order=id.desc", { first: 1n, last: null }],
    ["DELETE", "order=id", { first: 0n, last: null }],
    ["PUT", "offset=0", { first: 0n, last: null }],
    ["PUT", "tools.limit=1", { first: 0n, last: null }],
    ["PUT", "limit=x", { first: 0n, last: null }],
    ["POST", "limit=1", { first: 0n, last: 0n }],
  ];
  for (const [method, query, bounds] of rows) {
    deepStrictEqual(boundsOf(method, query), bounds, `${method} ${query}`);
  }
});
