import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("writes_shapes", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "writes_shapes, upserts",
});
const representation = { Prefer: "return=representation" };
const merge = { Prefer: "resolution=merge-duplicates, return=representation" };
const ignore = { Prefer: "resolution=ignore-duplicates, return=representation" };

const refused = (code: string, message: string, hint: string | null = null) =>
  errorBody(`${code} | ${message} |  | ${hint ?? ""}`);

suite.rows("merging by primary key", [
  ...answers()`
    POST /single?order=id {Prefer: resolution=merge-duplicates, return=representation, count=exact}
      with [{"id":3,"note":"n"},{"id":1,"note":"m"}]
      201 [{"id":1,"note":"m","other":"first"},{"id":3,"note":"n","other":"given"}]
      Content-Range: */2
  `,
  ["POST /single?columns=id,note", { body: [{ id: 1 }], headers: merge }, 200, [
    { id: 1, note: null, other: "first" },
  ]],
  ["POST /camelCase", { body: { theKey: 1, Value: "v" }, headers: merge }, 200, [
    { theKey: 1, Value: "v" },
  ]],
]);

suite.rows("the status tells whether a row is new, whatever is returned", [
  ...["minimal", "headers-only"].flatMap((wanted): Row[] => {
    const headers = { Prefer: `resolution=merge-duplicates, return=${wanted}` };
    const length = { "Content-Length": "0", "Content-Type": null };
    return [
      ["POST /single", { body: { id: 1, note: "n" }, headers }, 200, undefined, length],
      ["POST /single", { body: { id: 4, note: "n" }, headers }, 201, undefined, length],
      ["POST /single", { body: [{ id: 1 }, { id: 4 }], headers }, 201, undefined, length],
      ["POST /single", { body: [], headers }, 200, undefined, length],
    ];
  }),
  ["POST /defaults?select=own", { body: {}, headers: merge }, 201, [{ own: 5 }]],
  ...answers({ headers: { Prefer: "resolution=merge-duplicates, return=representation" } })`
    // The embed would leave the new row out of the representation, not out of the table.
    POST /self?select=id,card!inner(text) with {"id":9,"name":"new"}
      Prefer: resolution=merge-duplicates, return=representation, count=exact
      400 SVC160 | 'card!inner' can only be used to read
    POST /self?select=id.count() with {"id":1,"name":"n"}
      400 SVC123 | Use of aggregate functions is not allowed
  `,
]);

suite.rows("ignoring", [
  ...answers({ headers: { Prefer: "resolution=ignore-duplicates, return=representation" } })`
    POST /single with [{"id":3,"note":"n"},{"id":3,"note":"m"}]
      201 [{"id":3,"note":"n","other":"given"}]
    POST /single {Prefer: resolution=ignore-duplicates, return=headers-only} with {"id":1}
      201
      no Location
  `,
  ["POST /parted", { body: { id: 1, region: "a", note: "n" }, headers: ignore }, 201, []],
  ["POST /singles", { body: { id: 1, note: "n" }, headers: ignore }, 201, []],
]);

suite.answers("on_conflict", {
  headers: { Prefer: "resolution=merge-duplicates, return=representation" },
})`
  POST /coded?on_conflict=x,y&select=id,note with {"x":1,"y":1,"note":"new"}
    200 [{"id":100,"note":"new"}]
  POST /coded?on_conflict=y,x&select=x,y,note with {"x":1,"y":2,"note":"new"}
    201 [{"x":1,"y":2,"note":"new"}]
  POST /camelCase?on_conflict=theKey&select=Value with {"theKey":1,"Value":"v"}
    200 [{"Value":"v"}]
  POST /keyless?on_conflict=a with {"a":"x"}
    400 42P10 | there is no unique or exclusion constraint matching the ON CONFLICT specification
`;

const mismatch = refused("SVC115", "Payload values do not match URL in primary key column(s)");
const notKey = refused(
  "SVC105",
  "Filters must include all and only primary key columns with 'eq' operators",
);
const limited = refused("SVC114", "limit/offset querystring parameters are not allowed for PUT");
const one = { id: 1, note: "put" };

