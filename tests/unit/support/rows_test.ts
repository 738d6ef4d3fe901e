import { deepStrictEqual, throws } from "node:assert/strict";
import { answers, type Row } from "../../support/handler/rows.ts";

const headers = { Prefer: "tx=commit" };

Deno.test("answers() reads requests, their parts and the whole answers", () => {
  const rows = answers({ headers })`
    GET /tools?id=eq.1 | 200 [{"id":1}]
    // Comments are no rows.
    GET /nothing | 404 SVC205 | No such table |  | See the tables
    PATCH /tools {Accept: text/csv} as writer with {"a":[1]} | 204
    POST /tools
      +?columns=name
      as writer
      Accept: text/csv
      with {"name":"a\"b"}
      201
      Content-Length: 0
      no Location
  `;
  const body = { name: 'a"b' };
  const error = { code: "SVC205", message: "No such table", details: null, hint: "See the tables" };
  const all = { ...headers, Accept: "text/csv" };
  const expected: readonly Row[] = [
    ["GET /tools?id=eq.1", { headers }, 200, [{ id: 1 }], {}],
    ["GET /nothing", { headers }, 404, error, {}],
    ["PATCH /tools", { headers: all, as: "writer", body: { a: [1] } }, 204, undefined, {}],
    [
      "POST /tools?columns=name",
      { headers: all, as: "writer", body },
      201,
      undefined,
      { "Content-Length": "0", Location: null },
    ],
  ];
  deepStrictEqual(rows, expected);
});

for (const text of ["GET /a", "GET /a | 20", "GET /a\n  word\n  200", "GET /a | 200 [1"]) {
  Deno.test(`answers() rejects ${JSON.stringify(text)}`, () => {
    const table = Object.assign([text], { raw: [text] });
    throws(() => answers()(table));
  });
}
