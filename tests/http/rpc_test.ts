import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const suite = apiSuite("functions", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "rollback-allow-override",
});

const form = { "Content-Type": "application/x-www-form-urlencoded" };
const csv = { "Content-Type": "text/csv" };
const text = { "Content-Type": "text/plain" };
const xml = { "Content-Type": "text/xml" };
const octets = { "Content-Type": "application/octet-stream" };

const post = (name: string, body?: unknown, headers: Record<string, string> = {}) =>
  [`POST /rpc/${name}`, { body, headers }] as const;

// What the conformance table has of arguments, bodies, overloads and results is not repeated here.
suite.rows("arguments in the query string", [
  ["GET /rpc/sayhello?name=fts", {}, 200, "Hello, fts"],
  ["GET /rpc/sayhello?name=5.3", {}, 200, "Hello, 5.3"],
  ["GET /rpc/sayhello?name=Ann&flag", {}, 200, "Hello, Ann"],
  ["GET /rpc/sayhello?name='%3Bdrop table api.items--", {}, 200, "Hello, ';drop table api.items--"],
  ['GET /rpc/joined?sep=-&v=a"b&v=c,d&v={e}&v=f\\g&v=&v=NULL', {}, 200, 'a"b-c,d-{e}-f\\g--NULL'],
  ["GET /rpc/arr?v=%7Ba,%22b,c%22%7D", {}, 200, ["a", "b,c"]],
  ["GET /rpc/chs?c=%7Babc,de%7D", {}, 200, "{abc,de}"],
  ["GET /rpc/bits?b=10101", {}, 200, "10101"],
  ['GET /rpc/named_json?data={"a":  1}', {}, 200, '{"a":  1}'],
  ["GET /rpc/inout_first?a=1&b=4", {}, 200, { total: 5, b: 8 }],
  // The body and its type play no role.
  ["GET /rpc/f", { headers: text }, 200, "f()"],
]);

suite.rows("arguments in a body", [
  [...post("sayhello", { name: "eq.foo" }), 200, "Hello, eq.foo"],
  [...post("optional", "5"), 200, 12],
  [...post("optional", "null"), 200, 12],
  [...post("optional", "\ufeff"), 200, 12],
  [...post("optional?columns=a", ""), 200, null],
  [...post("plus", { v: "{1,2}" }), 200, 3],
  [...post("arr", { v: ["x", null] }), 200, ["x", null]],
  [...post("named_json", { data: '{"a":1}' }), 200, '"{\\"a\\":1}"'],
  [...post("named_jsonb", { data: [1, { a: null }] }), 200, '[1, {"a": null}]'],
  [...post("optional", "", form), 200, 12],
  [...post("sayhello", "name\nNULL\n", csv), 200, null],
  [...post("named_json", 'data\n"{""a"": 1}"\n', csv), 200, '{"a": 1}'],
  [...post("named_jsonb", "data\n[1]\n", csv), 200, "[1]"],
  [...post("named_json", "data\nNULL\n", csv), 200, null],
  ...answers()`
    // The query string shapes the result only.
    POST /rpc/range_of?id=gt.2&min=1 with {"max":4}
      400 SVC100 | min lacks an operator | "failed to parse filter (1)" (line 1, column 1): unexpected "1" expecting "not" or operator (eq, gt, ...)
    POST /rpc/sayhello with "{\"name\":\"a\\u0000\"}"
      400 22P05 | unsupported Unicode escape sequence | \u0000 cannot be converted to text.
  `,
]);

