/** `Prefer: resolution=return-existing`: rows that exist are returned as they are. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";
import { batchOf, post } from "../support/handler/batch.ts";
import { sessionsAreBlocked } from "../support/database/blocked_sessions.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;
const suite = apiSuite("return_existing", base);
const postgres = { engines: ["pg"] } as const;
const pgrst = apiSuite("return_existing", { ...base, dialect: "pgrst" }, {
  ...postgres,
  title: "return_existing, pgrst",
});

const minimal = { Prefer: "resolution=return-existing" };
const returned = { Prefer: "resolution=return-existing, return=representation" };
const found = (body: unknown, headers: RequestParts["headers"] = returned): RequestParts => ({
  body,
  headers,
});
const hidden = (row: number, path = "secrets") =>
  errorBody(`42501 | row ${row} of "${path}" exists and is hidden by row-level security`);

const tags = "POST /tags?on_conflict=name&select=name,note,merge_action()";
const rows: readonly Row[] = [
  ...answers({ headers: { Prefer: "resolution=return-existing, return=representation" } })`
    POST /tags?on_conflict=name&select=name,note,merge_action()
      with [{"name":"red"},{"name":"blue"},{"name":"red"}]
      201 [{"name":"red","note":null,"merge_action":"INSERT"},{"name":"blue","note":"old",
        +"merge_action":"EXISTING"},{"name":"red","note":null,"merge_action":"INSERT"}]
      Preference-Applied: resolution=return-existing, return=representation
      Content-Range: */*
    POST /tags?on_conflict=name&select=name,note,merge_action()
      with [{"name":"green"},{"name":"blue"}]
      200 [{"name":"green","note":"old","merge_action":"EXISTING"},{"name":"blue","note":"old",
        +"merge_action":"EXISTING"}]
    POST /tags?on_conflict=name&select=name,note,merge_action() with {"name":"blue","note":"new"}
      200 [{"name":"blue","note":"old","merge_action":"EXISTING"}]
    POST /tags?on_conflict=name&select=name,note,merge_action() with [] | 200 []
    POST /tags?on_conflict=name&select=id,a:merge_action()::text with {"name":"blue"}
      200 [{"id":100,"a":"EXISTING"}]
    POST /tags?select=id,name with [{"id":100,"name":"x"},{"id":7,"name":"y"}]
      201 [{"id":100,"name":"blue"},{"id":7,"name":"y"}]
    POST /tags?on_conflict=name&select=name&order=name.desc with [{"name":"blue"},{"name":"z"}]
      201 [{"name":"z"},{"name":"blue"}]
  `,
  ...answers()`
    POST /tags?on_conflict=name with [{"name":"blue"},{"name":"z"}]
      Prefer: resolution=return-existing
      201
      Preference-Applied: resolution=return-existing
    POST /tags?on_conflict=name {Prefer: resolution=return-existing} with [{"name":"blue"}] | 200
    POST /tags?on_conflict=name with {"name":"blue"}
      Prefer: resolution=return-existing, return=headers-only
      200
      Location: /tags?id=eq.100
    POST /tags?on_conflict=name&select=id with {"name":"blue"}
      Prefer: resolution=return-existing, return=representation
      Accept: application/vnd.pgrst.object+json
      200 {"id":100}
    POST /tags?on_conflict=name&select=id,name with "name\nblue\ngreen"
      Prefer: resolution=return-existing, return=representation
      Content-Type: text/csv
      200 [{"id":100,"name":"blue"},{"id":101,"name":"green"}]
    POST /tags?on_conflict=name&select=id with "name=blue"
      Prefer: resolution=return-existing, return=representation
      Content-Type: application/x-www-form-urlencoded
      200 [{"id":100}]
    POST /tags?on_conflict=name&columns=name,note&select=name,note with [{"name":"z","x":1}]
      Prefer: resolution=return-existing, return=representation
      201 [{"name":"z","note":null}]
    POST /tags?on_conflict=name&select=id with {"name":"blue"}
      Prefer: resolution=return-existing, return=representation, count=exact
      200 [{"id":100}]
      Content-Range: */1
  `,
];
suite.rows("return-existing gets rows or makes them", rows);
pgrst.rows("return-existing gets rows or makes them", rows.slice(0, 4));

suite.rows("a row that a policy hides is an error with its place", [
  ["POST /secrets?on_conflict=name", found([{ name: "mine" }, { name: "theirs" }]), 401, hidden(2)],
  ...answers()`
    POST /secrets?on_conflict=name with [{"name":"new"},{"name":"x"},{"name":"theirs"}]
      Prefer: resolution=return-existing
      401 42501 | row 3 of "secrets" exists and is hidden by row-level security
    POST /secrets?on_conflict=name&select=name as writer with [{"name":"written"},{"name":"mine"}]
      Prefer: resolution=return-existing, return=representation
      403 42501 | row 2 of "secrets" exists and is hidden by row-level security
    POST /secrets?on_conflict=name&select=id,merge_action() as writer with {"name":"written"}
      Prefer: resolution=return-existing, return=representation
      200 [{"id":102,"merge_action":"EXISTING"}]
    GET /secrets?select=name&order=name | 200 [{"name":"mine"}]
  `,
]);

suite.answers("return-existing fails where rows cannot be found again", {
  headers: { Prefer: "resolution=return-existing, return=representation" },
})`
  POST /keyless with {"name":"old"}
    400 SVC157 | Invalid conflict handling | 'keyless' has no primary key, so name the columns
  POST /tags with {"name":"x"}
    400 SVC157 | Invalid conflict handling | The body does not write 'id' of 'tags'
  POST /tags?on_conflict=name with {"note":"x"}
    400 SVC157 | Invalid conflict handling | The body does not write 'name' of 'tags'
  POST /tags?on_conflict=name with {}
    400 SVC157 | Invalid conflict handling | Row 1 has NULL where rows are found by their values
  POST /tags?on_conflict=name&columns=name,note with [{"name":"blue"},{"note":"x"}]
    400 SVC157 | Invalid conflict handling | Row 2 has NULL where rows are found by their values
  POST /tags?on_conflict=name with [{"name":null}]
    400 SVC157 | Invalid conflict handling | Row 1 has NULL where rows are found by their values
  POST /tags?on_conflict=nope with {"name":"x"}
    400 SVC157 | Invalid conflict handling | The body does not write 'nope' of 'tags'
  POST /tags?on_conflict=note with {"name":"x","note":"y"}
    400 42P10 | there is no unique or exclusion constraint matching the ON CONFLICT specification
  POST /tags?on_conflict=name&on_conflict.columns=note with {"name":"x","note":"y"}
    400 SVC157 | Invalid conflict handling | 'on_conflict.columns' needs resolution=merge-duplicates
  POST /slots?on_conflict.index=slots_lower with {"room":"x","day":2,"state":"gone"}
    400 SVC157 | Invalid conflict handling | Rows that exist are found by columns only
  POST /made?on_conflict=slug with {"name":"x"}
    400 SVC157 | Invalid conflict handling | The body does not write 'slug' of 'made'
  POST /normal?on_conflict=name with [{"name":"X"}]
    400 SVC157 | Invalid conflict handling | An inserted row is not found by the values of the body
  POST /skipping?on_conflict=name with [{"name":"kept"},{"name":"skip"}]
    400 SVC157 | Invalid conflict handling | Row 2 was neither found nor inserted
  POST /skipping?on_conflict=name&select=name with [{"name":"old"}] | 200 [{"name":"old"}]
  POST /triggered?on_conflict=name with {"name":"x"}
    400 42P10 | there is no unique or exclusion constraint matching the ON CONFLICT specification
