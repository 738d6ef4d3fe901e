import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("writes_shapes", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "writes_shapes, updates and deletes",
});
const representation = { Prefer: "return=representation" };
const headersOnly = { Prefer: "return=headers-only" };

const refused = (code: string, message: string, details: string | null = null) =>
  errorBody(`${code} | ${message} | ${details ?? ""}`);
const denied = (table: string) => refused("42501", `permission denied for table ${table}`);

suite.rows("PATCH", [
  ...["", "return=minimal", "return=headers-only"].map((Prefer): Row => {
    const headers: Record<string, string> = Prefer === "" ? {} : { Prefer };
    return ["PATCH /single?id=eq.1", { body: { note: "n" }, headers }, 204, undefined, {
      "Content-Type": null,
      "Content-Length": null,
      "Content-Range": "0-0/*",
      "Range-Unit": "items",
      Location: null,
      "Preference-Applied": Prefer || null,
    }];
  }),
  ...answers({ headers: { Prefer: "return=representation" } })`
    // Filters look at the old rows; all that were updated come back.
    PATCH /single?note=eq.one&select=note with {"note":"uno"} | 200 [{"note":"uno"}]
    PATCH /single?not.and=(note.eq.one)&select=id with {"note":"n"} | 200 [{"id":2}]
    PATCH /defaults?doc-%3Ea-%3E%3E0=eq.1&select=id with {"own":1} | 200 []
  `,
  ...answers()`
    PATCH /parted?id=eq.1&select=id,region {Prefer: return=representation} with {"region":"b"}
      200 [{"id":1,"region":"b"}]
    PATCH /singles?id=eq.1 {Prefer: return=representation} with {"note":"v"}
      200 [{"id":1,"note":"v"}]
    PATCH /quiet {Prefer: count=exact} with {"note":"swallow"}
      204
      Content-Range: */0
  `,
]);

suite.answers("PATCH with several objects takes the first")`
  PATCH /single?id=eq.1&select=note {Prefer: return=representation} with [{"note":"a"},{"note":"b"}]
    200 [{"note":"a"}]
  PATCH /single?id=eq.1&select=note {Prefer: return=representation} {Content-Type: text/csv}
    with "note\na\nb\n"
    200 [{"note":"a"}]
  PATCH /single?id=eq.1&select=note {Prefer: return=representation} with "note=a&note=b"
    Content-Type: application/x-www-form-urlencoded
    200 [{"note":"b"}]
`;

const nothing: readonly unknown[] = [{}, [], [{}], [{}, {}], 5, "x", null, true];

suite.rows("PATCH without columns changes nothing", [
  ...nothing.flatMap((value): Row[] => {
    const body = JSON.stringify(value);
    const type = { "Content-Type": "application/json" };
    return [
      ["PATCH /single", { body, headers: type }, 204, undefined, { "Content-Range": "*/*" }],
      ["PATCH /single", { body, headers: { ...type, Prefer: "count=exact" } }, 204, undefined, {
        "Content-Range": "*/0",
      }],
      ["PATCH /single", { body, headers: { ...type, ...headersOnly } }, 204, undefined],
      ["PATCH /single", { body, headers: { ...type, ...representation } }, 200, []],
      [
        "PATCH /single?select=text:id::text",
        { body, headers: { ...type, ...representation } },
        200,
        [],
      ],
    ];
  }),
  ...answers({ headers: { Prefer: "return=representation" } })`
    PATCH /single?columns=note&select=note&order=id with [] | 200 []
  `,
]);

suite.answers("PATCH with missing=default")`
  PATCH /single?id=eq.1&columns=note,other&select=note,other with {"note":"n"}
    Prefer: missing=default, return=representation
    200 [{"note":"n","other":"given"}]
    Preference-Applied: missing=default, return=representation
  PATCH /single?id=eq.1&columns=note,other&select=note,other with {"other":null}
    Prefer: missing=default, return=representation
    200 [{"note":null,"other":null}]
`;

suite.rows("DELETE", [
  ...["", "return=minimal", "return=headers-only"].map((Prefer): Row => {
    const headers: Record<string, string> = Prefer === "" ? {} : { Prefer };
    return ["DELETE /single?id=eq.1", { headers }, 204, undefined, {
      "Content-Type": null,
      "Content-Length": null,
      "Content-Range": "*/*",
      "Range-Unit": "items",
      "Preference-Applied": Prefer || null,
    }];
  }),
  ...answers()`
    // The body is not looked at, whatever it is.
    DELETE /single?id=eq.1 {Content-Type: text/xml} with "<not json" | 204
    DELETE /single?id=eq.1 with {"id":2} | 204
  `,
  ...answers({ headers: representation })`
    DELETE /joined?right_id=eq.1 | 200 []
    DELETE /parted?id=eq.1 | 200 [{"id":1,"region":"a","note":"old"}]
  `,
]);