suite.rows("a body for the single unnamed parameter", [
  [...post("echo", ""), 200, {}],
  [...post("echo_jsonb", { b: 1 }), 200, { b: 1 }],
  [...post("echo_text", "héllo\n", text), 200, "héllo\n"],
  [...post("echo_text", "", text), 200, ""],
  [...post("echo_text", "x", { "Content-Type": "Text/Plain; charset=utf-8" }), 200, "x"],
  [...post("echo_bytes", new Uint8Array([0, 255, 10]), octets), 200, "00ff0a"],
  [...post("echo_bytes", new Uint8Array(), octets), 200, ""],
  [...post("f", "<a/>", xml), 200, "f(xml)"],
  [...post("optional", "ignored", text), 200, 12],
  [...post("f", "x=1&y=2", form), 200, "f(x,y)"],
  // The empty name is the unnamed parameter's: its value is the whole body.
  [...post("echo_text", { "": "x" }), 200, '{"":"x"}'],
  [...post("echo_xml", { "": "x" }), 200, '{"":"x"}'],
  [...post("echo_bytes", { "": "\\" }), 200, "7b22223a225c5c227d"],
  [...post("echo", { "": "x" }), 200, { "": "x" }],
  ...answers()`
    POST /rpc/echo_text?columns= with {"":"x"}
      400 SVC100 | a name is missing at the end | "failed to parse columns parameter ()" (line 1, column 1): unexpected end of input expecting field name (* or [a..z0..9_$])
  `,
  [...post("echo_text", '""\nx', csv), 200, '[{"":"x"}]'],
  [...post("echo_text", "=x", form), 200, '{"":"x"}'],
  [...post("echo", "=x", form), 200, { "": "x" }],
  ["GET /rpc/spare_text", {}, 200, "spare"],
  ["GET /rpc/spare_json", {}, 200, { d: 1 }],
  [...post("spare_text", {}), 200, "{}"],
  [...post("spare_text", { "": "x" }), 200, '{"":"x"}'],
  [...post("spare_text", "sent", text), 200, "sent"],
  [...post("spare_text", "", form), 200, "spare"],
  [...post("spare_json", { A: 1 }), 200, { A: 1 }],
  ["GET /rpc/leads_json?a=2", {}, 200, '{"d":1}2'],
  [...post("leads_json", { a: 2 }), 200, '{"d":1}2'],
  [...post("spare", "sent", text), 200, "spare(text)"],
  [...post("spare", { "": "x" }), 200, "spare(text)"],
]);

// A value that names no arguments is the whole body of a function with a single unnamed parameter.
const values = [
  '"hello"',
  "5",
  "-0.50",
  "true",
  "null",
  '""',
  "[]",
  "[1,2]",
  '["a",{"b":1}]',
  "[[]]",
]
  .concat(
    '[{"a":1},{"b":2}]',
    '[{"a":1},{}]',
    "[null]",
    '[ 1 , {"a":1} ]',
    "12345678901234567890.10",
  );

suite.test("any JSON value reaches a single unnamed parameter unchanged", async (api) => {
  for (const body of values) {
    const headers = { "Content-Type": "application/json" };
    const response = await api("POST /rpc/echo", { body, headers });
    deepStrictEqual([response.status, await response.text()], [200, body]);
    const normal = await api("POST /rpc/echo_jsonb", { body, headers });
    deepStrictEqual([normal.status, await normal.json()], [200, JSON.parse(body)], body);
  }
});

suite.answers("a JSON value that names no arguments")`
  POST /rpc/f with "5" | 200 "f(json)"
  POST /rpc/f with "[1,2]" | 200 "f(json)"
  POST /rpc/f with "[]" | 200 "f()"
  POST /rpc/f with "[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4}]" | 200 "f(x,y)"
  POST /rpc/f with "[{\"x\":1,\"y\":2},{\"x\":3}]" | 200 "f(json)"
  POST /rpc/g with "5"
    300 SVC203 | Could not choose the best candidate function between: api.g( => json), api.g( => jsonb) |  | Try renaming the parameters or the function itself in the database so function overloading can be resolved
  POST /rpc/echo_text with "5"
    404 SVC202 | Could not find the function api.echo_text without parameters in the schema cache | Searched for the function api.echo_text without parameters or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.
  POST /rpc/sayhello with "[1]" | 400 SVC102 | All object keys must match
  POST /rpc/sayhello with "[{\"name\":\"a\"},{}]" | 400 SVC102 | All object keys must match
  POST /rpc/echo with "[1," | 400 SVC102 | Empty or invalid json | The text ends early
`;

suite.test("json keeps the bytes that were sent", async (api) => {
  const sent = '{"a" :  1,\n "a":2}';
  const response = await api("POST /rpc/echo", { body: sent });
  strictEqual(await response.text(), sent);
});