`;

suite.answers("return-existing with other tables, views and indexes", {
  headers: { Prefer: "resolution=return-existing, return=representation" },
})`
  POST /keyless?on_conflict=name&select=name,note,merge_action()
    with [{"name":"old"},{"name":"new"}]
    201 [{"name":"old","note":"kept","merge_action":"EXISTING"},{"name":"new","note":null,
      +"merge_action":"INSERT"}]
  POST /shown?on_conflict=name&select=id,name with [{"name":"blue"}]
    200 [{"id":100,"name":"blue"}]
  POST /slots?on_conflict=room,day&select=id,merge_action() with {"room":"a","day":1}
    200 [{"id":100,"merge_action":"EXISTING"}]
  POST /slots?on_conflict.index=slots_active&select=room,day,state,merge_action()
    with [{"room":"a","day":2,"state":"active"},{"room":"a","day":1,"state":"active"}]
    201 [{"room":"a","day":2,"state":"active","merge_action":"INSERT"},{"room":"a","day":1,
      +"state":"active","merge_action":"EXISTING"}]
  POST /slots?on_conflict=room,day with {"room":"a","day":1,"state":"done"}
    400 SVC157 | Invalid conflict handling | An inserted row is not found by the values of the body
  POST /made?on_conflict=code&columns=name,code&select=name,code with [{"name":"a"}]
    Prefer: resolution=return-existing, return=representation, missing=default
    201 [{"name":"a","code":7}]
  POST /typed?on_conflict=at,amount&select=amount
    with [{"at":"2024-01-01T10:00:00.123456+02:00","amount":"1.005"},
      +{"at":"2024-01-01T08:00:00.123456Z","amount":1.01}]
    201 [{"amount":1.01},{"amount":1.01}]
