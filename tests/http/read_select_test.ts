/** Columns, places in them, casts, computed fields, filters, order and windows of one relation. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answers, type Row } from "../support/handler/rows.ts";

const suite = apiSuite("tools", { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" }, {
  title: "reading tools",
});
const columns = apiSuite("columns", { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" }, {
  title: "reading columns",
});

const failure = (code: string, message: string, hint: string | null = null) => ({
  code,
  message,
  details: null,
  hint,
});
const ids = (...list: readonly number[]) => list.map((id) => ({ id }));

suite.rows("select= shows", [
  ...answers()`
    GET /tools?select=name,spec->w->>kg,spec->colors->0,tags->>0&id=lt.3&order=id
      200 [{"name":"saw","kg":"2","colors":"red","tags":"cut"},{"name":"drill","kg":"3",
        +"colors":null,"tags":"hole"}]
    GET /tools?select=spec->w->>kg::int&id=eq.1 | 200 [{"kg":2}]
    GET /tools?select=weight:spec->w->kg&id=eq.1 | 200 [{"weight":2}]
    GET /tools?select=id::text,price::double precision&id=eq.2 | 200 [{"id":"2","price":99}]
    GET /tools?select=tags->-1,id&id=eq.1 | 200 [{"tags":"wood","id":1}]
    GET /tools?select=shout&order=shout&limit=2 | 200 [{"shout":"DRILL"},{"shout":"PLANE"}]
    GET /tools?select=count | 200 [{"count":4}]
    GET /makers?select=&id=eq.1 | 200 [{"id":1,"name":"Bosk","city":"Ulm"}]
    GET /tools?select=name::nope | 400 42704 | type "nope" does not exist
    GET /tools?select=name::$$,id::$$ | 400 42704 | type "$$" does not exist
    GET /tools?select=missing | 400 42703 | column tools.missing does not exist
    GET /tools?missing=eq.1 | 400 42703 | column tools.missing does not exist
    GET /tools?order=missing | 400 42703 | column tools.missing does not exist
    GET /tools?select=name&order=nam | 400 42703 | column tools.nam does not exist |  | Perhaps you meant to reference the column "tools.name".
  `,
  ...["price.sum()", "count()", "makers(count())", "name,...makers(count())"].map((select): Row => [
    `GET /tools?select=${select}`,
    {},
    400,
    failure("SVC123", "Use of aggregate functions is not allowed"),
  ]),
]);

suite.test("select= keeps the given order of keys, and keys that are repeated", async (api) => {
  const response = await api("GET /tools?select=name,id,name,makers(id),m:maker_id&id=eq.1");
  strictEqual(
    await response.text(),
    '[{"name":"saw","id":1,"name":"saw","m":1,"makers":{"id":1}}]',
  );
});

suite.answers("filters choose")`
  GET /tools?select=id&or=(price.lt.31,and(maker_id.eq.2,tags.cs.{wood}))&order=id
    200 [{"id":1},{"id":3}]
  GET /tools?select=id&not.or=(id.eq.1,id.eq.2)&order=id | 200 [{"id":3},{"id":4}]
  GET /tools?select=id&or=(name.in.(saw,drill),spec->w->>kg.eq.3)&order=id
    200 [{"id":1},{"id":2}]
  GET /tools?select=id&price=gte.30.5&price=lt.50&order=id | 200 [{"id":1},{"id":3}]
  GET /tools?select=id&price=not.eq.99&order=id | 200 [{"id":1},{"id":3}]
  GET /tools?select=id&name=like.*l*&order=id | 200 [{"id":2},{"id":3},{"id":4}]
  GET /tools?select=id&name=like(all).{s*,*w} | 200 [{"id":1}]
  GET /tools?select=id&id=eq(any).{1,2}&order=id | 200 [{"id":1},{"id":2}]
  GET /tools?select=id&name=in.("saw",plane)&order=id | 200 [{"id":1},{"id":3}]
  GET /tools?select=id&name=match.^s&order=id | 200 [{"id":1}]
  GET /tools?select=id&bought=is.null&order=id | 200 [{"id":3},{"id":4}]
  GET /tools?select=id&bought=not.is.null&order=id | 200 [{"id":1},{"id":2}]
  GET /tools?select=id&bought=is.not_null&order=id | 200 [{"id":1},{"id":2}]
  GET /tools?select=id&price=isdistinct.45&order=id | 200 [{"id":1},{"id":2},{"id":4}]
  GET /tools?select=id&spec->w->kg=gt.2 | 200 [{"id":2}]
  GET /tools?select=id&tags=ov.{cut,hole}&order=id | 200 [{"id":1},{"id":2}]
  GET /tools?select=id&tags->>0=eq.cut | 200 [{"id":1}]
  GET /tools?select=name&shout=eq.SAW | 200 [{"name":"saw"}]
  GET /tools?select=id&id=in.() | 200 []
  GET /tools?select=id&price=not.in.()&order=id | 200 [{"id":1},{"id":2},{"id":3},{"id":4}]
  GET /tools?id=eq.abc | 400 22P02 | invalid input syntax for type integer: "abc"
  GET /tools?id=eq(any).1 | 400 22P02 | malformed array literal: "1" | Array value must start with "{" or dimension information.
  GET /tools?id=like.1 | 404 42883 | operator does not exist: integer ~~ unknown |  | No operator matches the given name and argument types. You might need to add explicit type casts.
`;

suite.rows("windows take", [
  ...answers()`
    GET /tools?select=id&order=id&limit=2&offset=1
      200 [{"id":2},{"id":3}]
      Content-Range: 1-2/*
    GET /tools?select=id&order=id
      Range: 0-0
      Prefer: count=exact
      206 [{"id":1}]
      Content-Range: 0-0/4
  `,
  ["GET /tools?select=id&limit=0", {}, 200, [], { "Content-Range": "*/*" }],
  ["GET /tools?select=id&offset=100", {}, 200, [], { "Content-Range": "*/*" }],
  ...answers()`
    GET /tools?select=id&order=price.desc.nullslast,id&limit=2 | 200 [{"id":2},{"id":3}]
    GET /tools?select=id&order=spec->w->kg.desc.nullslast&limit=1 | 200 [{"id":2}]
    GET /makers?select=name,tools(name)&order=id&tools.order=id&tools.limit=1
      200 [{"name":"Bosk","tools":[{"name":"saw"}]},{"name":"Ryo","tools":[{"name":"plane"}]},
        +{"name":"Idle","tools":[]}]
    GET /makers?select=id,tools(name)&tools.limit=-1 | 400 2201W | LIMIT must not be negative
    GET /makers?select=id,tools(name)&tools.offset=-1 | 400 2201X | OFFSET must not be negative
    GET /tools?select=name,makers(name)&makers.offset=1&id=eq.1
      200 [{"name":"saw","makers":null}]
    HEAD /makers?select=id,tools!inner(id)
      Prefer: count=exact
      200
      Content-Range: 0-1/2
  `,
]);