suite.answers("no such function")`
  POST /rpc/unnamed_second with "{\"a\":1,\"\":2}"
    404 SVC202 | Could not find the function api.unnamed_second(, a) in the schema cache | Searched for the function api.unnamed_second with parameters , a or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.
  GET /rpc/unnamed_int | 404 SVC202 | Could not find the function api.unnamed_int without parameters in the schema cache | Searched for the function api.unnamed_int without parameters, but no matches were found in the schema cache.
  POST /rpc/unnamed_two with []
    404 SVC202 | Could not find the function api.unnamed_two without parameters in the schema cache | Searched for the function api.unnamed_two without parameters or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.
  GET /rpc/trigger_one | 404 SVC202 | Could not find the function api.trigger_one without parameters in the schema cache | Searched for the function api.trigger_one without parameters, but no matches were found in the schema cache.
  GET /rpc/my_sum | 404 SVC202 | Could not find the function api.my_sum without parameters in the schema cache | Searched for the function api.my_sum without parameters, but no matches were found in the schema cache.
  GET /rpc/SAYHELLO?name=x | 404 SVC202 | Could not find the function api.SAYHELLO(name) in the schema cache | Searched for the function api.SAYHELLO with parameter name, but no matches were found in the schema cache. | Perhaps you meant to call the function api.sayhello
  POST /rpc/sayhello {Content-Type: application/x-www-form-urlencoded} with "nam=x"
    404 SVC202 | Could not find the function api.sayhello(nam) in the schema cache | Searched for the function api.sayhello with parameter nam, but no matches were found in the schema cache. | Perhaps you meant to call the function api.sayhello(name)
  POST /rpc/echo {Content-Type: text/xml} with "<a/>"
    404 SVC202 | Could not find the function api.echo in the schema cache | Searched for the function api.echo with a single unnamed xml parameter, but no matches were found in the schema cache.
  GET /rpc/echo | 404 SVC202 | Could not find the function api.echo without parameters in the schema cache | Searched for the function api.echo without parameters, but no matches were found in the schema cache.
  POST /rpc/r_int {Content-Type: text/plain} with "x"
    404 SVC202 | Could not find the function api.r_int in the schema cache | Searched for the function api.r_int with a single unnamed text parameter, but no matches were found in the schema cache.
`;

suite.answers("several functions")`
  GET /rpc/spare | 300 SVC203 | Could not choose the best candidate function between: api.spare(), api.spare( => text) |  | Try renaming the parameters or the function itself in the database so function overloading can be resolved
  OPTIONS /rpc/spare | 300 SVC203 | Could not choose the best candidate function between: api.spare(), api.spare( => text) |  | Try renaming the parameters or the function itself in the database so function overloading can be resolved
  POST /rpc/spare with {}
    300 SVC203 | Could not choose the best candidate function between: api.spare(), api.spare( => text) |  | Try renaming the parameters or the function itself in the database so function overloading can be resolved
  POST /rpc/spare with ""
    300 SVC203 | Could not choose the best candidate function between: api.spare(), api.spare( => text) |  | Try renaming the parameters or the function itself in the database so function overloading can be resolved
  POST /rpc/f with {"":"x"}
    300 SVC203 | Could not choose the best candidate function between: api.f( => bytea), api.f( => json), api.f( => text), api.f( => xml) |  | Try renaming the parameters or the function itself in the database so function overloading can be resolved
`;

suite.answers("methods, paths and bodies")`
  BREW /rpc/echo | 405 SVC101 | Cannot use the BREW method on RPC
  GET /rpc/a/ | 404 SVC125 | Invalid path specified in request URL
  POST /rpc/sayhello with [{"name":"a"},{"b":1}] | 400 SVC102 | All object keys must match
  POST /rpc/sayhello {Content-Type: audio/mp3} with "name\n'"
    415 SVC107 | Content-Type not acceptable: audio/mp3
  POST /rpc/sayhello {Content-Type: application/vnd.svc.object+json} with "x"
    415 SVC107 | Content-Type not acceptable: application/vnd.svc.object+json
  GET /rpc/sayhello?name=is.abc | 400 SVC100 | is takes null, not_null, true, false or unknown | "failed to parse filter (is.abc)" (line 1, column 4): unexpected "a" expecting isVal: (null, not_null, true, false, unknown)
`;

