import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { quotable } from "../../../../src/base/errors/quoting.ts";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { parseAccept } from "../../../../src/base/http/accept.ts";
import { type JsonRows, JsonRowsScan } from "../../../../src/api/request/body/json_rows.ts";
import { parsePreferences } from "../../../../src/api/request/preferences.ts";
import { parseQuery, type QueryMode } from "../../../../src/api/request/url/query_params.ts";
import { maxNesting } from "../../../../src/api/request/url/scanner.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

/** Reads a query string, or takes it that it is refused; anything else that is thrown is a bug. */
function tryQuery(query: string, mode: QueryMode = "relation"): void {
  try {
    parseQuery(query, mode);
  } catch (error) {
    const codes = ["100", "177", "196"];
    if (!(error instanceof ServiceError) || !codes.includes(error.fields.code)) throw error;
  }
}

const megabyte = 1_000_000;

/** A text of about a size. */
function repeated(piece: string, size = megabyte): string {
  return piece.repeat(Math.ceil(size / piece.length));
}

/** Throws unless reading a repeated piece takes time in proportion to the number of pieces. */
function readsInLinearTime(
  what: string,
  { piece, size = megabyte / 10, wrap = (text) => text, read }: {
    readonly piece: string;
    /** Length of the longest text. Default: 100 kB. */
    readonly size?: number;
    readonly wrap?: (text: string) => string;
    readonly read: (text: string) => unknown;
  },
): void {
  const make = (length: number) => wrap(repeated(piece, length));
  assertLinearTime(`${what} of ${wrap(piece)}`, { size, make, run: read });
}

Deno.test("parseQuery() reads long lists and many filters in linear time", () => {
  const read = (query: string) => parseQuery(query, "relation");
  const list = (text: string) => `id=in.(${text}1)`;
  const [filter] = read(list(repeated("123456,"))).filters;
  strictEqual(
    filter?.value.operation.kind === "in" && filter.value.operation.values.length,
    142859,
  );
  readsInLinearTime("parseQuery", { piece: "123456,", wrap: list, read });
  const filters = (count: number) =>
    Array.from({ length: count }, (_, at) => `c${at}=eq.${at}`).join("&");
  strictEqual(read(filters(5000)).filters.length, 5000);
  assertLinearTime("parseQuery of filters", { size: 5000, make: filters, run: read });
  const piece = 'a.eq."b,c",';
  const group = (text: string) => `or=(${text}a.eq.1)`;
  throws(() => read(group(repeated(piece))), { message: "The query is too complex" });
  readsInLinearTime("parseQuery", { piece, wrap: group, read });
});

Deno.test("parseQuery() reads long limits in linear time", () => {
  const read = (query: string) => parseQuery(query, "relation");
  readsInLinearTime("parseQuery", { piece: "0", wrap: (text) => `limit=${text}x`, read });
  readsInLinearTime("parseQuery", { piece: "9", wrap: (text) => `limit=-${text}`, read });
  strictEqual(read(`limit=${"0".repeat(5000)}12`).limit, 12n);
  strictEqual(read(`limit=${"9".repeat(5000)}`).limit, BigInt("9".repeat(1000)));
});

Deno.test("parseQuery() takes linear time for whatever is long", () => {
  const pieces = [
    "a",
    "é",
    " ",
    "-",
    "a-",
    "a.",
    ".",
    '"',
    '\\"',
    "\\",
    '"\\,"\\,',
    "->a",
    "->",
    "->0",
    "->>-",
    "0",
    "(",
    "a(",
    ")",
    ",",
    "a,",
    ":",
    "a:",
    "::a",
    "!a",
    "...a(",
    "*,",
    "{",
    "{,",
    "not.",
    "and(",
    "not.or(a.eq.1,",
    'a.eq.",',
    "a.in.(",
    "a.eq.{,",
    "%",
    "%2",
    "%C3%28",
    "+",
    "&",
    ";a=",
    "=",
    "a=eq.1&",
    ".a(",
    ".a()",
    ".a(b,",
    ".a('",
    "''",
    "@a=",
    "::a.b(",
    "eq(col).a",
  ];
  const makers = [
    (text: string) => text,
    (text: string) => `select=${text}`,
    (text: string) => `order=${text}`,
    (text: string) => `or=(${text}`,
    (text: string) => `or=(a.eq."${text}`,
    (text: string) => `columns=${text}`,
    (text: string) => `limit=${text}`,
    (text: string) => `${text}.limit=1`,
    (text: string) => `${text}.or=(a.eq.1)`,
    (text: string) => `a=${text}`,
    (text: string) => `a=in.(${text}`,
    (text: string) => `a=in.("${text}`,
    (text: string) => `a=fts(${text}`,
    (text: string) => `${text}=eq.1`,
  ];
  for (const piece of pieces) {
    for (const wrap of makers) {
      readsInLinearTime("parseQuery", { piece, wrap, size: megabyte / 20, read: tryQuery });
    }
  }
});

