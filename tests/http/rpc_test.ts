import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answer, answers, type Row } from "../support/handler/rows.ts";

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

suite.rows("arguments in the query string", [
  ["GET /rpc/sayhello?name=Ann", {}, 200, "Hello, Ann"],
  ["GET /rpc/sayhello?name=Ann+B%26C", {}, 200, "Hello, Ann B&C"],
  ["GET /rpc/sayhello?name=", {}, 200, "Hello, "],
  ["GET /rpc/sayhello?name=a&name=b", {}, 200, "Hello, b"],
  ["GET /rpc/sayhello?name=eqx", {}, 200, "Hello, eqx"],
  ["GET /rpc/sayhello?name=fts", {}, 200, "Hello, fts"],
  ["GET /rpc/sayhello?name=note", {}, 200, "Hello, note"],
  ["GET /rpc/sayhello?name=5.3", {}, 200, "Hello, 5.3"],
  ["GET /rpc/sayhello?name=Ann&flag", {}, 200, "Hello, Ann"],
  ["GET /rpc/sayhello?name='%3Bdrop table api.items--", {}, 200, "Hello, ';drop table api.items--"],
  ["GET /rpc/Odd.name%20%C3%A9?A%20b=x", {}, 200, "x"],
  ["GET /rpc/add_them?a=1&b=2", {}, 200, 3],
  ["GET /rpc/three?a=1", {}, 200, 321],
  ["GET /rpc/three?c=3&a=1", {}, 200, 24],
  ["GET /rpc/conv?arg=1&num=2", {}, 200, "text"],
  ["GET /rpc/optional", {}, 200, 12],
  ["GET /rpc/optional?b=5", {}, 200, 15],
  ["GET /rpc/plus", {}, 200, 0],
  ["GET /rpc/plus?v=1", {}, 200, 1],
  ["GET /rpc/plus?v=1&v=2", {}, 200, 3],
  ['GET /rpc/joined?sep=-&v=a"b&v=c,d&v={e}&v=f\\g&v=&v=NULL', {}, 200, 'a"b-c,d-{e}-f\\g--NULL'],
  ["GET /rpc/arr?v=%7Ba,%22b,c%22%7D", {}, 200, ["a", "b,c"]],
  ["GET /rpc/ch?c=abcdefg", {}, 200, "abcdefg"],
  ["GET /rpc/chs?c=%7Babc,de%7D", {}, 200, "{abc,de}"],
  ["GET /rpc/bits?b=10101", {}, 200, "10101"],
  ["GET /rpc/later?d=5minutes", {}, 200, "00:10:00"],
  ["GET /rpc/feel?m=happy", {}, 200, "happy"],
  ["GET /rpc/take_pair?p=(1,x)", {}, 200, "1/x"],
  ['GET /rpc/named_json?data={"a":  1}', {}, 200, '{"a":  1}'],
  ["GET /rpc/positive_only?n=5", {}, 200, 5],
  ["GET /rpc/inout_first?a=1&b=4", {}, 200, { total: 5, b: 8 }],
  ["HEAD /rpc/add_them?a=1&b=2", {}, 200, undefined, {
    "Content-Length": null,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Range": "0-0/*",
  }],
  // An argument and a filter of the same name.
  ["GET /rpc/range_of?min=1&max=4&id=gt.2", {}, 200, [{ id: 3 }, { id: 4 }]],
  // The body and its type play no role.
  ["GET /rpc/f", { headers: text }, 200, "f()"],
]);

suite.rows("arguments in a body", [
  [...post("sayhello", { name: "Ann" }), 200, "Hello, Ann"],
  [
    ...post("sayhello", '{"name":"Ann"}', { "Content-Type": "application/JSON; charset=utf-8" }),
    200,
    "Hello, Ann",
  ],
  [...post("sayhello", '{"name":"Ann"}'), 200, "Hello, Ann"],
  [...post("sayhello", { name: null }), 200, null],
  [...post("sayhello", { name: "eq.foo" }), 200, "Hello, eq.foo"],
  [...post("add_them", { a: "1", b: 2 }), 200, 3],
  [...post("add_them", [{ a: 1, b: 2 }, { a: 3, b: 4 }]), 200, 3],
  [...post("optional"), 200, 12],
  [...post("optional", "[]"), 200, 12],
  [...post("optional", "5"), 200, 12],
  [...post("optional", "null"), 200, 12],
  [...post("optional", ""), 200, 12],
  [...post("optional", "\ufeff"), 200, 12],
  [...post("optional?columns=a", ""), 200, null],
  [...post("three", { a: 1, c: 3 }), 200, 24],
  [...post("three?columns=a", { a: 1, c: 3, more: true }), 200, 321],
  [...post("plus", { v: [1, 2, 3] }), 200, 6],
  [...post("plus", { v: "{1,2}" }), 200, 3],
  [...post("joined", { sep: "-", v: ["a", null, "b"] }), 200, "a-NULL-b"],
  [...post("arr", { v: ["x", null] }), 200, ["x", null]],
  [...post("arr", { v: '{x,"y,z"}' }), 200, ["x", "y,z"]],
  [...post("ch", { c: "abcdefg" }), 200, "abcdefg"],
  [...post("take_pair", { p: { b: "x", a: 1 } }), 200, "1/x"],
  [...post("named_json", { data: { a: 1 } }), 200, '{"a":1}'],
  [...post("named_json", { data: '{"a":1}' }), 200, '"{\\"a\\":1}"'],
  [...post("named_jsonb", { data: [1, { a: null }] }), 200, '[1, {"a": null}]'],
  [...post("later", { d: "1 day" }), 200, "2 days"],
  [...post("sayhello", "name=Ann+B%26C", form), 200, "Hello, Ann B&C"],
  [...post("sayhello", "name=a&name=b", form), 200, "Hello, b"],
  [...post("plus", "v=1&v=2", form), 200, 3],
  [...post("optional", "", form), 200, 12],
  [...post("add_them", "a,b\n1,2\n3,4\n", csv), 200, 3],
  [...post("sayhello", "name\nNULL\n", csv), 200, null],
  [...post("reserved", { select: 1, order: 2 }), 200, 3],
  // The query string shapes the result only.
  [...post("range_of?id=gt.2", { min: 1, max: 4 }), 200, [{ id: 3 }, { id: 4 }]],
  [
    ...post("range_of?id=gt.2&min=1", { max: 4 }),
    ...answer(
      '400 SVC100 | min lacks an operator | "failed to parse filter (1)" (line 1, column 1): unexpected "1" expecting "not" or operator (eq, gt, ...)',
    ),
  ],
]);

suite.answers("what PostgreSQL refuses of a body")`
  POST /rpc/three?columns=a
    with "{"
    400 22P02 | invalid input syntax for type json | The input string ended unexpectedly.
  POST /rpc/sayhello
    with "{\"name\":\"a\\u0000\"}"
    400 22P05 | unsupported Unicode escape sequence | \u0000 cannot be converted to text.
`;

suite.rows("a body for the single unnamed parameter", [
  [...post("echo", '{"a":1,  "a":2}'), 200, { a: 2 }],
  [...post("echo", '[{"a":1},{"a":2}]'), 200, [{ a: 1 }, { a: 2 }]],
  [...post("echo", ""), 200, {}],
  [...post("echo", "5"), 200, []],
  [...post("echo_jsonb", { b: 1 }), 200, { b: 1 }],
  [...post("echo_text", "héllo\n", text), 200, "héllo\n"],
  [...post("echo_text", "", text), 200, ""],
  [...post("echo_text", "x", { "Content-Type": "Text/Plain; charset=utf-8" }), 200, "x"],
  [...post("echo_xml", "<a>1</a>", xml), 200, "<a>1</a>"],
  [...post("echo_bytes", new Uint8Array([0, 255, 10]), octets), 200, "00ff0a"],
  [...post("echo_bytes", new Uint8Array(), octets), 200, ""],
  [...post("f", ""), 200, "f()"],
  [...post("f", {}), 200, "f()"],
  [...post("f", { y: 1, x: 2 }), 200, "f(x,y)"],
  [...post("f", { A: 1 }), 200, "f(json)"],
  [...post("f", "hi", text), 200, "f(text)"],
  [...post("f", "<a/>", xml), 200, "f(xml)"],
  [...post("f", new Uint8Array([1]), octets), 200, "f(bytea)"],
  [...post("optional", "ignored", text), 200, 12],
  [...post("f", "x=1&y=2", form), 200, "f(x,y)"],
  // The empty name is the unnamed parameter's: its value is the whole body.
  [...post("echo_text", { "": "x" }), 200, '{"":"x"}'],
  [...post("echo_xml", { "": "x" }), 200, '{"":"x"}'],
  [...post("echo_bytes", { "": "\\" }), 200, "7b22223a225c5c227d"],
  [...post("echo", { "": "x" }), 200, { "": "x" }],
  [
    ...post("echo_text?columns=", { "": "x" }),
    ...answer(
      '400 SVC100 | a name is missing at the end | "failed to parse columns parameter ()" (line 1, column 1): unexpected end of input expecting field name (* or [a..z0..9_$])',
    ),
  ],
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

suite.test("json keeps the bytes that were sent", async (api) => {
  const sent = '{"a" :  1,\n "a":2}';
  const response = await api("POST /rpc/echo", { body: sent });
  strictEqual(await response.text(), sent);
});

/** Rows of the refusals: request, code, message, details, hint. */
type Refusal = readonly [string, Row[1], string, string, string | null, string | null];

const statuses: Readonly<Record<string, number>> = {
  "22P02": 400,
  "23514": 400,
  "42703": 400,
  "22P05": 400,
  "25006": 405,
  "42501": 401,
  "57014": 500,
  SVC100: 400,
  SVC101: 405,
  SVC102: 400,
  SVC103: 416,
  SVC107: 415,
  SVC116: 406,
  SVC124: 400,
  SVC125: 404,
  SVC128: 400,
  SVC200: 400,
  SVC202: 404,
  SVC203: 300,
};

function refusals(name: string, list: readonly Refusal[]): void {
  suite.rows(
    name,
    list.map(([line, parts, code, message, details, hint]): Row => [
      line,
      parts,
      statuses[code]!,
      { code, details, hint, message },
      { "Proxy-Status": `SVC; error=${code}` },
    ]),
  );
}

const none = (name: string, keys: string) =>
  `Could not find the function api.${name}${keys} in the schema cache`;
const searched = (name: string, part: string) =>
  `Searched for the function api.${name}${part}, but no matches were found in the schema cache.`;
const orJson = " or with a single unnamed json/jsonb parameter";
const spare =
  "Could not choose the best candidate function between: api.spare(), api.spare( => text)";
const rename =
  "Try renaming the parameters or the function itself in the database so function overloading can be resolved";
const meant = (name: string) => `Perhaps you meant to call the function api.${name}`;

refusals(
  "no such function",
  [
    [
      "GET /rpc/sayhell",
      {},
      "SVC202",
      none("sayhell", " without parameters"),
      searched("sayhell", " without parameters"),
      meant("sayhello"),
    ],
    [
      "GET /rpc/sayhello?nam=P",
      {},
      "SVC202",
      none("sayhello", "(nam)"),
      searched("sayhello", " with parameter nam"),
      meant("sayhello(name)"),
    ],
    [
      "GET /rpc/sayhello",
      {},
      "SVC202",
      none("sayhello", " without parameters"),
      searched("sayhello", " without parameters"),
      null,
    ],
    [
      "GET /rpc/add_them?smthelse=x&b=2&a=1",
      {},
      "SVC202",
      none("add_them", "(a, b, smthelse)"),
      searched("add_them", " with parameters a, b, smthelse"),
      meant("add_them(a, b)"),
    ],
    [
      "GET /rpc/xyz?a=1",
      {},
      "SVC202",
      none("xyz", "(a)"),
      searched("xyz", " with parameter a"),
      null,
    ],
    [
      ...post("unnamed_second", '{"a":1,"":2}'),
      "SVC202",
      none("unnamed_second", "(, a)"),
      searched("unnamed_second", ` with parameters , a${orJson}`),
      null,
    ],
    [
      "GET /rpc/unnamed_int",
      {},
      "SVC202",
      none("unnamed_int", " without parameters"),
      searched("unnamed_int", " without parameters"),
      null,
    ],
    [
      ...post("unnamed_two", []),
      "SVC202",
      none("unnamed_two", " without parameters"),
      searched("unnamed_two", ` without parameters${orJson}`),
      null,
    ],
    [
      "GET /rpc/procedure_one",
      {},
      "SVC202",
      none("procedure_one", " without parameters"),
      searched("procedure_one", " without parameters"),
      null,
    ],
    [
      "GET /rpc/trigger_one",
      {},
      "SVC202",
      none("trigger_one", " without parameters"),
      searched("trigger_one", " without parameters"),
      null,
    ],
    [
      "GET /rpc/my_sum",
      {},
      "SVC202",
      none("my_sum", " without parameters"),
      searched("my_sum", " without parameters"),
      null,
    ],
    [
      "GET /rpc/not_here",
      {},
      "SVC202",
      none("not_here", " without parameters"),
      searched("not_here", " without parameters"),
      null,
    ],
    [
      "GET /rpc/",
      {},
      "SVC202",
      none("", " without parameters"),
      searched("", " without parameters"),
      null,
    ],
    [
      "GET /rpc/SAYHELLO?name=x",
      {},
      "SVC202",
      none("SAYHELLO", "(name)"),
      searched("SAYHELLO", " with parameter name"),
      meant("sayhello"),
    ],
    [
      ...post("sayhello", { name: "a", extra: 1 }),
      "SVC202",
      none("sayhello", "(extra, name)"),
      searched("sayhello", ` with parameters extra, name${orJson}`),
      meant("sayhello(name)"),
    ],
    [
      ...post("named_json", { A: 1, B: 2 }),
      "SVC202",
      none("named_json", "(A, B)"),
      searched("named_json", ` with parameters A, B${orJson}`),
      null,
    ],
    [
      ...post("sayhello", "nam=x", form),
      "SVC202",
      none("sayhello", "(nam)"),
      searched("sayhello", " with parameter nam"),
      meant("sayhello(name)"),
    ],
    [
      ...post("f", "a,b\n1,2", csv),
      "SVC202",
      none("f", "(a, b)"),
      searched("f", " with parameters a, b"),
      meant("f(x, y)"),
    ],
    [
      ...post("no_such", "x", text),
      "SVC202",
      none("no_such", ""),
      searched("no_such", " with a single unnamed text parameter"),
      null,
    ],
    [
      ...post("sayhello", "x", text),
      "SVC202",
      none("sayhello", ""),
      searched("sayhello", " with a single unnamed text parameter"),
      null,
    ],
    [
      ...post("echo", "<a/>", xml),
      "SVC202",
      none("echo", ""),
      searched("echo", " with a single unnamed xml parameter"),
      null,
    ],
    [
      ...post("echo", "x", octets),
      "SVC202",
      none("echo", ""),
      searched("echo", " with a single unnamed bytea parameter"),
      null,
    ],
    [
      "GET /rpc/echo",
      {},
      "SVC202",
      none("echo", " without parameters"),
      searched("echo", " without parameters"),
      null,
    ],
    [
      ...post("r_int", "x", text),
      "SVC202",
      none("r_int", ""),
      searched("r_int", " with a single unnamed text parameter"),
      null,
    ],
  ],
);

refusals("several functions", [
  [
    "GET /rpc/conv?arg=1",
    {},
    "SVC203",
    "Could not choose the best candidate function between: api.conv(arg => bytea), api.conv(arg => integer), api.conv(arg => text, num => integer)",
    null,
    rename,
  ],
  [
    ...post("g", { A: 1 }),
    "SVC203",
    "Could not choose the best candidate function between: api.g( => json), api.g( => jsonb)",
    null,
    rename,
  ],
  ...(["GET /rpc/spare", "OPTIONS /rpc/spare"] as const).map((line): Refusal => [
    line,
    {},
    "SVC203",
    spare,
    null,
    rename,
  ]),
  [...post("spare", {}), "SVC203", spare, null, rename],
  [...post("spare", ""), "SVC203", spare, null, rename],
  [
    ...post("f", { "": "x" }),
    "SVC203",
    "Could not choose the best candidate function between: api.f( => bytea), api.f( => json), api.f( => text), api.f( => xml)",
    null,
    rename,
  ],
]);

refusals("methods and bodies", [
  ...["PUT", "PATCH", "DELETE", "BREW"].map((method): Refusal => [
    `${method} /rpc/echo`,
    {},
    "SVC101",
    `Cannot use the ${method} method on RPC`,
    null,
    null,
  ]),
  ["GET /rpc/a/b", {}, "SVC125", "Invalid path specified in request URL", null, null],
  ["GET /rpc/a/", {}, "SVC125", "Invalid path specified in request URL", null, null],
  [...post("echo", "[1,2]"), "SVC102", "All object keys must match", null, null],
  [...post("echo", '[{"a":1},{"b":1}]'), "SVC102", "All object keys must match", null, null],
  [...post("sayhello", "{"), "SVC102", "Empty or invalid json", null, null],
  [
    ...post("sayhello", "name\n'", { "Content-Type": "audio/mp3" }),
    "SVC107",
    "Content-Type not acceptable: audio/mp3",
    null,
    null,
  ],
  [
    ...post("sayhello", "x", { "Content-Type": "application/vnd.svc.object+json" }),
    "SVC107",
    "Content-Type not acceptable: application/vnd.svc.object+json",
    null,
    null,
  ],
  [
    "GET /rpc/sayhello?name=is.abc",
    {},
    "SVC100",
    "is takes null, not_null, true, false or unknown",
    '"failed to parse filter (is.abc)" (line 1, column 4): unexpected "a" expecting isVal: (null, not_null, true, false, unknown)',
    null,
  ],
]);

refusals("what PostgreSQL refuses", [
  ["GET /rpc/items_of?o=x", {}, "22P02", 'invalid input syntax for type integer: "x"', null, null],
  ["GET /rpc/feel?m=angry", {}, "22P02", 'invalid input value for enum mood: "angry"', null, null],
  [
    "GET /rpc/positive_only?n=0",
    {},
    "23514",
    'value for domain positive violates check constraint "positive_check"',
    null,
    null,
  ],
  ["GET /rpc/r_void", {}, "25006", "cannot execute INSERT in a read-only transaction", null, null],
  ["GET /rpc/next", {}, "25006", "cannot execute nextval() in a read-only transaction", null, null],
  [
    ...post("stable_writer"),
    "25006",
    "cannot execute nextval() in a read-only transaction",
    null,
    null,
  ],
  ["GET /rpc/secret_one", {}, "42501", "permission denied for function secret_one", null, null],
  [
    "GET /rpc/range_of?min=1&max=2&select=nope",
    {},
    "42703",
    "column range_of.nope does not exist",
    null,
    null,
  ],
]);

suite.rows("results", [
  ["GET /rpc/r_int", {}, 200, 3, { "Content-Range": "0-0/*", "Content-Location": null }],
  ["GET /rpc/r_null", {}, 200, null],
  ["GET /rpc/r_text", {}, 200, 'a "quote" é'],
  ["GET /rpc/r_array", {}, 200, [1, 2]],
  ["GET /rpc/r_range", {}, 200, "[10,20)"],
  ["GET /rpc/r_jsonb", {}, 200, { k: 1 }],
  ["GET /rpc/r_domain", {}, 200, 5],
  ["GET /rpc/r_record", {}, 200, { a: 1, b: "x" }],
  ["GET /rpc/r_records", {}, 200, [{ a: 1, b: "x" }, { a: 2, b: "y" }]],
  ["GET /rpc/r_ints", {}, 200, [1, null, 3]],
  ["GET /rpc/r_no_ints", {}, 200, [], { "Content-Range": "*/*" }],
  ["GET /rpc/r_pair", {}, 200, { a: 1, b: "x" }],
  ["GET /rpc/r_null_pair", {}, 200, { a: null, b: null }],
  ["GET /rpc/r_pairs", {}, 200, [{ a: 1, b: "x" }, { a: 2, b: null }]],
  ["GET /rpc/r_out?n=5", {}, 200, { num_plus_one: 6 }],
  ["GET /rpc/r_outs", {}, 200, { a: 1, b: "x" }],
  ["GET /rpc/r_table", {}, 200, [{ x: 1 }, { x: 2 }]],
  ["GET /rpc/r_no_rows", {}, 200, []],
  ["GET /rpc/one_item?i=4", {}, 200, { id: 4, name: "Apple", owner_id: 7 }],
  ["GET /rpc/one_item_domain?i=4", {}, 200, { id: 4, name: "Apple", owner_id: 7 }],
  [...post("r_void"), 204, undefined, {
    "Content-Range": "0-0/*",
    "Content-Type": null,
    "Content-Length": null,
    "Preference-Applied": null,
  }],
  [...post("r_void", undefined, { Prefer: "count=exact" }), 204, undefined, {
    "Content-Range": "0-0/1",
    "Preference-Applied": "count=exact",
  }],
  ["GET /rpc/r_void_stable", {}, 204, undefined, { "Content-Type": null }],
  ["HEAD /rpc/r_void_stable", {}, 204, undefined, { "Content-Type": null }],
]);

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
  GET /rpc/items_of?o=7&select=id&order=id.desc&limit=2
    200 [{"id":9},{"id":4}]
    Content-Range: 0-1/*
    Range-Unit: items
  GET /rpc/items_of?o=7&name=like.A*&select=name,owners(name)
    200 [{"name":"Apple","owners":{"name":"Ada"}}]
  GET /rpc/items_of?o=7&select=label&id=eq.4 | 200 [{"label":"Apple#4"}]
  GET /rpc/items_of?o=7&label=eq.Box%239&select=id | 200 [{"id":9}]
  GET /rpc/items_of?o=7&or=(id.eq.4,name.eq.Box)&select=id&order=id | 200 [{"id":4},{"id":9}]
  GET /rpc/one_item?i=4&select=id,owners(name) | 200 {"id":4,"owners":{"name":"Ada"}}
  GET /rpc/one_item_domain?i=4&select=id,...owners(owner:name) | 200 {"id":4,"owner":"Ada"}
  GET /rpc/r_table?x=gt.1 | 200 [{"x":2}]
  GET /rpc/r_table_doc?doc->a->>b=eq.6&select=id,b:doc->a->b | 200 [{"id":2,"b":6}]
  GET /rpc/r_pairs?b=is.null&select=a | 200 [{"a":2}]
  GET /rpc/range_of?min=2&max=4&limit=1&offset=1
    Prefer: count=exact
    206 [{"id":3}]
    Content-Range: 1-1/3
    Preference-Applied: count=exact
  HEAD /rpc/range_of?min=2&max=4&limit=1&offset=1
    Prefer: count=exact
    206
    Content-Range: 1-1/3
    no Content-Length
  GET /rpc/range_of?min=2&max=5
    Range: 1-2
    Prefer: count=exact
    206 [{"id":3},{"id":4}]
    Content-Range: 1-2/4
  POST /rpc/range_of?limit=2&offset=1
    Range: 0-0
    Prefer: count=exact
    with {"min":2,"max":5}
    206 [{"id":3},{"id":4}]
    Content-Range: 1-2/4
  GET /rpc/range_of?min=2&max=4
    Prefer: count=exact
    200 [{"id":2},{"id":3},{"id":4}]
    Content-Range: 0-2/3
  GET /rpc/range_of?min=2&max=4&id=gt.2&limit=1
    Prefer: count=estimated
    206 [{"id":3}]
    Content-Range: 0-0/2
    Preference-Applied: count=estimated
  GET /rpc/range_of?min=2&max=4&limit=1
    Prefer: count=planned
    200 [{"id":2}]
    Content-Range: 0-0/*
    Preference-Applied: count=planned
  GET /rpc/r_int
    Prefer: count=exact
    200 3
    Content-Range: 0-0/1
  GET /rpc/r_int?select=n:svc_scalar | 200 {"n":3}
  GET /rpc/one_item?i=4
    Prefer: count=estimated
    200 {"id":4,"name":"Apple","owner_id":7}
    Content-Range: 0-0/1
  GET /rpc/range_of?min=2&max=4&offset=9
    Prefer: count=exact
    416 SVC103 | Requested range not satisfiable | An offset of 9 was requested, but there are only 3 rows.
    Content-Range: */3
`;

const singular = { Accept: "application/vnd.svc.object+json" };
const notSingular = (rows: number) => ({
  code: "SVC116",
  details: `The result contains ${rows} rows`,
  hint: null,
  message: "Cannot coerce the result to a single JSON object",
});
suite.rows("singular results", [
  ["GET /rpc/r_int", { headers: singular }, 200, 3, {
    "Content-Type": "application/vnd.svc.object+json; charset=utf-8",
  }],
  ["GET /rpc/r_out?n=5", { headers: singular }, 200, { num_plus_one: 6 }],
  ["GET /rpc/one_item?i=4", { headers: singular }, 200, { id: 4, name: "Apple", owner_id: 7 }],
  ["GET /rpc/range_of?min=2&max=2", { headers: singular }, 200, { id: 2 }],
  ["GET /rpc/range_of?min=2&max=9&limit=1", { headers: singular }, 200, { id: 2 }],
  ["GET /rpc/range_of?min=2&max=3", { headers: singular }, 406, notSingular(2)],
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
  GET /rpc/r_int?offset=2
    Prefer: count=exact
    416 SVC103 | Requested range not satisfiable | An offset of 2 was requested, but there are only 1 rows.
    Content-Range: */1
`;

suite.test("a result that is not kept leaves nothing", async (api) => {
  const commit = { Prefer: "tx=commit" };
  const refused = await api("POST /rpc/add_two", { headers: { ...singular, ...commit } });
  strictEqual(refused.status, 406);
  deepStrictEqual(await refused.json(), notSingular(2));
  const rows = await api("GET /items?select=id&id=gte.100");
  deepStrictEqual(await rows.json(), []);
});

const strict = (text: string) => ({ headers: { Prefer: `handling=strict, ${text}` } });
refusals("max-affected", [
  [
    "POST /rpc/purge",
    strict("max-affected=20"),
    "SVC128",
    "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
    null,
    null,
  ],
  [
    "GET /rpc/r_int",
    strict("max-affected=20"),
    "SVC128",
    "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
    null,
    null,
  ],
  [
    "POST /rpc/purge_set",
    strict("max-affected=2"),
    "SVC124",
    "Query result exceeds max-affected preference constraint",
    "The query affects 3 rows",
    null,
  ],
  [
    "POST /rpc/purge_set",
    strict("max-affected=-1"),
    "SVC124",
    "Query result exceeds max-affected preference constraint",
    "The query affects 3 rows",
    null,
  ],
  [
    "GET /rpc/range_of?min=1&max=5",
    strict("max-affected=4"),
    "SVC124",
    "Query result exceeds max-affected preference constraint",
    "The query affects 5 rows",
    null,
  ],
]);
suite.rows("max-affected", [
  ["POST /rpc/purge_set?select=id&order=id", strict("max-affected=3"), 200, [{ id: 4 }, { id: 5 }, {
    id: 9,
  }], { "Preference-Applied": "handling=strict, max-affected=3" }],
  ["POST /rpc/purge_set?limit=1&order=id&select=id", strict("max-affected=1"), 200, [{ id: 4 }]],
  ["POST /rpc/purge", { headers: { Prefer: "max-affected=0" } }, 204, undefined, {
    "Preference-Applied": null,
  }],
]);

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

const facts = (isolation: string, readonly: string, timeout = "0") => ({
  isolation,
  readonly,
  timeout,
});
suite.rows("the transaction of a call", [
  ["GET /rpc/transaction_facts", {}, 200, facts("read committed", "on")],
  ["POST /rpc/transaction_facts", {}, 200, facts("read committed", "off")],
  ["GET /rpc/repeatable", {}, 200, facts("repeatable read", "on")],
  ["POST /rpc/repeatable", {}, 200, facts("repeatable read", "off")],
  ["POST /rpc/serializable", {}, 200, facts("serializable", "on")],
  ["GET /rpc/uncommitted", {}, 200, facts("read committed", "on")],
  ["POST /rpc/with_timeout", {}, 200, facts("read committed", "on", "4s")],
  ["POST /rpc/add_item", { body: { name: "x" } }, 200, { id: 10, name: "x", owner_id: null }, {
    "Content-Range": "0-0/*",
  }],
]);

const onServer = serviceSuite("functions", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "functions on a server",
});
onServer.answers("a function's own timeout ends the statement")`
  POST /rpc/slow
    500 57014 | canceling statement due to statement timeout
    Proxy-Status: SVC; error=57014
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