suite.rows("PUT", [
  ...["", "return=minimal", "return=headers-only"].flatMap((Prefer): Row[] => {
    const headers: Record<string, string> = Prefer === "" ? {} : { Prefer };
    const facts = {
      "Content-Type": null,
      "Content-Length": null,
      "Content-Range": null,
      Location: null,
      "Preference-Applied": Prefer || null,
    };
    return [
      ["PUT /single?id=eq.1", { body: one, headers }, 204, undefined, facts],
      ["PUT /single?id=eq.3", { body: { id: 3 }, headers }, 204, undefined, facts],
    ];
  }),
  ...answers()`
    PUT /single?id=eq.1 {Range: 5-1} with {"id":1,"note":"put"} | 204
    PUT /single?id=eq.1 with [{"id":1,"note":"put"}]
      Prefer: count=exact, max-affected=0, handling=strict, missing=default,
        + resolution=ignore-duplicates, return=representation
      200 [{"id":1,"note":"put","other":"first"}]
      Preference-Applied: return=representation, count=exact, handling=strict
    PUT /single?id=eq.1&columns=id {Prefer: return=representation} with {"id":1,"note":"put"}
      400 SVC196 | Parameter 'columns' cannot be applied | It has no effect
    PUT /single?id=eq.1 {Content-Type: application/x-www-form-urlencoded} with "id=1&note=put"
      Prefer: return=representation
      200 [{"id":1,"note":"put","other":"first"}]
    PUT /camelCase?theKey=eq.1 with {"theKey":1,"Value":"p"} | 204
    PUT /parted?id=eq.1&region=eq.a with {"id":1,"region":"a","note":"p"}
      Prefer: return=representation
      200 [{"id":1,"region":"a","note":"p"}]
    PUT /singles?id=eq.7 {Prefer: return=representation} with {"id":7,"note":"p"}
      201 [{"id":7,"note":"p"}]
    PUT /self?id=eq.1&select=name,card(text) with {"id":1,"name":"p"}
      Prefer: return=representation
      200 [{"name":"p","card":{"text":"card of root"}}]
  `,
]);

suite.rows("PUT is refused", [
  ["PUT /single?id=in.(1)", { body: one }, 405, notKey],
  ["PUT /single?id=is.null", { body: one }, 405, notKey],
  ["PUT /single?id=eq(any).{1}", { body: one }, 405, notKey],
  ["PUT /single?id=eq(all).{1}", { body: one }, 405, notKey],
  ["PUT /single?id-%3Ea=eq.1", { body: one }, 405, notKey],
  ["PUT /single?id=eq.1&and=(id.eq.1)", { body: one }, 405, notKey],
  ["PUT /single?or=(id.eq.1)", { body: one }, 405, notKey],
  ...answers({ body: { id: 1, name: "p" } })`
    PUT /self?id=eq.1&card.self_id=eq.1&select=id,card(text)
      405 SVC105 | Filters must include all and only primary key columns with 'eq' operators
    PUT /self?id=eq.1&card.or=(self_id.eq.1)&select=id,card(text)
      405 SVC105 | Filters must include all and only primary key columns with 'eq' operators
  `,
  ["PUT /single?note=eq.1&limit=1", { body: one }, 400, limited],
  ["PUT /single?id=eq.1", { body: {} }, 400, mismatch],
  ["PUT /single?id=eq.1", { body: [] }, 400, mismatch],
  ["PUT /single?id=eq.1", { body: { note: "x" } }, 400, mismatch],
  ["PUT /compound?a=eq.1&b=eq.a", { body: { a: 1, b: "b" } }, 400, mismatch],
  ["PUT /compound?a=eq.1&b=eq.a", { body: { a: 1 } }, 400, mismatch],
  ["PUT /single?id=eq.1&id=eq.2", { body: one }, 400, mismatch],
  ...answers()`
    PUT /single?id=eq.1 with [{"id":1},{"id":1}]
      400 21000 | ON CONFLICT DO UPDATE command cannot affect row a second time |  | Ensure that no rows proposed for insertion within the same command have duplicate constrained values.
    PUT /single?id=eq.1 with [{"id":1},{"id":2,"note":"x"}]
      400 SVC102 | All object keys must match
    PUT /single?id=eq.x with {"id":1,"note":"put"}
      400 22P02 | invalid input syntax for type integer: "x"
  `,
]);

suite.rows("rights", [
  ["POST /guarded", { body: { id: 1, owner: "anon", note: "n" }, headers: merge }, 200, [
    { id: 1, owner: "anon", note: "n" },
  ]],
  ...answers()`
    POST /guarded {Prefer: resolution=merge-duplicates, return=representation}
      with {"id":2,"owner":"anon","note":"n"}
      401 42501 | new row violates row-level security policy (USING expression) for table "guarded"
    PUT /guarded?id=eq.2 with {"id":2,"owner":"anon"}
      401 42501 | new row violates row-level security policy (USING expression) for table "guarded"
  `,
]);

const committing = serviceSuite("writes_shapes", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
}, { title: "writes_shapes, upserts that stay" });

committing.test("a PUT that is refused changes nothing", async (api) => {
  const rows = async () => await (await api("GET /single?order=id")).json();
  const before = await rows();
  for (
    const [line, body] of [
      ["PUT /single?id=eq.2", { id: 9, note: "x" }],
      ["PUT /single?id=eq.9&select=id,note,nope", { id: 9, note: "x" }],
      ["PUT /single?id=eq.1", [{ id: 1, note: "x" }, { id: 1, note: "y" }]],
    ] as const
  ) {
    const response = await api(line, { body, headers: representation });
    strictEqual(response.status, 400, line);
    deepStrictEqual(await rows(), before);
  }
});

committing.test("a row that a trigger swallows is neither new nor updated", async (api) => {
  const swallow = [{ id: 1, note: "swallow" }];
  const response = await api("POST /quiet", { body: swallow, headers: merge });
  strictEqual(response.status, 200);
  deepStrictEqual(await response.json(), []);
  deepStrictEqual(await (await api("GET /quiet")).json(), [{ id: 1, note: "kept" }]);
});
