/** Columns, places in them, casts, computed fields, filters, order and windows of one relation. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("tools", { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" }, {
  title: "reading tools",
});
const columns = serviceSuite("columns", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
}, {
  title: "reading columns",
});

const failure = (code: string, message: string, hint: string | null = null) =>
  errorBody(`${code} | ${message} |  | ${hint ?? ""}`);
const ids = (...list: readonly number[]) => list.map((id) => ({ id }));

suite.rows("select= shows", [
  ...answers()`
    GET /tools?select=name::$$,id::$$ | 400 42704 | type "$$" does not exist
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

const capped = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbMaxRows: 2,
}, { title: "reading at most two rows" });

capped.answers("the maximum of rows cuts")`
  GET /makers?select=id,tools(id)&order=id&tools.order=id {Prefer: count=exact}
    206 [{"id":1,"tools":[{"id":1},{"id":2}]},{"id":2,"tools":[{"id":3}]}]
    Content-Range: 0-1/3
  GET /tools?select=id,makers(id)&order=id&offset=2&limit=9
    200 [{"id":3,"makers":{"id":2}},{"id":4,"makers":null}]
  GET /sheds?select=id,tools(id)&id=eq.1&tools.order=id.desc&tools.limit=1
    200 [{"id":1,"tools":[{"id":2}]}]
  GET /rpc/cheap_tools?below=500&select=id | 200 [{"id":1},{"id":2}]
`;

const things: readonly Row[] = [
  ["GET /things?select=Unit Price&id=eq.1", {}, 200, [{ "Unit Price": 10 }]],
  ['GET /things?select="unit.price"&"unit.price"=gt.11', {}, 200, [{ "unit.price": 21 }]],
  ['GET /things?select="say \\"hi\\""&id=eq.2', {}, 200, [{ 'say "hi"': "a,b" }]],
  ['GET /things?select=id&"say \\"hi\\""=in.("a,b")', {}, 200, ids(2)],
  ["GET /things?select=id,order&and=(order.eq.7)", {}, 200, [{ id: 1, order: 7 }]],
  ['GET /things?select=id&"order"=eq.8', {}, 200, ids(2)],
  ["GET /things?select=plain->n->k->1&id=eq.1", {}, 200, [{ k: 2 }]],
  ["GET /things?select=plain->>1&id=eq.2", {}, 200, [{ plain: "20" }]],
  ["GET /things?select=id&body=fts(english).cat", {}, 200, ids(1)],
  ["GET /things?select=id&body=plfts(german).Hunde", {}, 200, ids(2)],
  ["GET /things?select=id&body=phfts(english).fat cats", {}, 200, ids(1)],
  ["GET /things?select=id&plain->n=fts.x", {}, 200, []],
  ["GET /things?select=id&plain->n->k=eq.[1,2]", {}, 200, ids(1)],
  ["GET /things?select=id&plain->0=in.(10,20)", {}, 200, ids(2)],
  ["GET /things?select=id&plain->n=not.is.null", {}, 200, ids(1)],
  ["GET /things?select=id&plain->n=cs.{}", {}, 200, ids(1)],
  ["GET /things?select=id&or=(plain->1.gt.10,id.eq.3)&order=id", {}, 200, ids(2, 3)],
  ["GET /things?select=id&id=lt.3&order=plain->0.nullslast", {}, 200, ids(2, 1)],
  ["GET /things?select=c1&order=c1.desc&id=lt.3", {}, 200, [{ c1: "two" }, { c1: "one" }]],
];
columns.rows("columns of unusual types and names", things);

columns.answers("representations of domains")`
  GET /todo?select=clr:label::text,label&id=eq.2 | 200 [{"clr":"\"#00FF00\"","label":"#00FF00"}]
  GET /todo?select=*,owners(*)&order=label&limit=1
    200 [{"id":1,"label":"#0000FF","owner_id":1,"owners":{"id":1,"shade":"#00FFFF"}}]
  GET /todo?select=id,...owners(shade)&order=owners(shade)
    200 [{"id":2,"shade":"#000100"},{"id":1,"shade":"#00FFFF"},{"id":3,"shade":null}]
  GET /owners?select=*,todo(*)&id=eq.1
    200 [{"id":1,"shade":"#00FFFF","todo":[{"id":1,"label":"#0000FF","owner_id":1}]}]
  GET /todo_view?id=eq.1 | 200 [{"id":1,"label":"#0000FF"}]
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