const capped = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbMaxRows: 2,
}, { title: "reading at most two rows" });

capped.answers("the maximum of rows cuts")`
  GET /makers?select=id,tools(id)&order=id&tools.order=id
    Prefer: count=exact
    206 [{"id":1,"tools":[{"id":1},{"id":2}]},{"id":2,"tools":[{"id":3}]}]
    Content-Range: 0-1/3
  GET /tools?select=id,makers(id)&order=id&offset=2&limit=9
    200 [{"id":3,"makers":{"id":2}},{"id":4,"makers":null}]
  GET /sheds?select=id,tools(id)&id=eq.1&tools.order=id.desc&tools.limit=1
    200 [{"id":1,"tools":[{"id":2}]}]
  GET /tools?select=id&limit=0 | 200 []
  GET /rpc/cheap_tools?below=500&select=id | 200 [{"id":1},{"id":2}]
`;

const things: readonly Row[] = [
  ["GET /things?select=Unit Price&id=eq.1", {}, 200, [{ "Unit Price": 10 }]],
  ['GET /things?select="unit.price"&"unit.price"=gt.11', {}, 200, [{ "unit.price": 21 }]],
  ['GET /things?select="say \\"hi\\""&id=eq.2', {}, 200, [{ 'say "hi"': "a,b" }]],
  ['GET /things?select=id&"say \\"hi\\""=in.("a,b")', {}, 200, ids(2)],
  ["GET /things?select=id,order&and=(order.eq.7)", {}, 200, [{ id: 1, order: 7 }]],
  ['GET /things?select=id&"order"=eq.8', {}, 200, ids(2)],
  ["GET /things?select=id&span=ov.[4,6)&order=id", {}, 200, ids(1, 2)],
  ["GET /things?select=id&span=sl.[5,9)", {}, 200, ids(1)],
  ["GET /things?select=id&span=sr.[1,5)", {}, 200, ids(2)],
  ["GET /things?select=id&span=nxr.[1,6)", {}, 200, ids(1)],
  ["GET /things?select=id&span=nxl.[4,6)", {}, 200, ids(2)],
  ["GET /things?select=id&span=adj.[9,10)", {}, 200, ids(2)],
  ["GET /things?select=id&span=cd.[1,6)", {}, 200, ids(1)],
  ['GET /things?select=id&or=(span.adj."[9,10)",id.eq.3)&order=id', {}, 200, ids(2, 3)],
  ["GET /things?select=pos->>lat,pos->lon&pos->>lat=gt.19", {}, 200, [{ lat: "20", lon: 1 }]],
  ["GET /things?select=id&order=pos->lat.desc.nullslast", {}, 200, ids(1, 2, 3)],
  ["GET /things?select=plain->n->k->1&id=eq.1", {}, 200, [{ k: 2 }]],
  ["GET /things?select=plain->>1&id=eq.2", {}, 200, [{ plain: "20" }]],
  ["GET /things?select=id&done=is.true", {}, 200, ids(1)],
  ["GET /things?select=id&done=not.is.true&order=id", {}, 200, ids(2, 3)],
  ["GET /things?select=id&done=is.unknown", {}, 200, ids(3)],
  ["GET /things?select=id&body=fts(english).cat", {}, 200, ids(1)],
  ["GET /things?select=id&body=plfts(german).Hunde", {}, 200, ids(2)],
  ["GET /things?select=id&body=phfts(english).fat cats", {}, 200, ids(1)],
  ["GET /things?select=id&search=wfts(english).rat -dog", {}, 200, ids(1)],
  ["GET /things?select=id&search=not.fts(english).cat", {}, 200, ids(2)],
  ["GET /things?select=id&indexed=fts.dog", {}, 200, ids(2)],
  ["GET /things?select=id&words=fts(english).rats", {}, 200, ids(1)],
  ["GET /things?select=id&plain->n=fts.x", {}, 200, []],
  [
    "GET /things?select=id&body=fts(nope).x",
    {},
    400,
    failure("42704", 'text search configuration "nope" does not exist'),
  ],
  [
    "GET /things?select=id&id=is.true",
    {},
    400,
    failure("42804", "argument of IS TRUE must be type boolean, not type integer"),
  ],
  ["GET /things?select=c1&order=c1.desc&id=lt.3", {}, 200, [{ c1: "two" }, { c1: "one" }]],
];
columns.rows("columns of unusual types and names", things);

