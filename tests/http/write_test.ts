import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, apiSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const suite = apiSuite("writes", { dbSchemas: ["api"], dbAnonRole: "anon" });
const representation = { Prefer: "return=representation" };

suite.rows("POST", [
  ...answers()`
    POST /makers
      with {"id":7,"name":"Kolb"}
      201
      Content-Length: 0
      Content-Range: */*
      Range-Unit: items
      no Content-Type
    POST /makers
      Prefer: return=headers-only
      with {"id":8,"name":"Lux"}
      201
      Location: /makers?id=eq.8
      Content-Range: */*
      Preference-Applied: return=headers-only
    POST /tool_sheds?select=qty
      Prefer: return=headers-only
      with {"tool_id":3,"shed_id":2,"qty":1}
      201
      Location: /tool_sheds?shed_id=eq.2&tool_id=eq.3
    POST /makers?select=name
      Prefer: return=representation, count=exact
      with [{"id":9,"name":"A"},{"id":10,"name":"B"}]
      201 [{"name":"A"},{"name":"B"}]
      Content-Range: */2
      Preference-Applied: return=representation, count=exact
      no Location
      Content-Type: application/json; charset=utf-8
    POST /makers
      with [{"id":12,"name":"D"},{"id":13}]
      400 SVC102 | All object keys must match
    POST /makers
      with {"id":1,"name":"dup"}
      409 23505 | duplicate key value violates unique constraint "makers_pkey" | Key (id)=(1) already exists.
    POST /tools
      with {"id":9,"name":"x","maker_id":77}
      409 23503 | insert or update on table "tools" violates foreign key constraint "tools_maker_id_fkey" | Key (maker_id)=(77) is not present in table "makers".
    POST /makers
      with {"id":20}
      400 23502 | null value in column "name" of relation "makers" violates not-null constraint | Failing row contains (20, null, null).
    POST /tools
      with {"id":9,"colour":"red"}
      400 SVC204 | Could not find the 'colour' column of 'tools' in the schema cache
  `,
  ...answers({ headers: representation })`
    POST /tools?select=name,makers(name)
      with {"id":9,"name":"file","maker_id":2}
      201 [{"name":"file","makers":{"name":"Ryo"}}]
    POST /jobs?select=kind,prio,twice
      with {}
      201 [{"kind":null,"prio":5,"twice":10}]
    POST /jobs?select=prio
      with [{},{}]
      201 [{"prio":5},{"prio":5}]
    POST /jobs
      with []
      201 []
      Content-Range: */*
  `,
  ...answers()`
    POST /jobs?columns=kind,prio&select=kind,prio
      Prefer: missing=default, return=representation
      with [{"kind":"a","ignored":1},{"kind":"b","prio":1},{"kind":"c","prio":null}]
      201 [{"kind":"a","prio":5},{"kind":"b","prio":1},{"kind":"c","prio":null}]
      Preference-Applied: missing=default, return=representation
    POST /tools?columns=id,name&select=id,name,price
      Prefer: return=representation
      with [{"id":20,"name":"x","price":1}]
      201 [{"id":20,"name":"x","price":null}]
    POST /tools?select=spec,tags,bought
      Prefer: return=representation
      with {"id":9,"name":"x","spec":{"a":[1]},"tags":["p","q,r"],"bought":"2024-02-24"}
      201 [{"spec":{"a":[1]},"tags":["p","q,r"],"bought":"2024-02-24"}]
    POST /makers
      Prefer: return=representation
      Content-Type: text/csv
      with "id,name,city\n11,C,NULL\n12,\"D, E\",Bern"
      201 [{"id":11,"name":"C","city":null},{"id":12,"name":"D, E","city":"Bern"}]
    POST /makers
      Prefer: return=representation
      Content-Type: application/x-www-form-urlencoded
      with "id=11&name=C+D"
      201 [{"id":11,"name":"C D","city":null}]
    POST /notes
      Prefer: return=representation
      Accept: text/csv
      with [{"a":"x","b":null}]
      201 "a,b\nx,"
  `,
]);