suite.answers("embeds show what was before")`
  PATCH /self?id=eq.1&select=name,self!parent_id(name) with {"name":"new"}
    Prefer: return=representation
    200 [{"name":"new","self":[{"name":"leaf"}]}]
  PATCH /self?select=id,card!inner(text) with {"name":"new"}
    Prefer: return=representation, count=exact
    400 SVC160 | 'card!inner' can only be used to read
  PATCH /self?select=id&card=is.null {Prefer: return=representation} with {"name":"new"}
    400 42703 | column self.card does not exist
  DELETE /self?id=eq.2&select=name,tags(name),parent:parent_id(name) {Prefer: return=representation}
    200 [{"name":"leaf","tags":[{"name":"z"}],"parent":{"name":"root"}}]
  POST /self?select=name,tags(name),parent:parent_id(name) with {"id":3,"name":"n","parent_id":2}
    Prefer: return=representation
    201 [{"name":"n","tags":[],"parent":{"name":"leaf"}}]
`;

suite.answers("conditions on embeds say nothing about what is changed")`
  PATCH /self?select=id,tags(name)&tags.or=(name.eq.x,name.eq.z)&order=id with {"name":"new"}
    Prefer: return=representation
    200 [{"id":1,"tags":[{"name":"x"}]},{"id":2,"tags":[{"name":"z"}]}]
  DELETE /self_tags?select=self_id,tags(name)&tags.name=eq.x&order=tag_id
    Prefer: return=representation
    200 [{"self_id":1,"tags":{"name":"x"}},{"self_id":1,"tags":null},{"self_id":2,"tags":null}]
`;

suite.rows("rights", [
  ["PATCH /columns?id=eq.1", { body: { open: "n" } }, 204, undefined],
  ["PATCH /columns?id=eq.1", { body: { closed: "n" } }, 401, denied("columns")],
  ["PATCH /columns?closed=eq.c", { body: { open: "n" } }, 401, denied("columns")],
  ...answers({ headers: { Prefer: "return=representation" }, body: { open: "n" } })`
    PATCH /columns?id=eq.1&select=open | 200 [{"open":"n"}]
    PATCH /columns?id=eq.1 | 401 42501 | permission denied for table columns
  `,
  ...answers({ headers: { Prefer: "return=headers-only" }, body: { open: "n" } })`
    PATCH /columns?id=eq.1 | 401 42501 | permission denied for table columns
    PATCH /columns?id=eq.1&select=id | 204
  `,
  ["PATCH /blind?id=eq.1", { body: { note: "n" } }, 401, denied("blind")],
  ["DELETE /blind", { headers: representation }, 401, denied("blind")],
  ["DELETE /columns?id=eq.1&select=id", { headers: representation }, 200, [{ id: 1 }]],
  ["DELETE /columns?id=eq.1", { headers: representation }, 401, denied("columns")],
]);

const noOrder = errorBody(
  "SVC109 | A 'limit' was applied without an explicit 'order' |  | Apply an 'order' using unique column(s)",
);
const tooMany = (changed: number, limit: number) =>
  refused(
    "SVC110",
    "The maximum number of rows allowed to change was surpassed",
    `Results contain ${changed} rows changed but the maximum number allowed is ${limit}`,
  );
const note = { body: { note: "n" }, headers: representation };

