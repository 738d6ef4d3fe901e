import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, apiSuite, refusals } from "../support/handler/api.ts";

const suite = apiSuite("writes", { dbSchemas: ["api"], dbAnonRole: "anon" });
const representation = { Prefer: "return=representation" };
const json = { "Content-Type": "application/json; charset=utf-8" };
const none = { "Content-Type": null };

suite.rows("POST", [
  ["POST /makers", { body: { id: 7, name: "Kolb" } }, 201, undefined, {
    "Content-Length": "0",
    "Content-Range": "*/*",
    "Range-Unit": "items",
    ...none,
  }],
  [
    "POST /makers",
    { body: { id: 8, name: "Lux" }, headers: { Prefer: "return=headers-only" } },
    201,
    undefined,
    {
      Location: "/makers?id=eq.8",
      "Content-Range": "*/*",
      "Preference-Applied": "return=headers-only",
    },
  ],
  [
    "POST /tool_sheds?select=qty",
    { body: { tool_id: 3, shed_id: 2, qty: 1 }, headers: { Prefer: "return=headers-only" } },
    201,
    undefined,
    { Location: "/tool_sheds?shed_id=eq.2&tool_id=eq.3" },
  ],
  [
    "POST /makers?select=name",
    {
      body: [{ id: 9, name: "A" }, { id: 10, name: "B" }],
      headers: { Prefer: "return=representation, count=exact" },
    },
    201,
    [{ name: "A" }, { name: "B" }],
    {
      "Content-Range": "*/2",
      "Preference-Applied": "return=representation, count=exact",
      Location: null,
      ...json,
    },
  ],
  [
    "POST /makers",
    { body: [{ id: 12, name: "D" }, { id: 13 }] },
    400,
    { code: "SVC102", details: null, hint: null, message: "All object keys must match" },
  ],
  ["POST /makers", { body: { id: 1, name: "dup" } }, 409, {
    code: "23505",
    details: "Key (id)=(1) already exists.",
    hint: null,
    message: 'duplicate key value violates unique constraint "makers_pkey"',
  }],
  ["POST /tools", { body: { id: 9, name: "x", maker_id: 77 } }, 409, {
    code: "23503",
    details: 'Key (maker_id)=(77) is not present in table "makers".',
    hint: null,
    message:
      'insert or update on table "tools" violates foreign key constraint "tools_maker_id_fkey"',
  }],
  ["POST /makers", { body: { id: 20 } }, 400, {
    code: "23502",
    details: "Failing row contains (20, null, null).",
    hint: null,
    message: 'null value in column "name" of relation "makers" violates not-null constraint',
  }],
  ["POST /tools", { body: { id: 9, colour: "red" } }, 400, {
    code: "SVC204",
    details: null,
    hint: null,
    message: "Could not find the 'colour' column of 'tools' in the schema cache",
  }],
  [
    "POST /tools?select=name,makers(name)",
    { body: { id: 9, name: "file", maker_id: 2 }, headers: representation },
    201,
    [{ name: "file", makers: { name: "Ryo" } }],
  ],
  ["POST /jobs?select=kind,prio,twice", { body: {}, headers: representation }, 201, [{
    kind: null,
    prio: 5,
    twice: 10,
  }]],
  ["POST /jobs?select=prio", { body: [{}, {}], headers: representation }, 201, [
    { prio: 5 },
    { prio: 5 },
  ]],
  ["POST /jobs", { body: [], headers: representation }, 201, [], { "Content-Range": "*/*" }],
  [
    "POST /jobs?columns=kind,prio&select=kind,prio",
    {
      body: [{ kind: "a", ignored: 1 }, { kind: "b", prio: 1 }, { kind: "c", prio: null }],
      headers: { Prefer: "missing=default, return=representation" },
    },
    201,
    [{ kind: "a", prio: 5 }, { kind: "b", prio: 1 }, { kind: "c", prio: null }],
    { "Preference-Applied": "missing=default, return=representation" },
  ],
  [
    "POST /tools?columns=id,name&select=id,name,price",
    { body: [{ id: 20, name: "x", price: 1 }], headers: representation },
    201,
    [{ id: 20, name: "x", price: null }],
  ],
  [
    "POST /tools?select=spec,tags,bought",
    {
      body: { id: 9, name: "x", spec: { a: [1] }, tags: ["p", "q,r"], bought: "2024-02-24" },
      headers: representation,
    },
    201,
    [{ spec: { a: [1] }, tags: ["p", "q,r"], bought: "2024-02-24" }],
  ],
  [
    "POST /makers",
    {
      body: 'id,name,city\n11,C,NULL\n12,"D, E",Bern',
      headers: { ...representation, "Content-Type": "text/csv" },
    },
    201,
    [{ id: 11, name: "C", city: null }, { id: 12, name: "D, E", city: "Bern" }],
  ],
  [
    "POST /makers",
    {
      body: "id=11&name=C+D",
      headers: { ...representation, "Content-Type": "application/x-www-form-urlencoded" },
    },
    201,
    [{ id: 11, name: "C D", city: null }],
  ],
  [
    "POST /notes",
    { body: [{ a: "x", b: null }], headers: { ...representation, Accept: "text/csv" } },
    201,
    "a,b\nx,",
  ],
]);