`;

suite.answers("return-existing with nested rows")`
  POST /orders?columns=ref,lines(sku)&on_conflict=ref&lines.resolution=return-existing
    +&lines.on_conflict=order_id,sku&select=id,ref,merge_action(),lines(sku)
    Prefer: resolution=return-existing, return=representation
    with [{"ref":"A","lines":[{"sku":"x"},{"sku":"x"}]},{"ref":"A","lines":[{"sku":"y"}]}]
    200 [{"id":100,"ref":"A","merge_action":"EXISTING","lines":[{"sku":"x"},{"sku":"y"}]},
      +{"id":100,"ref":"A","merge_action":"EXISTING","lines":[{"sku":"x"},{"sku":"y"}]}]
  POST /orders?columns=ref,labels(name)&labels.on_conflict=name
    +&labels.resolution=return-existing&select=ref,labels(name)
    Prefer: return=representation
    with [{"ref":"B","labels":[{"name":"urgent"},{"name":"new"}]}]
    201 [{"ref":"B","labels":[{"name":"urgent"},{"name":"new"}]}]
`;

const committing = apiSuite("return_existing", {
  ...base,
  dbTxEnd: "commit-allow-override",
  batchMaxOperations: 9,
}, { title: "return_existing, committing", ...postgres });

committing.test("rows that exist fire no trigger, and use no number of a sequence", async (api) => {
  const line = "POST /watched?on_conflict=name&select=name,merge_action()";
  const send = async (names: readonly string[]) =>
    await (await api(line, found(names.map((name) => ({ name }))))).json();
  await send(["old", "old"]);
  strictEqual(await (await api("POST /rpc/sequence_value")).json(), 0);
  deepStrictEqual(await send(["old", "first"]), [
    { name: "old", merge_action: "EXISTING" },
    { name: "first", merge_action: "INSERT" },
  ]);
  deepStrictEqual(await (await api("GET /fired?name=like.*first")).json(), [{
    name: "INSERT first",
  }]);
  deepStrictEqual(await (await api("GET /fired?name=like.*old")).json(), []);
});

committing.test("tx=rollback shows the result and keeps nothing", async (api) => {
  const headers = { Prefer: `${returned.Prefer}, tx=rollback` };
  const response = await api(tags, found([{ name: "gone" }], headers));
  deepStrictEqual([response.status, await response.json()], [201, [
    { name: "gone", note: null, merge_action: "INSERT" },
  ]]);
  deepStrictEqual(await (await api("GET /tags?name=eq.gone")).json(), []);
});

committing.test("a batch takes values of found rows, and gives values to bodies", async (api) => {
  const headers = { Prefer: returned.Prefer };
  const lines = "/lines?on_conflict=order_id,sku&select=order_id,sku,merge_action()";
  const requests = [
    post("/orders?on_conflict=ref", { ref: "A" }, { id: "o", headers: minimal }),
    post(lines, [{ sku: "p" }, { sku: "q" }], { headers, refs: { "/*/order_id": "o#/0/id" } }),
    post(lines, { sku: "p" }, { headers, refs: { "/order_id": "o#/id" } }),
  ];
  const response = await api("POST /", batchOf(requests));
  const { responses, ...error } = await response.json();
  deepStrictEqual(error, {});
  deepStrictEqual(responses.map(({ status, body }: Entry) => [status, body]), [
    [200, undefined],
    [201, [
      { order_id: 100, sku: "p", merge_action: "INSERT" },
      { order_id: 100, sku: "q", merge_action: "INSERT" },
    ]],
    [200, [{ order_id: 100, sku: "p", merge_action: "EXISTING" }]],
  ]);
});

interface Entry {
  readonly status: number;
  readonly body: unknown;
}

committing.test("50 clients get or make the same 100 names", async (api) => {
  const names = Array.from({ length: 100 }, (_, n) => `name ${n}`);
  const sent = await Promise.all(Array.from({ length: 50 }, async (_, client) => {
    // Each client begins with another name.
    const own = [...names.slice(client), ...names.slice(0, client)];
    const response = await api(
      "POST /labels?on_conflict=name&select=id,name",
      found(own.map((name) => ({ name }))),
    );
    strictEqual(response.status < 300, true, await response.clone().text());
    const answer: readonly { id: number; name: string }[] = await response.json();
    deepStrictEqual(answer.map(({ name }) => name), own);
    return [response.status, Object.fromEntries(answer.map(({ id, name }) => [name, id]))] as const;
  }));
  for (const [status, ids] of sent) {
    strictEqual(status === 200 || status === 201, true);
    deepStrictEqual(ids, sent[0]![1]);
  }
  strictEqual((await (await api("GET /labels?name=like.name*")).json()).length, 100);
});

const raced = `
  create schema raced;
  grant usage on schema raced to anon;
  create table raced.tags (id int generated by default as identity primary key, name text unique);
  grant select, insert on raced.tags to anon;
  create function public.wait() returns trigger language plpgsql as
    $$ begin if new.name = 'y' then perform pg_advisory_xact_lock_shared(1); end if; return new; end $$;
  create trigger wait before insert on raced.tags for each row execute function public.wait();`;

Deno.test("return-existing makes a row that was deleted meanwhile", async () => {
  await withAdministeredHandler(raced, { dbSchemas: ["raced"] }, async ({ handler, admin }) => {
    await admin.query("select pg_advisory_lock(1)");
    await admin.query("begin");
    await admin.query("insert into raced.tags (name) values ('x')");
    const line = "POST /tags?on_conflict=name&select=name,merge_action()";
    const request = await buildRequest(
      { line, origin: "http://x" },
      found([{ name: "x" }, { name: "y" }]),
    );
    const pending = handler(request);
    await sessionsAreBlocked(admin);
    await admin.query("commit");
    // The request has found the conflict, and waits for the lock.
    await sessionsAreBlocked(admin);
    await admin.query("delete from raced.tags");
    await admin.query("select pg_advisory_unlock(1)");
    deepStrictEqual(await (await pending).json(), [
      { name: "x", merge_action: "INSERT" },
      { name: "y", merge_action: "INSERT" },
    ]);
  });
});

const strict = apiSuite("return_existing", {
  ...base,
  dbTxEnd: "commit",
  idempotencyTable: { schema: "svc", name: "idempotency_keys" },
}, { title: "return_existing, idempotency", ...postgres });

strict.test("a request that is sent again has its first answer", async (api) => {
  const headers = { ...returned, "Idempotency-Key": "once" };
  const answers = [];
  for (let time = 0; time < 2; time++) {
    const response = await api(tags, found([{ name: "keyed" }], headers));
    answers.push([response.status, await response.json()]);
  }
  const first = [201, [{ name: "keyed", note: null, merge_action: "INSERT" }]];
  deepStrictEqual(answers, [first, first]);
});