columns.answers("representations of domains")`
  GET /todo?id=eq.1 | 200 [{"id":1,"label":"#0000FF","owner_id":1}]
  GET /todo?select=clr:label::text,label&id=eq.2 | 200 [{"clr":"\"#00FF00\"","label":"#00FF00"}]
  GET /todo?select=*,owners(*)&order=label&limit=1
    200 [{"id":1,"label":"#0000FF","owner_id":1,"owners":{"id":1,"shade":"#00FFFF"}}]
  GET /todo?select=id,...owners(shade)&order=owners(shade)
    200 [{"id":2,"shade":"#000100"},{"id":1,"shade":"#00FFFF"},{"id":3,"shade":null}]
  GET /owners?select=*,todo(*)&id=eq.1
    200 [{"id":1,"shade":"#00FFFF","todo":[{"id":1,"label":"#0000FF","owner_id":1}]}]
  GET /todo_view?id=eq.1 | 200 [{"id":1,"label":"#0000FF"}]
  GET /todo?select=id&label=eq.0000FF | 200 [{"id":1}]
  GET /todo?select=id&label=not.eq.0000FF | 200 [{"id":2}]
  GET /todo?select=id&label=in.(0000FF,00FF00)&order=id | 200 [{"id":1},{"id":2}]
  GET /todo?select=id&label=eq(any).{0000FF,00FF00}&order=id | 200 [{"id":1},{"id":2}]
  GET /todo?select=id&or=(label.eq.0000FF,label.is.null)&order=id | 200 [{"id":1},{"id":3}]
  GET /todo?select=id,owners(id)&owners.shade=eq.00FFFF&order=id&limit=2
    200 [{"id":1,"owners":{"id":1}},{"id":2,"owners":null}]
  GET /todo?select=id&label=isdistinct.255&order=id | 200 [{"id":2},{"id":3}]
`;

columns.test("representations keep the order of the table's columns", async (api) => {
  const response = await api("GET /todo?id=eq.1");
  deepStrictEqual(await response.text(), '[{"id":1,"label":"#0000FF","owner_id":1}]');
});