suite.answers("upsert")`
  POST /makers
    Prefer: resolution=merge-duplicates, return=representation
    with [{"id":1,"name":"Bosk GmbH"}]
    200 [{"id":1,"name":"Bosk GmbH","city":"Ulm"}]
    Preference-Applied: resolution=merge-duplicates, return=representation
  POST /makers
    Prefer: resolution=merge-duplicates, return=representation
    with [{"id":1,"name":"x"},{"id":14,"name":"E"}]
    201 [{"id":1,"name":"x","city":"Ulm"},{"id":14,"name":"E","city":null}]
  POST /makers
    Prefer: resolution=ignore-duplicates, return=representation
    with [{"id":1,"name":"x"},{"id":14,"name":"E"}]
    201 [{"id":14,"name":"E","city":null}]
  POST /notes
    Prefer: resolution=merge-duplicates
    with {"a":"x"}
    201
    no Preference-Applied
  PUT /makers?id=eq.15
    Prefer: return=representation
    with {"id":15,"name":"F"}
    201 [{"id":15,"name":"F","city":null}]
    no Content-Range
  PUT /makers?id=eq.1
    Prefer: return=representation
    with {"id":1,"name":"F"}
    200 [{"id":1,"name":"F","city":"Ulm"}]
  PUT /makers?id=eq.15
    with {"id":15,"name":"F"}
    204
    no Content-Type
  PUT /makers?id=eq.15
    with {"id":16,"name":"F"}
    400 SVC115 | Payload values do not match URL in primary key column(s)
  PUT /makers?name=eq.F
    with {"id":15,"name":"F"}
    405 SVC105 | Filters must include all and only primary key columns with 'eq' operators
  PUT /makers?id=eq.15&limit=1
    with {"id":15,"name":"F"}
    400 SVC114 | limit/offset querystring parameters are not allowed for PUT
`;

suite.rows("PATCH and DELETE", [
  ...answers()`
    PATCH /tools?maker_id=eq.1
      with {"price":10}
      204
      Content-Range: 0-1/*
      no Content-Type
    PATCH /tools?maker_id=eq.77
      Prefer: return=representation, count=exact
      with {"price":10}
      200 []
      Content-Range: */0
    PATCH /tools?or=(id.eq.1,name.eq.drill)&select=id,price&order=id.desc
      Prefer: return=representation
      with {"price":10}
      200 [{"id":2,"price":10},{"id":1,"price":10}]
    PATCH /tools?id=eq.1
      with {}
      204
      Content-Range: */*
    PATCH /tools?id=eq.1
      Prefer: return=representation
      with {}
      200 []
    PATCH /tools
      Accept: application/vnd.svc.object+json
      with {"price":1}
      406 SVC116 | Cannot coerce the result to a single JSON object | The result contains 4 rows
    PATCH /tools?id=eq.1&select=id
      Prefer: return=representation
      Accept: application/vnd.svc.object+json
      with {"price":1}
      200 {"id":1}
      Content-Type: application/vnd.svc.object+json; charset=utf-8
    PATCH /dear_tools?id=eq.2&select=name
      Prefer: return=representation
      with {"name":"borer"}
      200 [{"name":"borer"}]
    DELETE /manuals?pages=lt.20
      Prefer: return=representation
      200 [{"tool_id":1,"pages":12}]
      Content-Range: */*
    DELETE /manuals
      Prefer: count=exact
      204
      Content-Range: */2
    DELETE /makers?id=eq.1 | 409 23503 | update or delete on table "makers" violates foreign key constraint "tools_maker_id_fkey" on table "tools" | Key (id)=(1) is still referenced from table "tools".
    DELETE /makers?id=eq.3&select=name,tools(name)
      Prefer: return=representation
      200 [{"name":"Idle","tools":[]}]
    DELETE /manuals
      Prefer: handling=strict, max-affected=1
      400 SVC124 | Query result exceeds max-affected preference constraint | The query affects 2 rows
    PATCH /tools?price=not.is.null&order=id&limit=1&offset=1&select=id
      Prefer: return=representation
      with {"price":0}
      200 [{"id":2}]
    DELETE /tools?limit=1 | 400 SVC109 | A 'limit' was applied without an explicit 'order' |  | Apply an 'order' using unique column(s)
  `,
  ["PATCH /tools?order=maker_id&limit=1&maker_id=eq.1", { body: { price: 0 } }, 204, undefined, {
    "Content-Range": "0-0/*",
  }],
]);

suite.answers("refusals")`
  POST /letters
    with {"id":1}
    201
  POST /letters
    Prefer: return=representation
    with {"id":1}
    401 42501 | permission denied for table letters
    WWW-Authenticate: Bearer
  POST /nothing
    with {"id":1}
    404 SVC205 | Could not find the table 'api.nothing' in the schema cache
  POST /makers
    Content-Type: application/json
    with ""
    400 SVC102 | Empty or invalid json
  POST /makers
    Content-Type: text/xml
    with "<a/>"
    415 SVC107 | Content-Type not acceptable: text/xml
  POST /makers?columns=id,nope
    with {"id":1}
    400 SVC204 | Could not find the 'nope' column of 'makers' in the schema cache
`;

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