suite.rows("limited", [
  ["PATCH /single?order=id&limit=1&select=id", note, 200, [{ id: 1 }]],
  ["PATCH /single?order=id.desc&limit=1&select=id", note, 200, [{ id: 2 }]],
  ["PATCH /single?order=id&limit=1&offset=1&select=id", note, 200, [{ id: 2 }]],
  ["PATCH /single?order=id&offset=1&select=id", note, 200, [{ id: 2 }]],
  ["PATCH /single?order=id&limit=0&select=id", note, 200, []],
  ["PATCH /single?order=id&limit=5&select=id", note, 200, [{ id: 1 }, { id: 2 }]],
  ["PATCH /single?id=gt.1&order=id&limit=1&select=id", note, 200, [{ id: 2 }]],
  ["PATCH /single?order=id&limit=1", { body: { note: "n" } }, 204, undefined, {
    "Content-Range": "0-0/*",
  }],
  ...answers({ headers: representation })`
    PATCH /single?order=id&limit=1&select=note with [{"note":"a"},{"note":"b"}] | 200 [{"note":"a"}]
  `,
  ["PATCH /compound?order=b,a.desc&limit=1&select=a", note, 200, [{ a: 2 }]],
  ["DELETE /keyless?order=ctid&limit=1", {}, 204, undefined],
  ...answers({ headers: representation })`
    DELETE /single?order=ctid&limit=1&select=id | 200 [{"id":1}]
    DELETE /single?order=note.desc.nullslast&limit=1&select=id | 200 [{"id":2}]
    DELETE /singles?order=id&limit=1&select=id | 200 [{"id":1}]
  `,
  ["DELETE /single?order=id&limit=1", { headers: { Range: "1-0" } }, 204, undefined],
  ["DELETE /use_list?order=place&limit=1", {}, 400, tooMany(2, 1)],
  ...answers({ headers: { Prefer: "return=representation" } })`
    DELETE /use_list?order=place&offset=0&select=tag_id
      200 [{"tag_id":1},{"tag_id":2},{"tag_id":3}]
    PATCH /use_list?order=place&limit=1&select=tag_id,tags(name)&tags.name=eq.x
      with {"place":2}
      400 SVC110 | The maximum number of rows allowed to change was surpassed | Results contain 2
        + rows changed but the maximum number allowed is 1
    PATCH /tasks?tenant=eq.3&id=eq.2&order=id&limit=20&select=tenant,id with {"note":"n"}
      200 [{"tenant":3,"id":2}]
    PATCH /tasks?order=id&limit=3&select=id with {"note":"n"} | 200 [{"id":1},{"id":1},{"id":1}]
    PATCH /tasks?id=eq.1&order=id&limit=2&select=id {Content-Type: application/json-patch+json}
      with [{"op":"replace","path":"/note","value":"n"}]
      200 [{"id":1},{"id":1}]
    DELETE /tasks?tenant=eq.2&order=id.desc&limit=1&select=tenant,id | 200 [{"tenant":2,"id":2}]
    DELETE /animals?name=eq.poodle&order=id&limit=1&select=name | 200 [{"name":"poodle"}]
    PATCH /animals?order=id,name&limit=1&select=name with {"name":"n"}
      200 [{"name":"n"}]
      Content-Range: 0-0/*
    DELETE /repeated?order=a,note.desc&limit=2&select=note&note=neq.y
      200 [{"note":"z"},{"note":"x"}]
    PATCH /parted?order=note&limit=1&select=id with {"note":"n"} | 200 [{"id":1}]
  `,
  ["DELETE /single?limit=1", {}, 400, noOrder],
  ["DELETE /single?offset=1", {}, 400, noOrder],
  ["PATCH /single?limit=1", { body: { note: "n" } }, 400, noOrder],
  ["PATCH /single?limit=1", { body: "{", headers: { "Content-Type": "text/xml" } }, 400, noOrder],
  ["PATCH /self?select=id,tags(id)&tags.limit=1", { body: { name: "n" } }, 400, noOrder],
  ["PATCH /self?select=id,tags(id)&tags.order=id&limit=1", { body: { name: "n" } }, 400, noOrder],
  ...answers()`
    PATCH /self?select=id,parent:parent_id(name)&order=parent(name)&limit=1 with {"name":"n"}
      400 SVC109 | A 'limit' was applied without an explicit 'order' |  | Apply an 'order' using unique column(s)
    DELETE /single?order=id&limit=-1 | 416 SVC103 | Requested range not satisfiable | Limit should be greater than or equal to zero.
    DELETE /single?order=zzzzzzzz&limit=1 | 400 42703 | column single.zzzzzzzz does not exist
  `,
]);

const strict = (rest: string) => ({ Prefer: `handling=strict, ${rest}` });
const exceeded = (rows: number) =>
  refused(
    "SVC124",
    "Query result exceeds max-affected preference constraint",
    `The query affects ${rows} rows`,
  );

