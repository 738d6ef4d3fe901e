import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, apiSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const suite = apiSuite("rows_form", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "lines of JSON",
});

const type = "application/x-ndjson";

async function lines(api: Api, line: string, headers = {}) {
  const response = await api(line, { headers: { Accept: type, ...headers } });
  const text = await response.text();
  strictEqual(response.status, 200, text);
  return { text, response };
}

for (const rows of [0, 1, 100, 101, 1000, 1001, 20_000]) {
  for (const [name, query, headers] of forms(rows)) {
    suite.test(`${rows} rows ${name} are one line each`, async (api) => {
      const expected = Array.from(
        { length: rows },
        (_, n) => `{"id":${n + 1},"name":"row ${n + 1}","odd":${(n + 1) % 2 || null}}\n`,
      );
      for (let time = 0; time < 3; time++) {
        const { text } = await lines(api, `GET /numbers?id=lte.${rows}${query}`, headers);
        strictEqual(text, expected.join(""));
      }
    });
  }
}

/** The three statements: at once, after the count, as a single value. */
function forms(rows: number) {
  return [
    ["without a count", "", {}],
    ["with a count", "", { Prefer: "count=exact" }],
    ...(rows > 1000 ? [] : [["with a limit", "&limit=1000", {}] as const]),
  ] as const;
}

suite.test("Content-Range is sent where the number of rows is known", async (api) => {
  const range = async (line: string, headers = {}) =>
    (await lines(api, line, headers)).response.headers.get("Content-Range");
  strictEqual(await range("GET /parts"), null);
  strictEqual(await range("GET /parts", { Prefer: "count=exact" }), "0-2499/2500");
  strictEqual(await range("GET /parts?limit=3"), "0-2/*");
  strictEqual(await range("GET /rpc/rows_of?n=5"), "0-4/*");
  // The view runs a volatile function.
  strictEqual(await range("GET /ticking"), "0-1199/*");
});

const accepted = ["application/x-ndjson", "application/jsonl", "application/x-jsonlines"];

for (const name of accepted) {
  suite.rows(`${name} is answered under its name`, [
    [
      "GET /makers?id=lt.3",
      { headers: { Accept: name } },
      200,
      '{"id":1,"name":"maker 1"}\n{"id":2,"name":"maker 2"}\n',
      {
        "Content-Type": `${name}; charset=utf-8`,
        "Vary": "Accept, Prefer, Range, Authorization, Origin",
        "Content-Range": null,
      },
    ],
  ]);
}

suite.rows("application/x-ndjson", [
  ...answers()`
    GET /parts?id=lte.2&select=id,tags,makers(name) {Accept: application/x-ndjson}
      200 "{\"id\":1,\"tags\":null,\"makers\":{\"name\":\"maker 2\"}}\n{\"id\":2,\"tags\":[\"a\",
        +\"b\"],\"makers\":{\"name\":\"maker 3\"}}\n"
    GET /parts?id=eq.1&select=id,tags {Accept: application/x-ndjson;nulls=stripped}
      200 "{\"id\":1}\n"
      Content-Type: application/x-ndjson;nulls=stripped; charset=utf-8
    GET /rpc/words?n=2 {Accept: application/x-ndjson} | 200 "\"word 1\"\n\"word 2\"\n"
    GET /rpc/documents {Accept: application/x-ndjson} | 200 "{\"a\": 1,   \"b\": [1]}\n"
    GET /rpc/document {Accept: application/x-ndjson} | 200 "{\"a\": 1,   \"b\": [1]}\n"
    GET /rpc/items_json?n=3 {Accept: application/x-ndjson}
      200 "{\"id\" : 1, \"odd\" : 1}\n{\"id\" : 2, \"odd\" : null}\n{\"id\" : 3, \"odd\" : 1}\n"
      Content-Range: 0-0/*
    GET /rpc/items_json?n=2 {Accept: application/x-ndjson;nulls=stripped}
      200 "{\"id\":1,\"odd\":1}\n{\"id\":2}\n"
  `,
  ...answers({ headers: { Accept: "application/x-ndjson" } })`
    POST /rpc/items_jsonb with {"n":2} | 200 "{\"id\": 1, \"odd\": 1}\n{\"id\": 2, \"odd\": null}\n"
    GET /rpc/items_json?n=0
      200
      Content-Length: 0
    GET /rpc/documents_array | 200 "{\"a\": 1,   \"b\": [1]}\nnull\n\"a\"\n[1, 2]\n"
    GET /rpc/set_of_arrays | 200 "[1, 2]\n[]\n"
    GET /rpc/no_document | 200 "null\n"
    GET /documents | 200 "{\"id\":1,\"value\":{\"a\": 1,   \"b\": [1]}}\n"
    HEAD /makers
      200
      Content-Type: application/x-ndjson; charset=utf-8
      Content-Range: 0-39/*
    GET /failing?id=gte.1500 | 400 22012 | division by zero
  `,
]);

suite.test("every line is a JSON text, in order, also with embeds", async (api) => {
  const { text } = await lines(api, "GET /makers?select=id,parts(id,name)&order=id.desc");
  const rows = text.split("\n");
  strictEqual(rows.pop(), "");
  const ids = rows.map((line) => JSON.parse(line).id);
  deepStrictEqual(ids, Array.from({ length: 40 }, (_, n) => 40 - n));
});

suite.test("a function that returns an array is called once", async (api) => {
  const call = async () => {
    const response = await api("POST /rpc/counted_calls", { body: {}, headers: { Accept: type } });
    return Number(await response.text());
  };
  const first = await call();
  strictEqual(await call(), first + 1);
});
