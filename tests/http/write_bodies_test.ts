import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { answer, answers, errorBody, type Row } from "../support/handler/rows.ts";
import { buildRequest } from "../support/handler/request.ts";

const suite = serviceSuite("writes_shapes", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "writes_shapes, bodies",
});
const representation = { Prefer: "return=representation" };
const json = { "Content-Type": "application/json", ...representation };
const csv = { "Content-Type": "text/csv", ...representation };
const form = { "Content-Type": "application/x-www-form-urlencoded", ...representation };

const refused = (code: string, message: string, details: string | null = null) =>
  errorBody(`${code} | ${message} | ${details ?? ""}`);
const badJson = (problem: string) => refused("SVC102", "Empty or invalid json", problem);
const noTable = refused("SVC205", "Could not find the table 'api.nothing' in the schema cache");
const bad = (
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
  code: string,
  message: string,
  line = "POST /single",
): Row => [line, { body, headers }, 400, refused(code, message)];
const mixed = refused("SVC102", "All object keys must match");
const unknown = (column: string, table = "single") =>
  refused("SVC204", `Could not find the '${column}' column of '${table}' in the schema cache`);
const notAcceptable = (type: string) => refused("SVC107", `Content-Type not acceptable: ${type}`);
const bytes = (text: string, ...more: number[]) =>
  Uint8Array.from([...new TextEncoder().encode(text), ...more]);

suite.answers("ndjson", {
  headers: { "Content-Type": "application/x-ndjson", Prefer: "return=representation" },
})`
  POST /single?select=id with "{\"id\":3}\n\r\n{\"id\":4}" | 201 [{"id":3},{"id":4}]
  POST /single with "\n" | 201 []
  POST /single?columns=id,note&select=id,note with "{\"id\":3}\n{\"note\":\"b\",\"id\":4}\n"
    201 [{"id":3,"note":null},{"id":4,"note":"b"}]
  PATCH /single?id=eq.1&select=id,note with "{\"note\":\"n\"}\n" | 200 [{"id":1,"note":"n"}]
  POST /single with "{\"id\":3}\n[{\"id\":4}]"
    400 SVC102 | Empty or invalid json | Line 2 is not one JSON object
  POST /single with "{\"id\":3}\n{\"note\":\"b\"}"
    400 SVC102 | All object keys must match | Line 2 has other keys than the first line
`;

/** `[{"id":3}]` as gzip. */
const gzipped = Uint8Array.from(
  atob("H4sIAAAAAAAAA4uuVspMUbIyro0FAAp8YWsKAAAA"),
  (character) => character.charCodeAt(0),
);
const gzip = { ...json, "Content-Encoding": "gzip" };
const undecodable = refused(
  "SVC139",
  "Request body cannot be decoded",
  "The body is not complete data of the coding gzip",
);

suite.rows("content codings", [
  ["POST /single?select=id", { body: gzipped, headers: gzip }, 201, [{ id: 3 }]],
  [
    "POST /single?select=id",
    { body: '{"id":3}', headers: { ...json, "Content-Encoding": "identity" } },
    201,
    [{ id: 3 }],
  ],
  ["POST /single", { body: gzipped.subarray(0, 20), headers: gzip }, 400, undecodable],
  ["POST /single", { body: '{"id":3}', headers: gzip }, 400, undecodable],
  ["POST /nothing", { body: gzipped, headers: gzip }, 404, noTable],
]);

suite.test("an unknown content coding is refused with those that are known", async (api) => {
  const headers = { ...json, "Content-Encoding": "gzip, br" };
  const response = await api("POST /single", { body: gzipped, headers });
  strictEqual(response.status, 415);
  const offered = response.headers.get("Accept-Encoding") ?? "";
  strictEqual(offered.startsWith("gzip, deflate"), true, offered);
  deepStrictEqual(
    await response.json(),
    refused("SVC138", "Content-Encoding not supported", `gzip, br is not one of: ${offered}`),
  );
});