suite.rows("max-affected", [
  ["DELETE /single", { headers: strict("max-affected=2") }, 204, undefined, {
    "Preference-Applied": "handling=strict, max-affected=2",
  }],
  ["DELETE /single", { headers: strict("max-affected=1") }, 400, exceeded(2), {
    "Preference-Applied": null,
  }],
  ["DELETE /single?id=eq.1", { headers: strict("max-affected=0") }, 400, exceeded(1)],
  ["DELETE /single?id=eq.1", { headers: strict("max-affected=-1") }, 400, exceeded(1)],
  ...["max-affected=x", "max-affected=", "max-affected=1e1"].map((preference): Row => [
    "DELETE /single",
    { headers: strict(preference) },
    400,
    refused(
      "SVC122",
      "Invalid preferences given with handling=strict",
      `Invalid preferences: ${preference}`,
    ),
  ]),
  [
    "DELETE /single",
    { headers: { Prefer: "handling=strict; max-affected=1" } },
    400,
    refused(
      "SVC122",
      "Invalid preferences given with handling=strict",
      "Invalid preferences: handling=strict; max-affected=1",
    ),
  ],
  ["DELETE /single", { headers: { Prefer: "max-affected=1" } }, 204, undefined, {
    "Preference-Applied": null,
  }],
  ["DELETE /single", { headers: { Prefer: "handling=lenient, max-affected=1" } }, 204, undefined, {
    "Preference-Applied": "handling=lenient",
  }],
  ["PATCH /single", { body: { note: "n" }, headers: strict("max-affected=1") }, 400, exceeded(2)],
  ...answers({ body: { note: "n" } })`
    PATCH /single {Prefer: handling=strict, max-affected=1, return=representation}
      400 SVC124 | Query result exceeds max-affected preference constraint | The query affects 2 rows
  `,
  ["PATCH /single", { body: { note: "n" }, headers: strict("max-affected=2") }, 204, undefined],
  ...answers({ headers: { Prefer: "handling=strict, max-affected=1" } })`
    POST /single with [{"id":8},{"id":9}]
      201
      Preference-Applied: handling=strict
    PUT /single?id=eq.1 {Prefer: handling=strict, max-affected=0} with {"id":1}
      204
      Preference-Applied: handling=strict
    // First the singular check, then this one, last the limit.
    PATCH /single {Accept: application/vnd.svc.object+json} with {"note":"n"}
      406 SVC116 | Cannot coerce the result to a single JSON object | The result contains 2 rows
  `,
  ["DELETE /use_list?order=place&limit=1", { headers: strict("max-affected=1") }, 400, exceeded(2)],
]);

suite.rows("strict preferences", [
  ...answers()`
    DELETE /single {Prefer: handling=strict, foo, bar=1}
      400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences: foo, bar=1
  `,
  ["POST /single", { body: { id: 5 }, headers: strict("tx=rollback") }, 201, undefined],
  ...answers()`
    POST /single {Prefer: return=minimal, return=representation, foo} with {"id":5}
      201
      Preference-Applied: return=minimal
    DELETE /single {Prefer: handling=strict, foo} {Accept: image/png}
      400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences: foo
    DELETE /single {Accept: image/png}
      406 SVC107 | None of these media types are available: image/png
    POST /single?on_conflict=id with {"id":1,"note":"x"}
      Prefer: max-affected=5, timezone=UTC, handling=strict, tx=commit, count=exact, return=minimal, missing=default, resolution=merge-duplicates
      200
      Preference-Applied: resolution=merge-duplicates, missing=default, return=minimal, count=exact, handling=strict, timezone=UTC
  `,
]);

const committing = serviceSuite("writes_shapes", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
}, { title: "writes_shapes, changes that stay or do not" });

committing.test("a change that is refused afterwards is undone", async (api) => {
  const rows = async (table: string) => await (await api(`GET /${table}`)).json();
  for (
    const [line, table, headers, status] of [
      ["DELETE /single", "single", strict("max-affected=1"), 400],
      ["DELETE /use_list?order=place&limit=1", "uses", {}, 400],
      ["DELETE /single", "single", { Accept: "application/vnd.svc.object+json" }, 406],
      ["DELETE /single?select=id,nope", "single", representation, 400],
      ["DELETE /single", "single", strict("foo"), 400],
      ["DELETE /single", "single", { Accept: "image/png" }, 406],
    ] as const
  ) {
    const before = await rows(table);
    const response = await api(line, { headers });
    strictEqual(response.status, status, line);
    deepStrictEqual(await rows(table), before);
  }
});

committing.test("a limited change changes what it says and no more", async (api) => {
  const response = await api("PATCH /single?order=id&limit=1", { body: { note: "n" } });
  strictEqual(response.status, 204);
  deepStrictEqual(await (await api("GET /single?order=id&select=note")).json(), [
    { note: "n" },
    { note: "two" },
  ]);
});