suite.rows("upsert", [
  [
    "POST /makers",
    {
      body: [{ id: 1, name: "Bosk GmbH" }],
      headers: { Prefer: "resolution=merge-duplicates, return=representation" },
    },
    200,
    [{ id: 1, name: "Bosk GmbH", city: "Ulm" }],
    { "Preference-Applied": "resolution=merge-duplicates, return=representation" },
  ],
  [
    "POST /makers",
    {
      body: [{ id: 1, name: "x" }, { id: 14, name: "E" }],
      headers: { Prefer: "resolution=merge-duplicates, return=representation" },
    },
    201,
    [{ id: 1, name: "x", city: "Ulm" }, { id: 14, name: "E", city: null }],
  ],
  [
    "POST /makers",
    {
      body: [{ id: 1, name: "x" }, { id: 14, name: "E" }],
      headers: { Prefer: "resolution=ignore-duplicates, return=representation" },
    },
    201,
    [{ id: 14, name: "E", city: null }],
  ],
  [
    "POST /notes",
    { body: { a: "x" }, headers: { Prefer: "resolution=merge-duplicates" } },
    201,
    undefined,
    { "Preference-Applied": null },
  ],
  ["PUT /makers?id=eq.15", { body: { id: 15, name: "F" }, headers: representation }, 201, [
    { id: 15, name: "F", city: null },
  ], { "Content-Range": null }],
  ["PUT /makers?id=eq.1", { body: { id: 1, name: "F" }, headers: representation }, 200, [
    { id: 1, name: "F", city: "Ulm" },
  ]],
  ["PUT /makers?id=eq.15", { body: { id: 15, name: "F" } }, 204, undefined, none],
  ["PUT /makers?id=eq.15", { body: { id: 16, name: "F" } }, 400, {
    code: "SVC115",
    details: null,
    hint: null,
    message: "Payload values do not match URL in primary key column(s)",
  }],
  ["PUT /makers?name=eq.F", { body: { id: 15, name: "F" } }, 405, {
    code: "SVC105",
    details: null,
    hint: null,
    message: "Filters must include all and only primary key columns with 'eq' operators",
  }],
  ["PUT /makers?id=eq.15&limit=1", { body: { id: 15, name: "F" } }, 400, {
    code: "SVC114",
    details: null,
    hint: null,
    message: "limit/offset querystring parameters are not allowed for PUT",
  }],
]);

suite.rows("PATCH and DELETE", [
  ["PATCH /tools?maker_id=eq.1", { body: { price: 10 } }, 204, undefined, {
    "Content-Range": "0-1/*",
    ...none,
  }],
  [
    "PATCH /tools?maker_id=eq.77",
    { body: { price: 10 }, headers: { Prefer: "return=representation, count=exact" } },
    200,
    [],
    { "Content-Range": "*/0" },
  ],
  [
    "PATCH /tools?or=(id.eq.1,name.eq.drill)&select=id,price&order=id.desc",
    { body: { price: 10 }, headers: representation },
    200,
    [{ id: 2, price: 10 }, { id: 1, price: 10 }],
  ],
  ["PATCH /tools?id=eq.1", { body: {} }, 204, undefined, { "Content-Range": "*/*" }],
  ["PATCH /tools?id=eq.1", { body: {}, headers: representation }, 200, []],
  [
    "PATCH /tools",
    { body: { price: 1 }, headers: { Accept: "application/vnd.svc.object+json" } },
    406,
    {
      code: "SVC116",
      details: "The result contains 4 rows",
      hint: null,
      message: "Cannot coerce the result to a single JSON object",
    },
  ],
  [
    "PATCH /tools?id=eq.1&select=id",
    {
      body: { price: 1 },
      headers: { ...representation, Accept: "application/vnd.svc.object+json" },
    },
    200,
    { id: 1 },
    { "Content-Type": "application/vnd.svc.object+json; charset=utf-8" },
  ],
  [
    "PATCH /dear_tools?id=eq.2&select=name",
    { body: { name: "borer" }, headers: representation },
    200,
    [{ name: "borer" }],
  ],
  ["DELETE /manuals?pages=lt.20", { headers: representation }, 200, [{ tool_id: 1, pages: 12 }], {
    "Content-Range": "*/*",
  }],
  ["DELETE /manuals", { headers: { Prefer: "count=exact" } }, 204, undefined, {
    "Content-Range": "*/2",
  }],
  ...refusals(`
DELETE /makers?id=eq.1 | 409 23503 | update or delete on table "makers" violates foreign key constraint "tools_maker_id_fkey" on table "tools" | Key (id)=(1) is still referenced from table "tools".
`),
  ["DELETE /makers?id=eq.3&select=name,tools(name)", { headers: representation }, 200, [
    { name: "Idle", tools: [] },
  ]],
  ["DELETE /manuals", { headers: { Prefer: "handling=strict, max-affected=1" } }, 400, {
    code: "SVC124",
    details: "The query affects 2 rows",
    hint: null,
    message: "Query result exceeds max-affected preference constraint",
  }],
  [
    "PATCH /tools?price=not.is.null&order=id&limit=1&offset=1&select=id",
    { body: { price: 0 }, headers: representation },
    200,
    [{ id: 2 }],
  ],
  ...refusals(`
DELETE /tools?limit=1 | 400 SVC109 | A 'limit' was applied without an explicit 'order' |  | Apply an 'order' using unique column(s)
`),
  ["PATCH /tools?order=maker_id&limit=1&maker_id=eq.1", { body: { price: 0 } }, 204, undefined, {
    "Content-Range": "0-0/*",
  }],
]);