suite.rows("JSON", [
  ["POST /single?select=id", { body: '{"id":3}', headers: representation }, 201, [{ id: 3 }]],
  ...answers({ body: '{"id":3}' })`
    POST /single?select=id {Content-Type: application/json; charset=latin1}
      Prefer: return=representation
      201 [{"id":3}]
  `,
  ...answers({ headers: { "Content-Type": "application/json", Prefer: "return=representation" } })`
    POST /single?select=id with " \t\r\n[{\"id\":3}] \n" | 201 [{"id":3}]
    POST /single?select=id with "﻿{\"id\":3}" | 201 [{"id":3}]
    POST /single?select=id,note with [{"id":3,"note":"a"},{"note":"b","id":4}]
      201 [{"id":3,"note":"a"},{"id":4,"note":"b"}]
    POST /single?select=note with "{\"id\":3,\"note\":\"a\",\"note\":\"b\"}" | 201 [{"note":"b"}]
  `,
  ...["[]", "5", '"x"', "null", "true"].map((body): Row => [
    "POST /single",
    { body, headers: { ...json, Prefer: "return=representation, count=exact" } },
    201,
    [],
    { "Content-Range": "*/0" },
  ]),
  ["POST /defaults?select=own", { body: "{}", headers: json }, 201, [{ own: 5 }]],
  ["POST /defaults?select=own", { body: "[{},{}]", headers: json }, 201, [{ own: 5 }, { own: 5 }]],
  ...([
    ["", "The text is empty"],
    [" ", "The text ends early"],
    ["{", "The text ends early"],
    ['{"id":3', "The text ends early"],
    ['{"id":3}}', "Unexpected byte 9"],
    ['{"id":}', "Unexpected byte 7"],
    ["{'id':3}", "Unexpected byte 2"],
    ['[{"id":3},]', "Unexpected byte 11"],
    ["nothing", "Unexpected byte 2"],
    ['{"id":-}', "Unexpected byte 8"],
    ['{"id":1.}', "Unexpected byte 9"],
    ['{"id":tru}', "Unexpected byte 10"],
    ['{"id" 3}', "Unexpected byte 7"],
    ['{"id":3 4}', "Unexpected byte 9"],
    ['{"id":3}{"id":4}', "Unexpected byte 9"],
    ['{"note":"\\x"}', "Unexpected byte 11"],
    ['{"note":"\\u12g4"}', "Unexpected byte 14"],
    ["[".repeat(1000), "The text ends early"],
    [bytes('{"note":"', 0xff, 0x22, 0x7d), "The text is not UTF-8"],
    [bytes('{"note":"', 0, 0x22, 0x7d), "Unexpected byte 10"],
  ] as const).map(([body, problem]): Row => [
    "POST /single",
    { body, headers: json },
    400,
    badJson(problem),
  ]),
  ["POST /single", { headers: json }, 400, badJson("The text is empty")],
  ["POST /single", {}, 400, badJson("The text is empty")],
  ...[
    '[{"id":3},{"id":4,"note":"x"}]',
    '[{"id":3},{"note":"x"}]',
    "[1]",
    "[null]",
    "[[]]",
    '[{"id":3},5]',
  ].map((body): Row => ["POST /single", { body, headers: json }, 400, mixed]),
  ...answers()`
    POST /single with {"id":3,"note":"\u0000"}
      400 22P05 | unsupported Unicode escape sequence | \u0000 cannot be converted to text.
    POST /single with {"note":"no key"}
      400 23502 | null value in column "id" of relation "single" violates not-null constraint | Failing row contains (null, no key, given).
  `,
]);

/** PGlite has no answer to more than its stack holds. */
const server = serviceSuite("writes_shapes", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "writes_shapes, bodies too deep for the server",
});