suite.answers("results")`
  GET /rpc/r_no_rows | 200 []
  GET /rpc/one_item_domain?i=4 | 200 {"id":4,"name":"Apple","owner_id":7}
  GET /rpc/r_void_stable
    204
    no Content-Type
  HEAD /rpc/r_void_stable
    204
    no Content-Type
`;

suite.test("bodies are PostgreSQL's own text", async (api) => {
  const texts: readonly (readonly [string, string])[] = [
    ["/rpc/r_json", '{"k" :  1, "k": 2}'],
    ["/rpc/r_jsonb", '{"k": 1}'],
    ["/rpc/range_of?min=3&max=4", '[{"id":3}, \n {"id":4}]'],
    ["/rpc/r_int", "3"],
  ];
  for (const [path, text] of texts) {
    const response = await api(`GET ${path}`);
    strictEqual(await response.text(), text);
    strictEqual(response.headers.get("Content-Length"), String(text.length));
  }
});

suite.answers("results are shaped like relations")`
  GET /rpc/one_item_domain?i=4&select=id,...owners(owner:name) | 200 {"id":4,"owner":"Ada"}
  GET /rpc/r_table_doc?doc->a->>b=eq.6&select=id,b:doc->a->b | 200 [{"id":2,"b":6}]
  GET /rpc/range_of?min=2&max=5 {Range: 1-2} {Prefer: count=exact}
    206 [{"id":3},{"id":4}]
    Content-Range: 1-2/4
  GET /rpc/range_of?min=2&max=4&id=gt.2&limit=1 {Prefer: count=estimated}
    206 [{"id":3}]
    Content-Range: 0-0/2
    Preference-Applied: count=estimated
  GET /rpc/r_int?select=n:svc_scalar | 200 {"n":3}
`;

const singular = { Accept: "application/vnd.svc.object+json" };
const notSingular = (rows: number) =>
  errorBody(
    `SVC116 | Cannot coerce the result to a single JSON object | The result contains ${rows} rows`,
  );
suite.rows("singular results", [
  ["GET /rpc/range_of?min=2&max=9&limit=1", { headers: singular }, 200, { id: 2 }],
  ["GET /rpc/range_of?min=3&max=2", { headers: singular }, 406, notSingular(0)],
]);

/** A row that a filter or an offset takes away is counted nevertheless. */
suite.rows(
  "one value or one row is one, whatever is left of it",
  ([
    ["one_item?i=4&id=eq.9", null, "0-0/*", "0-0/1"],
    ["one_item?i=4&offset=1", null, "1-1/*", "1-1/1"],
    ["one_item?i=4&limit=0", null, "0-0/*", "0-0/1"],
    ["one_item?i=999", { id: null, name: null, owner_id: null }, "0-0/*", "0-0/1"],
    ["r_out?n=5&num_plus_one=eq.1", null, "0-0/*", "0-0/1"],
    ["r_int?offset=1", null, "1-1/*", "1-1/1"],
    ["r_int?svc_scalar=eq.9", null, "0-0/*", "0-0/1"],
  ] as const).flatMap(([call, body, range, counted]): Row[] => [
    [`GET /rpc/${call}`, {}, 200, body, { "Content-Range": range }],
    [`GET /rpc/${call}`, { headers: singular }, 200, body, { "Content-Range": range }],
    [`HEAD /rpc/${call}`, {}, 200, undefined, { "Content-Range": range }],
    [`GET /rpc/${call}`, { headers: { Prefer: "count=exact" } }, 200, body, {
      "Content-Range": counted,
    }],
    [`GET /rpc/${call}`, { headers: { Prefer: "count=estimated" } }, 200, body, {
      "Content-Range": counted,
    }],
  ]),
);
suite.answers("an offset beyond the one")`
  GET /rpc/r_int?offset=2 {Prefer: count=exact}
    416 SVC103 | Requested range not satisfiable | An offset of 2 was requested, but there are only 1 rows.
    Content-Range: */1
`;

