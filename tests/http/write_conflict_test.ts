/** Upserts by partial indexes, indexes on expressions, and with the columns to update. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody } from "../support/handler/rows.ts";

const suite = serviceSuite(
  "conflicts",
  { dbSchemas: ["api"], dbAnonRole: "anon", dbAggregatesEnabled: true },
  { title: "upserts by any unique index" },
);
const merge = { Prefer: "resolution=merge-duplicates, return=representation" };

const refused = (details: string, hint: string | null = null) =>
  errorBody(`SVC157 | Invalid conflict handling | ${details ?? ""} | ${hint ?? ""}`);

suite.answers("on_conflict finds partial indexes")`
  POST /slots?on_conflict=room,day&select=id,who,n
    Prefer: resolution=merge-duplicates, return=representation
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    200 [{"id":100,"who":"bob","n":5}]
    Preference-Applied: resolution=merge-duplicates, return=representation
  POST /slots?on_conflict=day,room&select=id,who
    Prefer: resolution=merge-duplicates, return=representation
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    200 [{"id":100,"who":"bob"}]
  POST /slots?on_conflict=room,day {Prefer: resolution=ignore-duplicates, return=representation}
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    201 []
  // A row outside of the index is no duplicate.
  POST /slots?on_conflict=room,day&select=id,state
    Prefer: resolution=merge-duplicates, return=representation
    with {"room":"a","day":"2024-01-01","who":"bob","n":5,"id":7,"state":"done"}
    201 [{"id":7,"state":"done"}]
  // An index without condition comes first.
  POST /both?on_conflict=k&select=id,v {Prefer: resolution=merge-duplicates, return=representation}
    with {"k":1,"v":"new"}
    200 [{"id":100,"v":"new"}]
  POST /shared?on_conflict=k {Prefer: resolution=merge-duplicates, return=representation}
    with {"k":1,"flag":true,"v":"new"}
    400 SVC157 | Invalid conflict handling | Several unique indexes have these columns: 'shared_false', 'shared_true' | Name one of them by on_conflict.index
  POST /slots?on_conflict=who {Prefer: resolution=merge-duplicates, return=representation}
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    400 42P10 | there is no unique or exclusion constraint matching the ON CONFLICT specification
`;

suite.rows("on_conflict.index names an index", [
  ...answers()`
    POST /shared?on_conflict.index=shared_true&select=id,v with {"k":1,"flag":true,"v":"new"}
      Prefer: resolution=merge-duplicates, return=representation
      200 [{"id":100,"v":"new"}]
    POST /shared?on_conflict.index=shared_false&select=id,v with [{"k":1,"flag":false,"v":"new"}]
      Prefer: resolution=merge-duplicates, return=representation
      200 [{"id":101,"v":"new"}]
    POST /users?on_conflict.index=users_email&select=id,email,name
      with {"email":"ADA@X.ORG","name":"A."}
      Prefer: resolution=merge-duplicates, return=representation
      200 [{"id":100,"email":"ADA@X.ORG","name":"A."}]
    POST /users?on_conflict.index=users_email with {"email":"ADA@X.ORG","name":"A."}
      Prefer: resolution=ignore-duplicates, return=representation
      201 []
    POST /slots?on_conflict.index=slots_pkey&select=id,who with {"id":100,"who":"eve"}
      Prefer: resolution=merge-duplicates, return=representation
      200 [{"id":100,"who":"eve"}]
    POST /slots?on_conflict.index=nope with {"room":"a","day":"2024-01-01","who":"bob","n":5}
      Prefer: resolution=merge-duplicates, return=representation
      400 SVC157 | Invalid conflict handling | 'slots' has no unique index 'nope'
    POST /deferred?on_conflict.index=deferred_k with {"id":1,"k":1}
      Prefer: resolution=merge-duplicates, return=representation
      400 SVC157 | Invalid conflict handling | 'deferred' has no unique index 'deferred_k'
    POST /shown?on_conflict.index=slots_active
      with {"room":"a","day":"2024-01-01","who":"bob","n":5}
      Prefer: resolution=merge-duplicates, return=representation
      400 SVC157 | Invalid conflict handling | 'shown' has no unique index 'slots_active'
  `,
  ...answers({ body: { room: "a", day: "2024-01-01", who: "bob", n: 5 } })`
    POST /slots?on_conflict.index=slots_active
      400 SVC157 | Invalid conflict handling | 'on_conflict.index' needs a resolution
    POST /slots?on_conflict.index=slots_active&on_conflict=room
      Prefer: resolution=merge-duplicates, return=representation
      400 SVC157 | Invalid conflict handling | 'on_conflict.index' cannot be combined with 'on_conflict'
  `,
]);

suite.answers("on_conflict.columns names the columns to update")`
  POST /slots?on_conflict=room,day&on_conflict.columns=who&select=id,who,n
    Prefer: resolution=merge-duplicates, return=representation
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    200 [{"id":100,"who":"bob","n":1}]
  POST /slots?on_conflict=room,day&on_conflict.columns=who,n&select=room,who,n
    Prefer: resolution=merge-duplicates, return=representation
    with [{"room":"a","day":"2024-01-01","who":"bob","n":5},
      +{"room":"b","day":"2024-01-01","who":"bob","n":5}]
    201 [{"room":"a","who":"bob","n":5},{"room":"b","who":"bob","n":5}]
  POST /slots?on_conflict=room,day&on_conflict.columns=state
    Prefer: resolution=merge-duplicates, return=representation
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    400 SVC157 | Invalid conflict handling | The body does not write 'state'
  POST /slots?on_conflict=room,day&on_conflict.columns=nope
    Prefer: resolution=merge-duplicates, return=representation
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    400 SVC204 | Could not find the 'nope' column of 'slots' in the schema cache
  POST /slots?on_conflict=room,day&on_conflict.columns=who
    Prefer: resolution=ignore-duplicates, return=representation
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    400 SVC157 | Invalid conflict handling | 'on_conflict.columns' needs resolution=merge-duplicates
  // A value that is a filter stays one, here on an embed that does not exist.
  POST /slots?on_conflict.index=eq.1 {Prefer: resolution=merge-duplicates, return=representation}
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    400 SVC108 | 'on_conflict' is not an embedded resource in this request |  | Verify that 'on_conflict' is included in the 'select' query parameter.
`;

suite.rows("on_conflict.where is a condition of the update", [
  ...answers({ headers: merge })`
    POST /slots?on_conflict=room,day&on_conflict.where=(n.lt(excluded).n)&select=id,n
      with {"room":"a","day":"2024-01-01","who":"bob","n":5}
      200 [{"id":100,"n":5}]
    // A row that stays as it is is not returned, and counts neither as inserted nor as updated.
    POST /slots?on_conflict=room,day&on_conflict.where=(n.gt(excluded).n)&select=id,n
      with {"room":"a","day":"2024-01-01","who":"bob","n":5}
      200 []
      Content-Range: */*
    POST /slots?on_conflict=room,day&on_conflict.where=(who.eq.ada,or(n.eq.7,n.lt(excluded).n))
      +&on_conflict.columns=who&select=who,n
      with {"room":"a","day":"2024-01-01","who":"bob","n":5}
      200 [{"who":"bob","n":1}]
    // A text is a text.
    POST /slots?on_conflict=room,day&on_conflict.where=(who.neq."excluded(who)")&select=id
      with {"room":"a","day":"2024-01-01","who":"bob","n":5}
      200 [{"id":100}]
  `,
  ...answers()`
    POST /slots?on_conflict=room,day&on_conflict.where=(n.lt(excluded).n)
      Prefer: resolution=ignore-duplicates, return=representation
      with {"room":"a","day":"2024-01-01","who":"bob","n":5}
      400 SVC157 | Invalid conflict handling | 'on_conflict.where' needs resolution=merge-duplicates
    GET /slots?n=lt(excluded).n | 400 SVC157 | Invalid conflict handling | 'excluded' has a meaning in on_conflict.where only
  `,
]);

suite.answers("merge_action() tells inserted from updated rows")`
  POST /slots?on_conflict=room,day&select=who,merge_action(),n
    with [{"room":"a","day":"2024-01-01","who":"bob","n":5},{"room":"b","day":"2024-01-01",
      +"who":"bob","n":5}]
    Prefer: resolution=merge-duplicates, return=representation
    201 [{"who":"bob","merge_action":"UPDATE","n":5},{"who":"bob","merge_action":"INSERT","n":5}]
  POST /slots?on_conflict=room,day&select=done:merge_action()::name,*
    with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    Prefer: resolution=merge-duplicates, return=representation
    200 [{"done":"UPDATE","id":100,"room":"a","day":"2024-01-01","state":"active","who":"bob",
      +"n":5}]
  POST /slots?select=merge_action() {Prefer: return=representation} with {"id":7}
    201 [{"merge_action":"INSERT"}]
  POST /slots?on_conflict=room,day&select=merge_action(),count()
    with [{"room":"b","day":"2024-01-01","who":"bob","n":5},{"room":"c","day":"2024-01-01",
      +"who":"bob","n":5}]
    Prefer: resolution=merge-duplicates, return=representation
    201 [{"merge_action":"INSERT","count":2}]
  POST /keyless?on_conflict=k&select=k,merge_action() with [{"k":1,"v":null},{"k":2,"v":"b"}]
    Prefer: resolution=merge-duplicates, return=representation
    201 [{"k":1,"merge_action":"UPDATE"},{"k":2,"merge_action":"INSERT"}]
  PUT /users?id=eq.100&select=name,merge_action() with {"id":100,"name":"A."}
    Prefer: return=representation
    200 [{"name":"A.","merge_action":"UPDATE"}]
  PUT /users?id=eq.7&select=name,merge_action() with {"id":7,"name":"B."}
    Prefer: return=representation
    201 [{"name":"B.","merge_action":"INSERT"}]
  // A relationship of that name is an embed, as ever.
  POST /notes?select=id,merge_action() {Prefer: return=representation} with {"id":1}
    201 [{"id":1}]
  POST /slots?select=merge_action() with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    400 SVC157 | Invalid conflict handling | 'merge_action()' needs return=representation
  PATCH /slots?select=merge_action() {Prefer: return=representation} with {"n":1}
    400 SVC157 | Invalid conflict handling | 'merge_action()' has a meaning in POST and PUT only
  POST /slots?select=merge_action()::int {Prefer: return=representation} with {"id":7}
    400 22P02 | invalid input syntax for type integer: "INSERT"
  // The column that carries it has no meaning of its own.
  POST /slots?select=svc_merge_action with {"room":"a","day":"2024-01-01","who":"bob","n":5}
    Prefer: return=representation
    400 42703 | column slots.svc_merge_action does not exist