server.rows("JSON", [
  [
    "POST /typed?columns=id,jb",
    { body: `{"id":1,"jb":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, headers: json },
    ...answer(
      '413 54001 | stack depth limit exceeded |  | Increase the configuration parameter "max_stack_depth" (currently 2048kB), after ensuring the platform\'s stack depth limit is adequate.',
    ),
  ],
]);

suite.rows("columns", [
  ...answers({ headers: { "Content-Type": "application/json", Prefer: "return=representation" } })`
    POST /single?columns=id,note&select=*
      with [{"id":3,"note":"x","other":"left out","more":1},{"id":4}]
      201 [{"id":3,"note":"x","other":"given"},{"id":4,"note":null,"other":"given"}]
    POST /single?columns=id,id,note&select=id with {"id":3} | 201 [{"id":3}]
    POST /single?columns=%22id%22,note&select=id with {"id":3} | 201 [{"id":3}]
    POST /single?columns=id with [] | 201 []
  `,
  ...answers({ body: { id: 3 } })`
    POST /single?columns=
      400 SVC100 | a name is missing at the end | "failed to parse columns parameter ()" (line 1, column 1): unexpected end of input expecting field name (* or [a..z0..9_$])
  `,
  ["POST /single?columns=id,nope,maybe", { body: { id: 3 } }, 400, unknown("maybe")],
  ["POST /single?columns=id,shout", { body: { id: 3 } }, 400, unknown("shout")],
  ["POST /nothing?columns=id", { body: { id: 3 } }, 404, noTable],
  ...answers({ headers: { "Content-Type": "application/json", Prefer: "return=representation" } })`
    POST /single?columns=id with ""
      400 22P02 | invalid input syntax for type json | The input string ended unexpectedly.
    POST /single?columns=id with "{"
      400 22P02 | invalid input syntax for type json | The input string ended unexpectedly.
    POST /single?columns=id with "5" | 400 22023 | cannot call json_to_recordset on a scalar
    POST /single?columns=id with "[1]"
      400 22023 | argument of json_to_recordset must be an array of objects
  `,
  bad(
    bytes('{"id":3,"note":"', 0xff, 0x22, 0x7d),
    json,
    "22021",
    'invalid byte sequence for encoding "UTF8": 0xff',
    "POST /single?columns=id,note",
  ),
  bad(
    bytes('{"id":3,"note":"', 0, 0x22, 0x7d),
    json,
    "22021",
    'invalid byte sequence for encoding "UTF8": 0x00',
    "POST /single?columns=id,note",
  ),
]);

suite.rows("unknown keys", [
  ["POST /single", { body: { id: 3, nope: 1 } }, 400, unknown("nope")],
  ["POST /single", { body: [{ id: 3, nope: 1, maybe: 2 }] }, 400, unknown("maybe")],
  ["POST /single", { body: { "": 1 } }, 400, unknown("")],
  ["POST /single", { body: '{"__proto__":1,"id":3}', headers: json }, 400, unknown("__proto__")],
  ["POST /single", { body: { 'a"; drop table x --': 1 } }, 400, unknown('a"; drop table x --')],
  ["POST /single", { body: "id,nope\n3,x", headers: csv }, 400, unknown("nope")],
  ["POST /single", { body: "id=3&nope=x", headers: form }, 400, unknown("nope")],
  ["PATCH /single", { body: { nope: 1 } }, 400, unknown("nope")],
  ["PATCH /single?columns=nope", { body: { note: "x" } }, 400, unknown("nope")],
  ...answers({ body: { nope: 1 } })`
    // What embeds and tables are wrong about is said first; what a body is wrong about before that.
    POST /keyless?select=a,nothing(id)
      400 SVC200 | Could not find a relationship between 'keyless' and 'nothing' in the schema cache | Searched for a foreign key relationship between 'keyless' and 'nothing' in the schema 'api', but no matches were found.
    POST /nothing | 404 SVC205 | Could not find the table 'api.nothing' in the schema cache
  `,
  ["POST /nothing", { body: "{", headers: json }, 400, badJson("The text ends early")],
]);

suite.rows("CSV", [
  ...answers({ headers: { "Content-Type": "text/csv", Prefer: "return=representation" } })`
    POST /single with "id,note\n3,a\n4,b\n"
      201 [{"id":3,"note":"a","other":"given"},{"id":4,"note":"b","other":"given"}]
    POST /single?select=note
      with "note,id\r\n\"a \"\"b\"\", c\nd\",3\r\n\r\n\"\",4\r\n,5\r\nNULL,6\r\n\"NULL\",7\r\n null,
        +8"
      201 [{"note":"a \"b\", c\nd"},{"note":""},{"note":null},{"note":null},{"note":"NULL"},
        +{"note":" null"}]
    POST /single?select=note with "id,note,note\n3,a,b"
      400 SVC102 | parse error (a name occurs twice) at line 1 of the CSV body
    POST /single?select=id with "id\n3,a,b\n4"
      400 SVC102 | All lines must have same number of fields | line 2 has 3, and the line of names 1
    POST /single?select=id,note,other with "id,note,other\n3,a\n4,b"
      400 SVC102 | All lines must have same number of fields | line 2 has 2, and the line of names 3
    POST /single with "id,note\n" | 201 []
    POST /single with "id,note\n3,a\n4"
      400 SVC102 | All lines must have same number of fields | line 3 has 1, and the line of names 2
    POST /single with "id, note\n3,a"
      400 SVC204 | Could not find the ' note' column of 'single' in the schema cache
    POST /single with "id,note\n,a"
      400 23502 | null value in column "id" of relation "single" violates not-null constraint |
        + Failing row contains (null, a, given).
  `,
  ...answers({
    headers: { "Content-Type": "text/csv", Prefer: "return=representation" },
    body: "id,note\n3,a",
  })`
    POST /single?columns=id&select=note | 201 [{"note":null}]
    POST /single?columns=nope&select=note
      400 SVC204 | Could not find the 'nope' column of 'single' in the schema cache
    POST /single?columns=id,note,other&select=other {Prefer: missing=default, return=representation}
      201 [{"other":"given"}]
  `,
  bad("", csv, "SVC102", "parse error (no names) at line 1 of the CSV body"),
  bad("id,note", csv, "SVC102", "parse error (no line break) at line 1 of the CSV body"),
  bad('id,note\n3,"a', csv, "SVC102", "parse error (quote not closed) at line 2 of the CSV body"),
  bad(bytes("id,note\n3,", 0xff), csv, "SVC102", "The body is not UTF-8 text"),
  bad("id,note\n3,\0", csv, "SVC102", "The body holds the character NUL"),
  ["POST /paints?select=tint", { body: "id,tint\n5,NULL", headers: csv }, 201, [{ tint: null }]],
]);

suite.rows("forms", [
  ["POST /single", { body: "id=3&note=x+y%26z", headers: form }, 201, [
    { id: 3, note: "x y&z", other: "given" },
  ]],
  ["POST /single?select=note", { body: "id=3&note=a&note=b", headers: form }, 201, [{ note: "b" }]],
  ["POST /single?select=note", { body: "id=3&note", headers: form }, 201, [{ note: "" }]],
  ["POST /single?select=note", { body: "id=3&note=NULL", headers: form }, 201, [{ note: "NULL" }]],
  ["POST /defaults?select=own", { body: "", headers: form }, 201, [{ own: 5 }]],
  ["POST /single?columns=nope", { body: "id=3", headers: form }, 400, unknown("nope")],
  ["POST /single?columns=id&select=id,note", { body: "id=3&note=a", headers: form }, 201, [
    { id: 3, note: null },
  ]],
  ["PATCH /single?id=eq.1&select=note", { body: "note=x", headers: form }, 200, [{ note: "x" }]],
  bad("id=x", form, "22P02", 'invalid input syntax for type integer: "x"'),
  bad("id=3&note=%FF", form, "SVC102", "The body is not UTF-8 text"),
  bad("id=3&note=%00", form, "SVC102", "The body holds the character NUL"),
]);

suite.rows("content types", [
  ...[
    "text/plain",
    "text/xml",
    "application/octet-stream",
    "application/vnd.svc.object+json",
    "application/geo+json",
    "image/png",
    "Image/PNG; q=1",
    "multipart/form-data; boundary=x",
    "json",
    "rubbish",
  ].flatMap((type): Row[] =>
    ["POST /single", "PATCH /single", "PUT /single?id=eq.1", "POST /single?columns=id"].map(
      (line): Row => [
        line,
        { body: "{}", headers: { "Content-Type": type } },
        415,
        notAcceptable(type),
      ],
    )
  ),
  ...answers({ body: "{}" })`
    POST /single {Content-Type: text/plain; charset=utf-8}
      415 SVC107 | Content-Type not acceptable: text/plain
    POST /nothing {Content-Type: text/plain} | 415 SVC107 | Content-Type not acceptable: text/plain
  `,
]);

const committing = serviceSuite("writes_shapes", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
}, { title: "writes_shapes, bodies that leave nothing behind" });

async function rowsOf(api: Api): Promise<unknown> {
  return await (await api("GET /single?order=id")).json();
}

committing.test("a bad body changes nothing, and the connection goes on", async (api) => {
  const before = await rowsOf(api);
  const bodies: readonly [line: string, body: string | Uint8Array, type?: string][] = [
    ["POST /single?columns=id", '[{"id":3},{"id":4},'],
    ["POST /single?columns=id", '[{"id":3},{"id":"x"}]'],
    ["POST /single?columns=id", '[{"id":3},5]'],
    ["POST /single?columns=id,note", bytes('[{"id":3},{"id":4,"note":"', 0, 0x22, 0x7d, 0x5d)],
    ["POST /single?columns=id,note", bytes('[{"id":3},{"id":4,"note":"', 0xff, 0x22, 0x7d, 0x5d)],
    ["POST /single", '[{"id":3},{"id":4,"note":"\\u0000"}]'],
    ["POST /single", '[{"id":3},{"id":1}]'],
    ["POST /single", '[{"id":3},{"id":null}]'],
    ["POST /single", '[{"id":3},{"id":99999999999}]'],
    ["POST /single", '[{"id":3}'],
    ["POST /single", "id\n3\nx\n", "text/csv"],
    ["PATCH /single?columns=note", '{"note":"changed"'],
    ["PUT /single?id=eq.3", '{"id":3}}'],
  ];
  for (const [line, body, type] of bodies) {
    const headers = { "Content-Type": type ?? "application/json" };
    const response = await api(line, { body, headers });
    strictEqual(response.status >= 400 && response.status < 500, true, `${line}: ${body}`);
    deepStrictEqual(await rowsOf(api), before, `${line}: ${body}`);
  }
});

committing.test("a body comes in pieces, or breaks off", async (api) => {
  const pieces = ['[{"id":', "30}", ',{"id":31}]'];
  const send = async (broken: boolean) => {
    const left = [...pieces];
    const body = new ReadableStream({
      pull(controller) {
        const piece = left.shift();
        if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
        else if (broken) controller.error(new Error("gone"));
        else controller.close();
      },
    });
    const request = await buildRequest({ line: "POST /single", origin: "http://x" });
    const response = await api.handler(new Request(request, { body }));
    return { status: response.status, body: await response.text() };
  };
  const before = await rowsOf(api);
  const refusal = await send(true);
  strictEqual(refusal.status, 400);
  deepStrictEqual(JSON.parse(refusal.body), refused("SVC102", "The body ended early"));
  deepStrictEqual(await rowsOf(api), before);
  deepStrictEqual(await send(false), { status: 201, body: "" });
  const ids = await (await api("GET /single?id=gte.30&select=id&order=id")).json();
  deepStrictEqual(ids, [{ id: 30 }, { id: 31 }]);
});

committing.test("a long body is one statement", async (api) => {
  const body = Array.from({ length: 30_000 }, (_, id) => ({ id: 1000 + id, note: "x".repeat(80) }));
  for (const columns of ["", "?columns=id,note"]) {
    const response = await api(`POST /single${columns}`, {
      body,
      headers: { Prefer: "count=exact" },
    });
    strictEqual(response.status, 201);
    strictEqual(response.headers.get("Content-Range"), "*/30000");
    await api("DELETE /single?id=gte.1000");
  }
});
