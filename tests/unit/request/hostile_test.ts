import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { ServiceError } from "../../../src/errors/service_error.ts";
import { parseAccept } from "../../../src/http/accept.ts";
import { csvRows, readCsv } from "../../../src/request/csv.ts";
import { readForm } from "../../../src/request/form.ts";
import { readJsonRows } from "../../../src/request/json_rows.ts";
import { parsePreferences } from "../../../src/request/preferences.ts";
import { parseQuery, type QueryMode } from "../../../src/request/query_params.ts";
import { maxNesting } from "../../../src/request/scanner.ts";
import { refusalOf } from "../../support/refusal.ts";

/** Fails when something takes longer than `limit` milliseconds, for which quadratic time is enough. */
function within<T>(limit: number, run: () => T): T {
  const start = performance.now();
  const result = run();
  const taken = performance.now() - start;
  ok(taken < limit, `${Math.round(taken)} ms`);
  return result;
}

/** Reads a query string, or takes it that it is refused; anything else that is thrown is a bug. */
function tryQuery(query: string, mode: QueryMode = "relation"): void {
  try {
    parseQuery(query, mode);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.facts.code !== "100") throw error;
  }
}

const megabyte = 1_000_000;

/** A text of about a size. */
function repeated(piece: string, size = megabyte): string {
  return piece.repeat(Math.ceil(size / piece.length));
}

Deno.test("parseQuery reads long lists and many filters in linear time", () => {
  const list = `id=in.(${repeated("123456,")}1)`;
  const [filter] = within(500, () => parseQuery(list, "relation")).filters;
  strictEqual(
    filter?.value.operation.kind === "in" && filter.value.operation.values.length,
    142859,
  );
  const filters = Array.from({ length: 5000 }, (_, at) => `c${at}=eq.${at}`).join("&");
  strictEqual(within(500, () => parseQuery(filters, "relation")).filters.length, 5000);
  const group = `or=(${repeated('a.eq."b,c",')}a.eq.1)`;
  const [logic] = within(1000, () => parseQuery(group, "relation")).logic;
  strictEqual(logic?.value.children.length, 90911);
});

Deno.test("parseQuery takes linear time for whatever is long", () => {
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
    const text = repeated(piece, megabyte / 10);
    for (const make of makers) {
      const query = make(text);
      within(500, () => tryQuery(query));
    }
  }
});

Deno.test("parseQuery reads 10 MB", () => {
  const value = repeated("x", 10 * megabyte);
  within(2000, () => parseQuery(`a=eq.${value}`, "relation"));
  within(2000, () => tryQuery(`${value}=${value}`));
  within(5000, () => tryQuery(repeated("%F0%9F%98%80=eq.%zz&", 2 * megabyte)));
});

Deno.test("parseQuery refuses parentheses that nest too deep", () => {
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
      const refusal = within(
        1000,
        () => refusalOf(() => parseQuery(`${parameter}=${raw}`, "relation")),
      );
      strictEqual(refusal.details, `parentheses nest deeper than ${deepest} levels`);
      strictEqual(
        refusal.message === `"failed to parse ${what} (${raw})" (line 1, column ${column})`,
        true,
        `${refusal.message.slice(-30)}, not ${column}`,
      );
    }
  }
});

Deno.test("parseQuery reads or refuses any text, and throws nothing else", () => {
  const unit = fc.constantFrom(
    ...'abn .,:;()*!"\\->{}=&+%0é😀',
    "\ud800",
    "\udc00",
    "\0",
    "%FF",
    "%00",
    "%C3",
    "eq.",
    "in.(",
    "not.",
    "and",
    "or=(",
    "select=",
    "order=",
    "limit=",
    "is.",
  );
  const modes = fc.constantFrom<QueryMode>("relation", "call-get", "call-post");
  fc.assert(fc.property(fc.string({ unit, maxLength: 40 }), modes, tryQuery), { numRuns: 20_000 });
});

Deno.test("readJsonRows takes linear time and no stack for deep and broken texts", () => {
  const encoder = new TextEncoder();
  for (const depth of [100_000, 1_000_000]) {
    const pairs = [["[", "]"], ['{"a":', "}"], ['[{"a":', "}]"]] as const;
    for (const [open, close] of pairs) {
      const text = `{"k":${open.repeat(depth)}1${close.repeat(depth)}}`;
      deepStrictEqual(within(2000, () => readJsonRows(encoder.encode(text))), {
        kind: "rows",
        shape: "object",
        keys: ["k"],
      });
      const open_ = encoder.encode(open.repeat(depth));
      deepStrictEqual(within(2000, () => readJsonRows(open_)), { kind: "malformed" });
    }
  }
  const distinct = Array.from({ length: 200_000 }, (_, at) => `"k${at}":0`).join(",");
  within(2000, () => readJsonRows(encoder.encode(`[{${distinct}},{${distinct}}]`)));
  const shuffled = distinct.split(",").reverse().join(",");
  const rows = within(2000, () => readJsonRows(encoder.encode(`[{${distinct}},{${shuffled}}]`)));
  strictEqual(rows.kind, "rows");
});

Deno.test("readCsv and readForm take linear time for whatever is long", () => {
  for (const piece of [",", '"', '""', "\n", "\r", "a,", '"a",', "a\n", '"\n'] as const) {
    const read = within(2000, () => readCsv(`a\n${repeated(piece, megabyte / 5)}`));
    if (read.kind === "lines") within(2000, () => csvRows(read.lines));
    const names = within(2000, () => readCsv(`${repeated(piece, megabyte / 5)}\n1\n1,2\n`));
    if (names.kind === "lines") within(2000, () => csvRows(names.lines));
  }
  for (const piece of ["&", "=", "a=1&", "%", "+", "%FF"]) {
    within(2000, () => readForm(repeated(piece)));
  }
});

Deno.test("parseAccept and parsePreferences take linear time for whatever is long", () => {
  for (const piece of [",", ";", ";q=", "*", "a/b;", " ", "\t", '"', "=", "/", "a/b;c=d"]) {
    within(2000, () => parseAccept(repeated(piece)));
    within(2000, () => parseAccept(`text/csv${repeated(piece)}`));
    within(2000, () => parsePreferences(repeated(piece)));
  }
  within(2000, () => parseAccept(`application/vnd.svc.plan;options=${repeated("analyze|")}`));
});