`;

suite.test("merge_action() is no embed of other requests", async (api) => {
  const select = ["merge_action()", "a:merge_action()::text", "id,merge_action()"];
  for (const line of select.map((list) => `GET /slots?select=${list}`)) {
    const response = await api(line);
    deepStrictEqual([response.status, (await response.json()).code], [400, "SVC200"], line);
  }
});

suite.test("merge_action() needs the old row where there is no xmax", async (api) => {
  const version = await (await api("GET /rpc/server_version")).json();
  const rows: readonly (readonly [line: string, body: unknown])[] = [
    ["POST /parted?select=id,merge_action()", [{ id: 1, v: "new" }, { id: 2, v: "b" }]],
    ["PUT /shown?id=eq.1&select=id,merge_action()", { id: 1, who: "eve" }],
  ];
  for (const [line, body] of rows) {
    const response = await api(line, { body, headers: merge });
    const answer = await response.json();
    if (version >= 180000) {
      strictEqual(response.status, 201, line);
      strictEqual(answer.at(-1).merge_action, "INSERT");
    } else {
      const [name] = line.slice(line.indexOf("/") + 1).split("?");
      deepStrictEqual(
        answer,
        refused(`PostgreSQL before version 18 cannot tell inserted from updated rows of '${name}'`),
      );
    }
  }
});
