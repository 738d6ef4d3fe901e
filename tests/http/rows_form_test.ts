/**
 * Answers of many rows, which PostgreSQL sends row by row, beside the same rows as single values.
 */
import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import type { Observation } from "../../mod.ts";
import { type Api, apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon", dbAggregatesEnabled: true };
const suite = apiSuite("rows_form", config);

async function textOf(api: Api, line: string, headers = {}): Promise<string> {
  const response = await api(line, { headers });
  const text = await response.text();
  strictEqual(response.status, 200, `${line}: ${text.slice(0, 300)}`);
  return text;
}

for (const rows of [0, 1, 99, 100, 101, 102, 1000, 1001, 100_000]) {
  suite.test(`${rows} rows are byte for byte what json_agg gives`, async (api) => {
    const expected = await textOf(api, `GET /rpc/numbers_value?n=${rows}`);
    for (let time = 0; time < 3; time++) {
      const response = await api(`GET /numbers?id=lte.${rows}`);
      strictEqual(await response.text(), expected);
      const range = rows === 0 ? "*/*" : `0-${rows - 1}/*`;
      strictEqual(response.headers.get("Content-Range"), range);
    }
  });

  suite.test(`${rows} rows are the same lines of CSV`, async (api) => {
    const lines = Array.from(
      { length: rows },
      (_, n) => `\n${n + 1},"row ${n + 1}",${(n + 1) % 2 || ""}`,
    );
    const expected = rows === 0 ? "\n" : `id,name,odd${lines.join("")}`;
    strictEqual(await textOf(api, `GET /numbers?id=lte.${rows}`, { Accept: "text/csv" }), expected);
  });
}

/** Reads with more than 1,000 rows, which two pages with a limit return as single values. */
const pairs: readonly (readonly [line: string, accept: string, separator: string])[] = [
  ["GET /parts?order=id", "application/json", ", \n "],
  ["GET /parts?order=name.desc.nullslast,id", "application/json", ", \n "],
  ["GET /parts?order=id&select=id,n:name,price::text", "application/json", ", \n "],
  ["GET /parts?order=id&select=id,makers(name)", "application/json", ", \n "],
  ["GET /parts?order=id&select=id,...makers(maker:name)", "application/json", ", \n "],
  ["GET /parts?order=id&select=id,makers!inner(id,parts(id))&makers.id=lt.38", "", ", \n "],
  ["GET /parts?order=id", "application/vnd.svc.array+json;nulls=stripped", ","],
  ["GET /parts?order=id&select=id,tags->0", "application/json", ", \n "],
  ["GET /rpc/rows_of?n=2400", "application/json", ", \n "],
  ["GET /rpc/rows_of?n=2400&order=id&select=id,makers(name)", "application/json", ", \n "],
  ["GET /rpc/table_of?n=1700", "application/json", ", \n "],
  ["GET /rpc/words?n=1300", "application/json", ", "],
  ["GET /parts?select=price,id.count()&order=price", "application/json", ", \n "],
];

for (const [line, accept, separator] of pairs) {
  suite.test(`${line} as ${accept} has the rows of its pages, in order`, async (api) => {
    const headers = { Accept: accept === "" ? "*/*" : accept };
    const whole = await textOf(api, line, headers);
    const page = (offset: number) =>
      textOf(api, `${line}${line.includes("?") ? "&" : "?"}limit=1000&offset=${offset}`, headers);
    const pages = [await page(0), await page(1000), await page(2000)].filter((text) =>
      text !== "[]"
    );
    ok(pages.length > 1);
    strictEqual(whole, `[${pages.map((text) => text.slice(1, -1)).join(separator)}]`);
  });
}

suite.rows("many rows have the headers of few", [
  ...answers()`
    HEAD /parts?id=lt.2000
      200
      Content-Range: 0-1998/*
      Content-Type: application/json; charset=utf-8
  `,
  ["HEAD /parts", { headers: { Prefer: "count=exact" } }, 200, undefined, {
    "Content-Range": "0-2499/2500",
  }],
  ["GET /numbers?id=gt.100000", {}, 200, [], { "Content-Range": "*/*", "Content-Length": "2" }],
  ...answers()`
    GET /numbers?id=eq.7&select=id
      200 [{"id":7}]
      Content-Range: 0-0/*
      Content-Length: 10
    GET /parts?offset=2501 {Prefer: count=exact}
      416 SVC103 | Requested range not satisfiable | An offset of 2501 was requested, but there are only 2500 rows.
      Content-Range: */2500
    GET /failing | 400 22012 | division by zero
  `,
]);

for (const count of ["exact", "planned", "estimated"]) {
  suite.test(`count=${count} has the same total for many rows as for few`, async (api) => {
    const total = async (line: string) => {
      const response = await api(line, { headers: { Prefer: `count=${count}` } });
      const range = response.headers.get("Content-Range")!.split("/");
      return { status: response.status, total: range[1], last: range[0] };
    };
    const many = await total("GET /parts");
    const few = await total("GET /parts?limit=10");
    strictEqual(many.total, few.total);
    strictEqual(many.last, "0-2499");
    strictEqual(few.last, "0-9");
  });
}

suite.test("a part of many rows has the status 206", async (api) => {
  const response = await api("GET /parts?offset=100", { headers: { Prefer: "count=exact" } });
  strictEqual(response.status, 206);
  strictEqual(response.headers.get("Content-Range"), "100-2499/2500");
});

suite.test("response.headers and response.status of a function precede its rows", async (api) => {
  for (const rows of [10, 5000]) {
    const response = await api(`GET /rpc/set_headers?n=${rows}`);
    strictEqual(response.status, 203);
    strictEqual(response.headers.get("X-Rows"), String(rows));
    strictEqual((await response.json()).length, rows);
  }
});

suite.test("an answer that is larger than 128 KiB is a stream without Content-Length", async (api) => {
  // The embedded engine hands out whole replies.
  if (api.engine === "pglite") return;
  const response = await api.handler(new Request("http://x/numbers"));
  strictEqual(response.headers.get("Content-Length"), null);
  strictEqual((await response.json()).length, 100_000);
});

const events: Observation[] = [];
const failing = serviceSuite(
  "rows_form",
  { ...config, dbPool: 1, observe: (event) => void events.push(event) },
  { title: "rows that fail while they are sent" },
);

failing.test("a failure while rows are sent aborts the body, and is logged", async (api) => {
  for (let time = 0; time < 3; time++) {
    const response = await api.handler(new Request("http://x/grades?order=id"));
    strictEqual(response.status, 200);
    await rejects(response.text());
    const aborted = events.filter(({ kind }) => kind === "response-aborted").splice(0);
    events.length = 0;
    deepStrictEqual(aborted, [{
      kind: "response-aborted",
      method: "GET",
      target: "/grades?order=id",
      error: { code: "22003", message: "no such grade", details: null, hint: null },
    }]);
  }
  strictEqual(await textOf(api, "GET /numbers?id=eq.1&select=id"), '[{"id":1}]');
});

failing.test("a failure in the first rows is an error answer", async (api) => {
  const response = await api("GET /grades?order=id&id=gte.50000");
  strictEqual(response.status, 400);
  match(await response.text(), /^\{"code":"22003"/);
});

failing.test("a reader that stands still keeps no connection, and gets the whole body", async (api) => {
  const responses: Response[] = [];
  for (let time = 0; time < 3; time++) {
    responses.push(await api.handler(new Request("http://x/heavy")));
    strictEqual(await textOf(api, "GET /numbers?id=eq.1&select=id"), '[{"id":1}]');
  }
  for (const response of responses) {
    const rows = JSON.parse(await response.text());
    strictEqual(rows.length, 15_000);
    ok(
      rows.every(({ id, pad }: { id: number; pad: string }, n: number) =>
        id === n + 1 && pad === String.fromCharCode(97 + id % 26).repeat(1000)
      ),
    );
  }
});

failing.test("a client that leaves many rows keeps no connection", async (api) => {
  for (let time = 0; time < 3; time++) {
    const response = await api.handler(new Request("http://x/numbers"));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    strictEqual(await textOf(api, "GET /numbers?id=eq.1&select=id"), '[{"id":1}]');
  }
  deepStrictEqual(events.filter(({ kind }) => kind === "response-aborted"), []);
});