suite.test("a call whose range begins after the last row leaves nothing", async (api) => {
  const headers = { Prefer: "tx=commit, count=exact" };
  const refused = await api("POST /rpc/add_two?offset=3", { headers });
  strictEqual(refused.status, 416);
  deepStrictEqual(
    (await refused.json()).details,
    "An offset of 3 was requested, but there are only 2 rows.",
  );
  // The number of all rows is unknown.
  const Prefer = "tx=rollback, count=exact-1";
  strictEqual((await api("POST /rpc/add_two?offset=3", { headers: { Prefer } })).status, 200);
  const rows = await api("GET /items?select=id&id=gte.100");
  deepStrictEqual(await rows.json(), []);
});

suite.test("a result that is not kept leaves nothing", async (api) => {
  const commit = { Prefer: "tx=commit" };
  const refused = await api("POST /rpc/add_two", { headers: { ...singular, ...commit } });
  strictEqual(refused.status, 406);
  deepStrictEqual(await refused.json(), notSingular(2));
  const rows = await api("GET /items?select=id&id=gte.100");
  deepStrictEqual(await rows.json(), []);
});

suite.answers("max-affected of functions that are read", {
  headers: { Prefer: "handling=strict, max-affected=4" },
})`
  GET /rpc/r_int | 400 SVC128 | Function must return SETOF or TABLE when max-affected preference is used with handling=strict
  GET /rpc/range_of?min=1&max=5 | 400 SVC124 | Query result exceeds max-affected preference constraint | The query affects 5 rows
`;

suite.test("a function runs once, whatever is asked about its result", async (api) => {
  const value = async () => Number(await (await api("GET /rpc/counted")).text());
  await api("POST /rpc/next");
  const requests: readonly (readonly [string, Record<string, string>])[] = [
    ["POST /rpc/next", { Prefer: "count=exact" }],
    ["POST /rpc/next", { Accept: "text/csv" }],
    ["POST /rpc/next", singular],
    ["POST /rpc/next_rows?limit=5", { Prefer: "count=exact" }],
    ["POST /rpc/next_rows", { Prefer: "count=exact" }],
    ["POST /rpc/next_rows?id=gt.0&order=id.desc&limit=1", { Prefer: "count=estimated" }],
    ["POST /rpc/next_rows", { ...singular }],
  ];
  for (const [line, headers] of requests) {
    const before = await value();
    await api(line, { headers, ...(line.includes("rows") ? { body: { n: 1 } } : {}) });
    strictEqual(await value() - before, 1, `${line} ${JSON.stringify(headers)}`);
  }
});

suite.answers("the transaction of a call")`
  GET /rpc/repeatable | 200 {"isolation":"repeatable read","readonly":"on","timeout":"0"}
  POST /rpc/repeatable | 200 {"isolation":"repeatable read","readonly":"off","timeout":"0"}
  GET /rpc/uncommitted | 200 {"isolation":"read committed","readonly":"on","timeout":"0"}
  POST /rpc/add_item with {"name":"x"} | 200 {"id":10,"name":"x","owner_id":null}
`;

const capped = serviceSuite("functions", {
  dbSchemas: ["api", "hidden"],
  dbAnonRole: "anon",
  dbMaxRows: 2,
  dbAggregatesEnabled: true,
}, { title: "functions, two rows at most" });
capped.rows("db-max-rows limits results, and several schemas are told apart", [
  ["GET /rpc/range_of?min=1&max=9", {}, 200, [{ id: 1 }, { id: 2 }], {
    "Content-Range": "0-1/*",
    "Content-Profile": "api",
  }],
  ["POST /rpc/range_of?limit=5", { body: { min: 1, max: 9 } }, 200, [{ id: 1 }, { id: 2 }]],
  ["GET /rpc/range_of?min=1&max=9", { headers: { Prefer: "count=exact" } }, 206, [
    { id: 1 },
    { id: 2 },
  ], { "Content-Range": "0-1/9" }],
  ["HEAD /rpc/range_of?min=1&max=9", {}, 200, undefined, { "Content-Range": "0-1/*" }],
  // Other items than the value of a scalar function give objects.
  ["GET /rpc/r_ints?select=n:count()", {}, 200, [{ n: 3 }]],
  ...answers({ headers: { "Accept-Profile": "hidden" } })`
    GET /rpc/not_here
      401 42501 | permission denied for schema hidden
      no Content-Profile
    POST /rpc/not_here
      404 SVC202 | Could not find the function api.not_here without parameters in the schema cache | Searched for the function api.not_here without parameters or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.
  `,
]);