Deno.test("parseQuery() reads 10 MB, and long names and values in linear time", () => {
  const long = repeated("x", 10 * megabyte);
  strictEqual(parseQuery(`a=eq.${long}`, "relation").filters.length, 1);
  tryQuery(`${long}=${long}`);
  const [size, read] = [megabyte / 5, tryQuery];
  readsInLinearTime("parseQuery", { piece: "x", wrap: (text) => `a=eq.${text}`, size, read });
  readsInLinearTime("parseQuery", { piece: "x", wrap: (text) => `${text}=${text}`, size, read });
  readsInLinearTime("parseQuery", { piece: "%F0%9F%98%80=eq.%zz&", size, read });
});

Deno.test("parseQuery() refuses parentheses that nest too deep", () => {
  const nestings = [
    ["select", "select parameter", "", "a(", "id"],
    ["select", "select parameter", "", "...a(", "id"],
    ["or", "logic tree", "or", "and(", "a.eq.1"],
    ["and", "logic tree", "and", "not.or(", "a.eq.1"],
  ] as const;
  for (const [parameter, what, prefix, open, inside] of nestings) {
    const nested = (levels: number) =>
      (open.repeat(levels) + inside + ")".repeat(levels)).slice(
        prefix === "" ? 0 : open.length - 1,
      );
    const deepest = parameter === "select" ? maxNesting.select : maxNesting.logic;
    parseQuery(`${parameter}=${nested(deepest)}`, "relation");
    for (const levels of [deepest + 1, 10_000, 100_000]) {
      const raw = nested(levels);
      const column = prefix.length + raw.split("(", deepest + 1).join("(").length + 1;
      const refusal = refusalOf(() => parseQuery(`${parameter}=${raw}`, "relation"));
      strictEqual(refusal.details, `parentheses nest deeper than ${deepest} levels`);
      strictEqual(
        refusal.message,
        `"failed to parse ${what} (${quotable(raw)})" (line 1, column ${column})`,
      );
    }
  }
});

function readJsonRows(bytes: Uint8Array): JsonRows {
  const scan = new JsonRowsScan();
  return scan.push(bytes) ? scan.end() : { kind: "malformed" };
}

Deno.test("JsonRowsScan takes linear time and no stack for deep and broken texts", () => {
  const encoder = new TextEncoder();
  const pairs = [["[", "]"], ['{"a":', "}"], ['[{"a":', "}]"]] as const;
  for (const [open, close] of pairs) {
    const nested = (depth: number) =>
      encoder.encode(`{"k":${open.repeat(depth)}1${close.repeat(depth)}}`);
    const broken = (depth: number) => encoder.encode(open.repeat(depth));
    const rows = { kind: "rows", shape: "object", keys: ["k"], moreKeys: 0 };
    deepStrictEqual(readJsonRows(nested(32_000)), rows);
    deepStrictEqual(readJsonRows(nested(megabyte)), { kind: "malformed" });
    deepStrictEqual(readJsonRows(broken(megabyte)), { kind: "malformed" });
    for (const make of [nested, broken]) {
      assertLinearTime(`JsonRowsScan of ${open}`, { size: megabyte / 5, make, run: readJsonRows });
    }
  }
  const keys = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":0`);
  const twice = (first: readonly string[], second: readonly string[]) =>
    encoder.encode(`[{${first}},{${second}}]`);
  const same = (count: number) => twice(keys(count), keys(count));
  const reversed = (count: number) => twice(keys(count), keys(count).reverse());
  strictEqual(readJsonRows(reversed(200_000)).kind, "rows");
  for (const make of [same, reversed]) {
    assertLinearTime(`JsonRowsScan of ${make.name} keys`, {
      size: 40_000,
      make,
      run: readJsonRows,
    });
  }
});

Deno.test("parseAccept() and parsePreferences() take linear time for whatever is long", () => {
  for (const piece of [",", ";", ";q=", "*", "a/b;", " ", "\t", '"', "=", "/", "a/b;c=d"]) {
    readsInLinearTime("parseAccept", { piece, read: parseAccept });
    readsInLinearTime("parseAccept", {
      piece,
      wrap: (text) => `text/csv${text}`,
      read: parseAccept,
    });
    readsInLinearTime("parsePreferences", { piece, read: parsePreferences });
  }
  readsInLinearTime("parseAccept", {
    piece: "analyze|",
    wrap: (text) => `application/vnd.svc.plan;options=${text}`,
    read: parseAccept,
  });
});
