import { deepStrictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";

const suite = serviceSuite("representations", {
  dbSchemas: ["api"],
  dbExtraSearchPath: ["public", "other"],
  dbAnonRole: "anon",
});

const shown = { Prefer: "return=representation" };

suite.answers("domains show themselves as JSON")`
  GET /todos?id=eq.1 | 200 [{"id":1,"label":"#0000FF","done":false}]
  GET /todos?id=eq.1&select=label | 200 [{"label":"#0000FF"}]
  GET /todos?id=eq.1&select=clr:label | 200 [{"clr":"#0000FF"}]
  GET /todos?id=eq.1&select=clr:label::text | 200 [{"clr":"\"#0000FF\""}]
  GET /todos?id=eq.1&select=* {Accept: text/csv} | 200 "id,label,done\n1,\"\"\"#0000FF\"\"\",f"
  GET /rpc/todos_of?first=2&order=id&limit=1 | 200 [{"id":2,"label":"#00FF00","done":false}]
  GET /rpc/one_todo | 200 {"id":1,"label":"#0000FF","done":false}
  GET /rpc/one_todo?select=label | 200 {"label":"#0000FF"}
  // Not what is no row of a relation.
  GET /rpc/favourite | 200 255
`;

suite.rows("domains read themselves from JSON", [
  ...answers({ headers: { Prefer: "return=representation" } })`
    POST /todos with {"id":9,"label":"#000010"} | 201 [{"id":9,"label":"#000010","done":false}]
    POST /todos?columns=id with {"id":9,"label":"#000010"}
      201 [{"id":9,"label":null,"done":false}]
    PATCH /todos?id=eq.2 with {"label":"#000011"} | 200 [{"id":2,"label":"#000011","done":false}]
    PUT /todos?id=eq.2&select=label with {"id":2,"label":"#000012","done":true}
      200 [{"label":"#000012"}]
    DELETE /todos?id=eq.2 | 200 [{"id":2,"label":"#00FF00","done":false}]
  `,
  // Arguments are read as PostgreSQL reads them.
  ["GET /rpc/take?c=5", {}, 200, 5],
  ["POST /rpc/take", { body: { c: 5 } }, 200, 5],
]);

suite.rows("domains read themselves from text in filters", [
  ["GET /todos?label=eq.0000FF&select=id", {}, 200, [{ id: 1 }]],
  ["GET /todos?label=eq.%230000FF&select=id", {}, 200, [{ id: 1 }]],
  ["GET /todos?label=in.(0000FF,00FF00)&select=id&order=id", {}, 200, [{ id: 1 }, { id: 2 }]],
  ["GET /todos?label=not.eq.0000FF&select=id", {}, 200, [{ id: 2 }]],
  ["GET /todos?label=gt.0000FF&select=id", {}, 200, [{ id: 2 }]],
  ["GET /todos?label=is.null&select=id", {}, 200, [{ id: 3 }]],
  ["GET /todos?order=label.desc.nullslast&select=id", {}, 200, [{ id: 2 }, { id: 1 }, { id: 3 }]],
  ["GET /rpc/todos_of?first=1&label=eq.00FF00&select=id", {}, 200, [{ id: 2 }]],
  ["DELETE /todos?label=eq.0000FF&select=id", { headers: shown }, 200, [{ id: 1 }]],
]);

const bags =
  `create extension hstore; create table bags (id int primary key, bag hstore default 'd=>1');
  create function same(bag hstore, n int default 1) returns hstore immutable language sql
    as 'select bag';
  create domain bag as hstore;
  create domain bag_list as hstore[];
  create type pair as (bag hstore, n int);
  create table kinds (id int primary key, one bag, many hstore[], list bag_list);
  create function texts(one bag, many hstore[], list bag_list) returns text[] immutable language sql
    as 'select array[one::text, many::text, list::text]';
  create function each_text(variadic bags hstore[]) returns text immutable language sql
    as 'select bags::text';
  create function bag_of(pair pair) returns hstore immutable language sql as 'select (pair).bag';
  grant select, insert, update, delete on bags, kinds to anon`;

Deno.test("hstore is written as it is shown", async () => {
  await withAdministeredHandler(bags, { dbSchemas: ["public"] }, async ({ handler }) => {
    const send = async (line: string, { headers, ...parts }: RequestParts = {}) => {
      const all = { ...parts, headers: { ...shown, ...headers } };
      const response = await handler(await buildRequest({ line, origin: "http://x" }, all));
      return await response.json();
    };
    const rows = [
      { id: 1, bag: { a: "1", b: null, 'q"x': "back\\slash", "": "ü\n" } },
      { id: 2, bag: {} },
      { id: 3, bag: null },
    ];
    deepStrictEqual(await send("POST /bags", { body: rows }), rows);
    deepStrictEqual(await send("POST /bags", { body: { id: 4, bag: "x=>y" } }), [
      { id: 4, bag: { x: "y" } },
    ]);
    const missing = { Prefer: "return=representation, missing=default" };
    deepStrictEqual(
      await send("POST /bags?columns=id,bag", { body: [{ id: 5 }], headers: missing }),
      [{ id: 5, bag: { d: "1" } }],
    );
    deepStrictEqual(await send("PATCH /bags?id=eq.4", { body: { bag: { z: "1" } } }), [
      { id: 4, bag: { z: "1" } },
    ]);
    const patch = { "Content-Type": "application/merge-patch+json" };
    deepStrictEqual(
      await send("PATCH /bags?id=eq.4", { body: '{"bag":{"k":"v"}}', headers: patch }),
      [{ id: 4, bag: { k: "v" } }],
    );
    for (const bag of [{ a: "1", b: null }, {}, null, "x=>y"]) {
      const shownBag = bag === "x=>y" ? { x: "y" } : bag;
      deepStrictEqual(await send("POST /rpc/same", { body: { bag } }), shownBag);
      deepStrictEqual(await send("POST /rpc/same", { body: [{ bag, n: 2 }] }), shownBag);
    }
    const kinds = [
      { id: 1, one: { a: "1", b: null }, many: [{ a: "1" }, null, {}], list: [{ 'q"': "\\" }] },
      { id: 2, one: null, many: null, list: [] },
    ];
    deepStrictEqual(await send("POST /kinds", { body: kinds }), kinds);
    const texts = { id: 3, one: "a=>1", many: '{"a=>1",NULL}', list: ["a=>1"] };
    const read = { id: 3, one: { a: "1" }, many: [{ a: "1" }, null], list: [{ a: "1" }] };
    deepStrictEqual(await send("POST /kinds", { body: texts }), [read]);
    const { id: _, ...changed } = kinds[0]!;
    for (const headers of [{}, patch]) {
      const body = JSON.stringify(changed);
      deepStrictEqual(await send("PATCH /kinds?id=eq.3", { body, headers }), [{
        id: 3,
        ...changed,
      }]);
    }
    const { id: __, ...given } = texts;
    const list = '{"\\"a\\"=>\\"1\\""}';
    deepStrictEqual(await send("POST /rpc/texts", { body: { ...given, many: [{ a: 1 }] } }), [
      '"a"=>"1"',
      list,
      list,
    ]);
    deepStrictEqual(await send("POST /rpc/each_text", { body: { bags: [{ a: 1 }] } }), list);
    deepStrictEqual(await send("GET /rpc/each_text?bags=a%3D%3E1"), list);
    // PostgreSQL reads composite values; it reads no object as hstore inside of them.
    deepStrictEqual(await send("POST /rpc/bag_of", { body: { pair: { bag: "a=>1" } } }), {
      a: "1",
    });
    deepStrictEqual(await send("POST /rpc/bag_of", { body: { pair: { bag: { a: 1 } } } }), {
      code: "42601",
      details: null,
      hint: null,
      message: "syntax error in hstore: unexpected end of string",
    });
  });
});