suite.rows("refusals", [
  ["POST /letters", { body: { id: 1 } }, 201, undefined],
  ["POST /letters", { body: { id: 1 }, headers: representation }, 401, {
    code: "42501",
    details: null,
    hint: null,
    message: "permission denied for table letters",
  }, { "WWW-Authenticate": "Bearer" }],
  ["POST /nothing", { body: { id: 1 } }, 404, {
    code: "SVC205",
    details: null,
    hint: null,
    message: "Could not find the table 'api.nothing' in the schema cache",
  }],
  ["POST /makers", { body: "", headers: { "Content-Type": "application/json" } }, 400, {
    code: "SVC102",
    details: null,
    hint: null,
    message: "Empty or invalid json",
  }],
  ["POST /makers", { body: "<a/>", headers: { "Content-Type": "text/xml" } }, 415, {
    code: "SVC107",
    details: null,
    hint: null,
    message: "Content-Type not acceptable: text/xml",
  }],
  ["POST /makers?columns=id,nope", { body: { id: 1 } }, 400, {
    code: "SVC204",
    details: null,
    hint: null,
    message: "Could not find the 'nope' column of 'makers' in the schema cache",
  }],
]);

async function count(api: Api, table: string): Promise<string | null> {
  const response = await api(`HEAD /${table}`, { headers: { Prefer: "count=exact" } });
  return response.headers.get("Content-Range");
}

const committing = apiSuite(
  "writes",
  { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" },
  { title: "writes, committed" },
);

committing.test("a write that is answered with an error has changed nothing", async (api) => {
  const before = await count(api, "signals");
  const singular = { Accept: "application/vnd.svc.object+json" };
  const failing = [
    [{ id: 1, status: "nonsense" }, {}, 500, "SVC112"],
    [{ id: 1, headers: "nonsense" }, {}, 500, "SVC111"],
    [{ id: 1, headers: '[{"a":"b\\r\\nc"}]' }, {}, 500, "SVC111"],
    [[{ id: 1 }, { id: 2 }], singular, 406, "SVC116"],
  ] as const;
  for (const [body, headers, status, code] of failing) {
    const response = await api("POST /signals", { body, headers });
    strictEqual((await response.json()).code, code);
    strictEqual(response.status, status);
    strictEqual(await count(api, "signals"), before);
  }
});

committing.test("database code sets status and headers of a write that is kept", async (api) => {
  const response = await api("POST /signals", {
    body: { id: 5, status: "202", headers: '[{"X-A":"1"},{"X-A":"2"},{"Location":"/here"}]' },
  });
  strictEqual(response.status, 202);
  strictEqual(response.headers.get("X-A"), "1, 2");
  strictEqual(response.headers.get("Location"), "/here");
  await response.body?.cancel();
  deepStrictEqual(await (await api("GET /signals?select=id")).json(), [{ id: 5 }]);
});

committing.test("a deferred constraint that fails at COMMIT is the answer", async (api) => {
  const response = await api("POST /pairs", {
    body: { id: 1, other: 99 },
    headers: representation,
  });
  strictEqual(response.status, 409);
  strictEqual((await response.json()).code, "23503");
  strictEqual(await count(api, "pairs"), "*/0");
});

suite.test("a deferred constraint speaks up before a rollback, too", async (api) => {
  const response = await api("POST /pairs", { body: { id: 1, other: 99 } });
  strictEqual(response.status, 409);
  await response.body?.cancel();
});
