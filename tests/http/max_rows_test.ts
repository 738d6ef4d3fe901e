/** Answers that `db-max-rows` or `@maxRows` cuts, and totals up to a bound. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { batchOf, get } from "../support/handler/batch.ts";
import { answers, type Row } from "../support/handler/rows.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon", dbAggregatesEnabled: true } as const;
const suite = serviceSuite("max_rows", { ...base, dbMaxRows: 2 });
const pgrst = serviceSuite("max_rows", { ...base, dbMaxRows: 2, dialect: "pgrst" }, {
  title: "max_rows, pgrst",
});
const long = apiSuite("max_rows", { ...base, dbMaxRows: 1500 }, { title: "max_rows, many rows" });
const tagged = serviceSuite("max_rows", { ...base, dbMaxRows: 4, dbCommentTags: true }, {
  title: "max_rows, tags",
});
const onlyTagged = serviceSuite("max_rows", { ...base, dbCommentTags: true }, {
  title: "max_rows, only tags",
});
const versioned = serviceSuite("max_rows", { ...base, dbMaxRows: 2, etagMode: "on" }, {
  title: "max_rows, entity tags",
});
const batches = serviceSuite("max_rows", { ...base, dbMaxRows: 2, batchMaxOperations: 5 }, {
  title: "max_rows, batches",
});

const cut = { "Svc-Truncated": "2" };
const whole = { "Svc-Truncated": null };
const ids = (...list: readonly number[]) => list.map((id) => ({ id }));
const prefer = (Prefer: string) => ({ headers: { Prefer } });
const accept = (Accept: string) => ({ headers: { Accept } });
const tooMany = (rows: number, prefix = "SVC") => ({
  code: `${prefix}179`,
  details: null,
  hint: "Request fewer rows with 'limit', or pages of them",
  message: `The result has more than ${rows} ${rows === 1 ? "row" : "rows"}`,
});

const common: readonly Row[] = [
  ["GET /items?select=id&id=lt.4&order=id", {}, 200, ids(1, 2), {
    ...cut,
    "Content-Range": "0-1/*",
  }],
  ["GET /items?select=id&id=lt.3&order=id", {}, 200, ids(1, 2), whole],
  ["GET /items?select=id&id=gt.9", {}, 200, [], whole],
  ["GET /items?select=id&limit=2&order=id", {}, 200, ids(1, 2), whole],
  ["GET /items?select=id&limit=3&order=id", {}, 200, ids(1, 2), cut],
  ["GET /items?select=id&order=id", { headers: { Range: "1-3" } }, 200, ids(2, 3), cut],
  ["GET /items?select=id&offset=2&order=id", {}, 200, ids(3, 4), cut],
  ["GET /items?select=id&offset=3&order=id", {}, 200, ids(4, 5), whole],
  ["HEAD /items", {}, 200, undefined, cut],
  ["HEAD /items?id=lt.3", {}, 200, undefined, whole],
  ["GET /items?id=eq.1&select=id", {}, 200, ids(1), whole],
  ["GET /items?select=id.count()", {}, 200, [{ count: 5 }], whole],
  ["GET /items?select=id,name.count()&order=id", {}, 200, [
    { id: 1, count: 1 },
    { id: 2, count: 1 },
  ], cut],
  ["GET /items?select=id,id&order=id", {}, 200, ids(1, 2), cut],
  ["GET /items?select=note&order=id", {}, 200, [{ note: { a: 1 } }, { note: { a: 1 } }], cut],
  ["GET /items?select=id,parts(id)&id=eq.1&parts.order=id", {}, 200, [
    { id: 1, parts: ids(1, 2) },
  ], whole],
  ["GET /items?select=id&order=id", prefer("count=exact"), 206, ids(1, 2), {
    ...cut,
    "Content-Range": "0-1/5",
  }],
  ["GET /items?offset=9", prefer("count=exact"), 416, {
    code: "",
    details: "An offset of 9 was requested, but there are only 5 rows.",
    hint: null,
    message: "Requested range not satisfiable",
  }, whole],
  ["GET /items?select=id&order=id", accept("text/csv"), 200, "id\n1\n2", cut],
  ["GET /items?select=id&id=lt.3&order=id", accept("text/csv"), 200, "id\n1\n2", whole],
  ["GET /items?select=id&order=id", accept("application/x-ndjson"), 200, '{"id":1}\n{"id":2}\n', {
    ...whole,
  }],
  ["GET /rpc/first_items?n=3&select=id", {}, 200, ids(1, 2), cut],
  ["GET /rpc/first_items?n=2&select=id", {}, 200, ids(1, 2), whole],
  ["GET /rpc/first_items?n=5&select=id", prefer("count=exact"), 206, ids(1, 2), {
    ...cut,
    "Content-Range": "0-1/5",
  }],
  ["GET /rpc/numbers?n=3", {}, 200, [1, 2], cut],
  ["POST /rpc/numbers", { body: { n: 3 } }, 200, [1, 2], cut],
  ["POST /rpc/logged", { body: { n: 3 } }, 200, [1, 2], { ...cut, "X-Logged": "yes" }],
  ["GET /rpc/one", {}, 200, 1, whole],
  ["GET /rpc/one?limit=5", {}, 200, 1, whole],
  ...answers({ headers: { Prefer: "return=representation" } })`
    POST /items?select=id with [{"id":7},{"id":8},{"id":9}]
      201 [{"id":7},{"id":8},{"id":9}]
      no Svc-Truncated
    PATCH /items?select=id&order=id with {"name":"x"}
      200 [{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]
      no Svc-Truncated
  `,
];
const inPrefix = (prefix: string) =>
  common.map(([line, parts, status, body, headers]): Row =>
    status === 416
      ? [line, parts, status, { ...body as object, code: `${prefix}103` }, headers]
      : [line, parts, status, body, headers!]
  );
suite.rows("Svc-Truncated tells that rows were cut", inPrefix("SVC"));
pgrst.rows("Svc-Truncated tells that rows were cut", inPrefix("PGRST"));

suite.rows("Svc-Truncated of other forms", [
  ["GET /items?select=id&order=id&after=", {}, 200, ids(1, 2), cut],
  ["GET /items?select=id&order=id&id=lt.3&after=", {}, 200, ids(1, 2), whole],
  ["GET /items?select=id&order=id&limit=2&after=", {}, 200, ids(1, 2), whole],
  ["GET /items?select=id&order=id&limit=3&before=", {}, 200, ids(4, 5), cut],
  ["GET /items?select=name&distinct=*&order=name", {}, 200, [{ name: "n1" }, { name: "n2" }], cut],
  ["GET /items?select=id&order=id", accept("application/vnd.svc.array+json;nulls=stripped"), 200, [
    ...ids(1, 2),
  ], cut],
  ["GET /items?select=id", { headers: { Origin: "https://a.example" } }, 200, ids(1, 2), {
    ...cut,
    "Access-Control-Expose-Headers": "Content-Encoding, Content-Location, Content-Range, " +
      "Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit, Svc-Truncated",
  }],
]);

const one = serviceSuite("max_rows", { ...base, dbMaxRows: 1 }, { title: "max_rows, one row" });
one.rows("Svc-Truncated of a single object", [
  ["GET /items?select=id&order=id", accept("application/vnd.svc.object+json"), 200, { id: 1 }, {
    "Svc-Truncated": "1",
  }],
  ["GET /items?select=id", { headers: { Prefer: "max-rows=fail" } }, 400, tooMany(1)],
]);

const fails = prefer("max-rows=fail");
suite.rows("max-rows=fail refuses an answer that is cut", [
  ["GET /items", fails, 400, tooMany(2), whole],
  ["HEAD /items", fails, 400, undefined],
  ["GET /items?select=id&id=lt.3", fails, 200, ids(1, 2), {
    "Preference-Applied": "max-rows=fail",
  }],
  ["GET /items?limit=3", fails, 400, tooMany(2)],
  ["GET /items?select=id&limit=1", fails, 200, ids(1)],
  ["GET /items?after=", fails, 400, tooMany(2)],
  ["GET /items", { headers: { ...fails.headers, Accept: "text/csv" } }, 400, tooMany(2)],
  ...answers({ headers: { ...fails.headers, Accept: "application/x-ndjson" } })`
    GET /items
      400 SVC179 | The result has more than 2 rows |  | Request fewer rows with 'limit', or pages of them
    GET /items?select=id&id=lt.3 | 200 "{\"id\":1}\n{\"id\":2}\n"
  `,
  ["GET /rpc/numbers?n=3", fails, 400, tooMany(2)],
  ["GET /rpc/one", fails, 200, 1],
  ["PATCH /items", { ...fails, body: { name: "x" } }, 204, undefined],
  ["GET /items?select=id", prefer("handling=strict, max-rows=fail"), 400, tooMany(2)],
  ["GET /items?select=id&order=id", prefer("handling=strict"), 200, ids(1, 2), cut],
  ...answers()`
    GET /items {Prefer: handling=strict, max-rows=cut}
      400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences: max-rows=cut
  `,
]);
pgrst.rows("max-rows=fail refuses an answer that is cut", [
  ["GET /items", fails, 400, tooMany(2, "PGRST")],
]);

const committing = serviceSuite("max_rows", { ...base, dbMaxRows: 2, dbTxEnd: "commit" }, {
  title: "max_rows, committing",
});
committing.test("max-rows=fail rolls back what a function wrote, which runs once", async (api) => {
  const refused = await api("POST /rpc/logged", { ...fails, body: { n: 3 } });
  strictEqual(refused.status, 400);
  strictEqual(await (await api("POST /rpc/entries")).json(), 0);
  strictEqual(
    (await api("POST /rpc/logged", { body: { n: 3 } })).headers.get("Svc-Truncated"),
    "2",
  );
  strictEqual(await (await api("POST /rpc/entries")).json(), 1);
});

long.test("answers that are sent row by row tell that they were cut", async (api) => {
  const forms: readonly Readonly<Record<string, string>>[] = [
    {},
    { Accept: "text/csv" },
    fails.headers,
  ];
  for (const headers of forms) {
    for (let time = 0; time < 3; time++) {
      const response = await api("GET /many?order=id", { headers });
      const text = await response.text();
      if ("Prefer" in headers) strictEqual(response.status, 400);
      else {
        strictEqual(response.headers.get("Svc-Truncated"), "1500");
        strictEqual(response.headers.get("Content-Range"), "0-1499/*");
        match(text, /\b1500\b[^0-9]*$/);
      }
    }
    const whole = await api("GET /many?id=gt.2&order=id", { headers });
    strictEqual(whole.headers.get("Svc-Truncated"), null);
    strictEqual(whole.status, 200);
  }
});

tagged.rows("@maxRows lowers db-max-rows", [
  ["GET /parts?select=id&order=id", {}, 200, ids(1), { "Svc-Truncated": "1" }],
  ["GET /parts?select=id&limit=3", fails, 400, tooMany(1)],
  ["GET /parts?select=id&order=id", prefer("count=exact"), 206, ids(1), {
    "Content-Range": "0-0/5",
  }],
  ["GET /items?select=id,parts(id)&id=eq.1&parts.order=id", {}, 200, [{ id: 1, parts: ids(1) }], {
    ...whole,
  }],
  ["GET /named?select=id&order=id", {}, 200, ids(1, 2, 3), { "Svc-Truncated": "3" }],
  ["GET /generous?order=id", {}, 200, ids(1, 2, 3, 4), { "Svc-Truncated": "4" }],
  ["GET /rpc/numbers?n=3", {}, 200, [1], { "Svc-Truncated": "1" }],
  ["GET /rpc/numbers?n=3&step=1", {}, 200, [1, 2, 3], whole],
  [
    "PATCH /parts?select=id",
    { headers: { Prefer: "return=representation" }, body: { item_id: 2 } },
    200,
    ids(1, 2, 3, 4, 5),
    whole,
  ],
]);
onlyTagged.rows("@maxRows counts without db-max-rows", [
  ["GET /parts?select=id&order=id", {}, 200, ids(1), { "Svc-Truncated": "1" }],
  ["GET /items?select=id&order=id", {}, 200, ids(1, 2, 3, 4, 5), whole],
  ["GET /parts?select=id&order=id", prefer("count=estimated"), 206, ids(1), {
    "Svc-Truncated": "1",
  }],
]);
suite.rows("@maxRows does not count without db-comment-tags", [
  ["GET /parts?select=id&order=id", {}, 200, ids(1, 2), cut],
]);

versioned.test("an answer that is cut has its entity tag", async (api) => {
  const first = await api("GET /items?select=id&order=id");
  const ETag = first.headers.get("ETag")!;
  deepStrictEqual([await first.json(), first.headers.get("Svc-Truncated")], [ids(1, 2), "2"]);
  const second = await api("GET /items?select=id&order=id", { headers: { "If-None-Match": ETag } });
  strictEqual(second.status, 304);
});

batches.test("entries of a batch tell that they were cut", async (api) => {
  const requests = [get("/items?select=id&order=id"), get("/items?select=id&id=lt.2")];
  const response = await api("POST /", batchOf(requests));
  const { responses } = await response.json();
  deepStrictEqual(responses.map((entry: { body: unknown }) => entry.body), [ids(1, 2), ids(1)]);
  deepStrictEqual(
    responses.map(({ headers }: { headers: Record<string, string> }) =>
      headers["svc-truncated"] ?? headers["Svc-Truncated"]
    ),
    ["2", undefined],
  );
});

const counted = serviceSuite("max_rows", base, { title: "max_rows, bounded counts" });
counted.rows("count=exact-N counts up to N rows", [
  ["GET /items?limit=1&select=id&order=id", prefer("count=exact-4"), 200, ids(1), {
    "Content-Range": "0-0/*",
    "Svc-Count": ">4",
    "Preference-Applied": "count=exact-4",
  }],
  ["GET /items?limit=1&select=id&order=id", prefer("count=exact-5"), 206, ids(1), {
    "Content-Range": "0-0/5",
    "Svc-Count": null,
  }],
  ["GET /items?select=id&order=id", prefer("count=exact-4"), 200, ids(1, 2, 3, 4, 5), {
    "Content-Range": "0-4/*",
    "Svc-Count": ">4",
  }],
  ["GET /items?id=gt.9", prefer("count=exact-0"), 200, [], {
    "Content-Range": "*/0",
    "Svc-Count": null,
  }],
  ["HEAD /items?limit=0", prefer("count=exact-0"), 200, undefined, {
    "Content-Range": "*/*",
    "Svc-Count": ">0",
  }],
  ...answers({ headers: { Prefer: "count=exact-4" } })`
    GET /items?offset=9
      200 []
      Content-Range: */*
      Svc-Count: >4
    GET /items?offset=9 {Prefer: count=exact-6}
      416 SVC103 | Requested range not satisfiable | An offset of 9 was requested, but there are only 5 rows.
      Content-Range: */5
    GET /items?select=id&order=id&limit=1&after=
      200 [{"id":1}]
      Content-Range: */*
      Svc-Count: >4
  `,
  ...answers({ headers: { Prefer: "count=exact-2", Origin: "https://a" } })`
    GET /items?limit=1&select=id
      200 [{"id":1}]
      Svc-Count: >2
      Access-Control-Expose-Headers: Content-Encoding, Content-Location, Content-Range,
        + Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit, Svc-Count
  `,
  ["GET /rpc/numbers?n=5&limit=2", prefer("count=exact-3"), 200, [1, 2], {
    "Content-Range": "0-1/*",
    "Svc-Count": ">3",
  }],
  ["GET /rpc/numbers?n=3&limit=2", prefer("count=exact-3"), 206, [1, 2], {
    "Content-Range": "0-1/3",
  }],
  ["GET /rpc/one", prefer("count=exact-3"), 200, 1, { "Content-Range": "0-0/1" }],
  ["PATCH /items", { ...prefer("count=exact-3"), body: { name: "x" } }, 204, undefined, {
    "Content-Range": "0-4/*",
    "Svc-Count": ">3",
  }],
  ["DELETE /items?id=gt.3", prefer("count=exact-3"), 204, undefined, { "Content-Range": "*/2" }],
  ...answers()`
    GET /items?select=id&limit=1 {Prefer: handling=strict, count=exact-x}
      400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences: count=exact-x
  `,
  ["GET /items?limit=1&select=id", prefer("count=exact, count=exact-2"), 206, ids(1), {
    "Content-Range": "0-0/5",
  }],
]);
