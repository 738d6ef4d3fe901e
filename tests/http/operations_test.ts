/** `operations`: requests that are permitted, and attempts to send others as one of them. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";
import { batchOf, get, patch, post } from "../support/handler/batch.ts";
import { linesOf, readRequest } from "../support/handler/rows.ts";

const operations = `# Reads.
list    anon, writer  GET /products?select=id,name&price=gte.*&order=id&limit=..2&offset=..10
one     anon          GET /products?select=id,name,price&id=eq.*
some    anon          GET /products?select=id&id=in.(*..3)&order=id
either  anon          GET /products?or=(id.eq.*,name.like.*)&select=id&order=id
cheap   anon          GET /products?select=id&price=lt.5
lines   anon          GET /orders?select=id,lines(quantity)&lines.limit=..1&lines.order=quantity&order=id
csv     anon          GET /products?select=id&order=id
    Accept: text/csv
counted anon          GET /products?select=name&limit=..1
    Prefer: count=exact
search  anon          GET /rpc/search?words=*&select=id
find    anon          POST /rpc/search?select=id {words, page?}
echo    anon          POST /rpc/echo *
pick    anon          POST /rpc/pick {words="saw"}
    Content-Type: application/x-www-form-urlencoded
total   anon          GET /rpc/total?order_id=*
names   anon          GET /rpc/search?words=*&distinct=name&select=name
three   writer        PATCH /orders?id=eq.3 {note, status=3}
pages   anon          GET /products?select=id,price&order=id&limit=2&after=*

# Writes.
place   writer        POST /orders?columns=note,lines(product_id,quantity)&select=id {note, lines[]{product_id, quantity?}}
    Prefer: return=representation
cancel  writer        PATCH /orders?id=eq.*&status=eq.open {status="cancelled", note?}
note    writer        PATCH /orders?id=eq.* {note}
upsert  writer        POST /products?on_conflict=id []{id, name}
    Prefer: resolution=merge-duplicates
replace writer        PUT /products?id=eq.* {id, name, price, doc}
few     writer        PATCH /orders?id=gt.* {note}
    Prefer: handling=strict, max-affected=5
bulk    writer        POST /products?columns=id,name []{id, name?}
remove  writer        DELETE /lines?order_id=eq.*&product_id=eq.*
doc     writer        PATCH /products?id=eq.* [{"operator":"set","number":1,"path":["name"],"value":["name"],"kind":"string"}]
    Content-Type: application/merge-patch+json
`;

const config = {
  dbSchemas: ["api", "v2"],
  dbAnonRole: "anon",
  batchMaxOperations: 10,
  serverQueryMethod: true,
  dbPlanEnabled: true,
  dbAggregatesEnabled: true,
  clientErrorVerbosity: "advise",
  operations,
} as const;

const suite = apiSuite("operations", config, { title: "operations" });

/** Requests that are one of the operations. */
const permitted = linesOf`
  GET /products?select=id,name&price=gte.1&order=id&limit=2
  GET /products?select=id,name&price=gte.1&order=id&limit=1&offset=10
  // The grammar ignores text after a filter's name.
  GET /products?select=id,name&price::int=gte.1&order=id&limit=2
  GET /products?limit=0&order=id&price=gte.1&select=id,name
  GET /products?select=%20id,%20name&price=gte.1&order=id&limit=1
  GET /products?select=id,name&price=gte.1&order=id&limit=9&limit=2
  GET /products?select=id,name&select=secret&price=gte.1&order=id&limit=2
  GET /products?select=id,name&price=gte.1&order=id&limit=2&junk
  GET /products?select=id,name&price=gte.1&order=id {Range: 0-1}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 as writer
  GET /prod%75cts?select=id,name&price=gte.1&order=id&limit=2
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept: application/json}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept: text/html,*/*;q=0.8}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept-Profile: api}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Content-Profile: v2}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Prefer: junk}
  HEAD /products?select=id,name&price=gte.1&order=id&limit=2
  OPTIONS /products
  GET /
  GET /products?id=eq.1&select=id,name,price
  GET /products?select=id&id=in.(1,2,3)&order=id
  GET /products?select=id&id=in.()&order=id
  GET /products?or=(id.eq.1,name.like."a,b")&select=id&order=id
  GET /products?or=(%20id.eq.1%20,name.like.x*)&select=id&order=id
  GET /products?select=id&price=lt.5
  GET /orders?select=id,lines(quantity)&lines.limit=1&lines.order=quantity&order=id
  GET /orders?order=id&lines.order=quantity&lines.limit=1&select=id,lines(quantity)
  GET /products?select=id&order=id {Accept: text/csv}
  GET /products?select=name&limit=1 {Prefer: count=exact}
  GET /rpc/search?words=saw&select=id
  HEAD /rpc/search?words=saw&select=id
  POST /rpc/search?select=id with {"words":"saw"}
  POST /rpc/search?select=id with {"page":2,"words":"saw"}
  POST /rpc/echo with {"any":[1]}
  POST /rpc/echo with [1]
  GET /rpc/total?order_id=1
  GET /rpc/search?words=saw&distinct=name&select=name
  PATCH /orders?id=eq.3 as writer with {"note":"x","status":3}
  QUERY /products {Content-Type: application/x-www-form-urlencoded}
  POST /orders?columns=note,lines(product_id,quantity)&select=id {Prefer: return=representation} as writer
    + with {"note":"x","lines":[{"product_id":1}]}
  PATCH /orders?id=eq.1&status=eq.open as writer with {"status":"cancelled"}
  PATCH /orders?id=eq.1 as writer with {"note":"x"}
  PATCH /orders?id=gt.0 {Prefer: handling=strict, max-affected=5} as writer with {"note":"x"}
  // It counts if it is strict.
  PATCH /orders?id=eq.1 {Prefer: max-affected=9} as writer with {"note":"x"}
  POST /products?on_conflict=id {Prefer: resolution=merge-duplicates} as writer with [{"id":1,"name":"x"}]
  POST /products?columns=name,id as writer with [{"id":50,"name":"x"},{"id":51}]
  PUT /products?id=eq.1 as writer with {"id":1,"name":"x","price":1,"doc":{}}
  DELETE /lines?order_id=eq.1&product_id=eq.1 as writer
  PATCH /products?id=eq.1 {Content-Type: application/merge-patch+json} as writer with {"name":"x"}
`;

/** Requests that resemble an operation. */
const refused = linesOf`
  // Columns, embeds, casts.
  GET /products?select=id,name,price&price=gte.1&order=id&limit=2
  GET /products?select=name,id&price=gte.1&order=id&limit=2
  GET /products?select=id,name::int&price=gte.1&order=id&limit=2
  GET /products?select=id,n:name&price=gte.1&order=id&limit=2
  GET /products?select=id,name,lines(*)&price=gte.1&order=id&limit=2
  GET /products?select=*&price=gte.1&order=id&limit=2
  GET /products?price=gte.1&order=id&limit=2
  GET /products?select&select=id,name&price=gte.1&order=id&limit=2
  GET /products?select=&price=gte.1&order=id&limit=2
  GET /products?selec%74=id,price&select=id,name&price=gte.1&order=id&limit=2
  GET /orders?select=id,lines!inner(quantity)&lines.limit=1&lines.order=quantity&order=id
  GET /orders?select=id,...lines(quantity)&lines.limit=1&lines.order=quantity&order=id
  GET /orders?select=id,lines(quantity,products(*))&lines.limit=1&lines.order=quantity&order=id
  // Filters.
  GET /products?select=id,name&price=gt.1&order=id&limit=2
  GET /products?select=id,name&price=not.gte.1&order=id&limit=2
  GET /products?select=id,name&price=gte(any).{1}&order=id&limit=2
  GET /products?select=id,name&price=gte(col).id&order=id&limit=2
  GET /products?select=id,name&price=gte.1&price=lt.9&order=id&limit=2
  GET /products?select=id,name&order=id&limit=2
  GET /products?select=id,name&id=gte.1&order=id&limit=2
  GET /products?select=id,name&doc->price=gte.1&order=id&limit=2
  GET /products?select=id,name&price=gte.1&and=(id.gt.0)&order=id&limit=2
  GET /products?select=id,name&and=(price.gte.1)&order=id&limit=2
  GET /products?select=id,name,price&id=eq.1&id=eq.2
  GET /products?select=id,name,price&id=in.(1)
  GET /products?select=id,name,price&id=is.null
  GET /products?select=id,name,price&id=eq(any).{1,2}
  GET /products?select=id&id=in.(1,2,3,4)&order=id
  GET /products?select=id&id=in.(1,2,3)&id=in.(1)&order=id
  GET /products?and=(id.eq.1,name.like.x)&select=id&order=id
  GET /products?not.or=(id.eq.1,name.like.x)&select=id&order=id
  GET /products?or=(id.eq.1,name.like.x,price.gt.0)&select=id&order=id
  GET /products?or=(id.eq.1,or(name.like.x))&select=id&order=id
  GET /products?or=(id.eq.1,name.ilike.x)&select=id&order=id
  GET /products?or=(id.eq.1,name.not.like.x)&select=id&order=id
  GET /products?or=(name.like.x,id.eq.1)&select=id&order=id
  GET /products?select=id&price=lt.6
  GET /products?select=id&price=lt.5.0
  GET /products?select=id&price=lt.%205
  // Order, limits.
  GET /products?select=id,name&price=gte.1&order=id.desc&limit=2
  GET /products?select=id,name&price=gte.1&order=name&limit=2
  GET /products?select=id,name&price=gte.1&order=id,name&limit=2
  GET /products?select=id,name&price=gte.1&limit=2
  GET /products?select=id,name&price=gte.1&order=id.asc&limit=2
  GET /products?select=id,name&price=gte.1&order=id&limit=3
  GET /products?select=id,name&price=gte.1&order=id
  GET /products?select=id,name&price=gte.1&order=id&limit=2&limit=3
  GET /products?select=id,name&price=gte.1&order=id&limit=99999999999999999999999
  GET /products?select=id,name&price=gte.1&order=id&limit=2&offset=11
  GET /products?select=id,name&price=gte.1&order=id {Range: 0-2}
  GET /products?select=id,name&price=gte.1&order=id {Range: 11-12}
  GET /products?select=id,name,price&id=eq.1&limit=1
  GET /products?select=id,name,price&id=eq.1&offset=1
  GET /products?select=id,name,price&id=eq.1 {Range: 0-0}
  GET /orders?select=id,lines(quantity)&lines.limit=2&lines.order=quantity&order=id
  GET /orders?select=id,lines(quantity)&lines.limit=1&lines.offset=1&lines.order=quantity&order=id
  GET /orders?select=id,lines(quantity)&lines.order=quantity&order=id
  GET /orders?select=id,lines(quantity)&lines.limit=1&lines.order=quantity&order=id&limit=1
  GET /products?select=id,price&order=id&limit=3&after=WzEsIngiLFsiMSJdXQ
  GET /products?select=id,price&order=id&limit=2&before=WzEsIngiLFsiMSJdXQ
  GET /products?select=id,price&order=id&limit=2
  // Headers, methods, paths, roles.
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept: text/csv}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept: text/csv,*/*}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept: application/vnd.svc.plan+json}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept: application/vnd.svc.object+json}
  GET /products?select=id&order=id
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Accept-Profile: v2}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Prefer: count=exact}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Prefer: tx=commit}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Prefer: handling=strict}
  GET /products?select=id,name&price=gte.1&order=id&limit=2 {Prefer: timezone=UTC}
  GET /products?select=name&limit=1
  GET /products?select=name&limit=1 {Prefer: count=exact-5}
  GET /products?select=name&limit=1 {Prefer: count=planned, count=exact}
  GET /lines?select=id,name&price=gte.1&order=id&limit=2
  GET /orders
  GET /nix
  GET /products%2f?select=id,name&price=gte.1&order=id&limit=2
  GET /products?select=id,name,price&id=eq.1 as writer
  DELETE /products?id=eq.1
  OPTIONS /lines
  // Calls.
  GET /rpc/search?words=saw&secret=x&select=id
  GET /rpc/search?words=saw
  GET /rpc/search?words=saw&page=2&select=id
  GET /rpc/search?words=eq.saw&select=id
  GET /rpc/search?words=saw&select=id&name=eq.saw
  GET /rpc/search?words=saw&words=axe&select=id
  GET /rpc/total?order_id=1 as writer
  POST /rpc/search?select=id with {"words":"saw","secret":"x"}
  POST /rpc/search?select=id with {}
  POST /rpc/search?select=id with {"page":1}
  POST /rpc/search with {"words":"saw"}
  POST /rpc/search?select=id&columns=words with {"words":"saw"}
  POST /rpc/total with {"order_id":1}
  // Another overload takes the members of the body.
  POST /rpc/echo with {"secret":1}
  POST /rpc/echo with {}
  GET /rpc/echo
  GET /rpc/search?words=saw&distinct=price&select=name
  GET /rpc/search?words=saw&distinct=*&select=name
  PATCH /orders?id=eq.3 as writer with {"note":"x","status":3.5}
  PATCH /orders?id=eq.3 as writer with {"note":"x","status":"3"}
  // Bodies.
  POST /orders?columns=note,lines(product_id,quantity)&select=id {Prefer: return=representation} as writer
    + with {"note":"x","lines":[{"product_id":1,"price":0}]}
  POST /orders?columns=note,lines(product_id,quantity)&select=id {Prefer: return=representation} as writer
    + with {"note":"x","lines":{"product_id":1}}
  POST /orders?columns=note,lines(product_id,quantity)&select=id {Prefer: return=representation} as writer
    + with {"note":"x","lines":[],"secret":1}
  POST /orders?columns=note,lines(product_id,quantity)&select=id {Prefer: return=representation} as writer
    + with {"lines":[]}
  POST /orders?columns=note,lines(product_id,quantity),secret&select=id {Prefer: return=representation} as writer
    + with {"note":"x","lines":[]}
  POST /orders?columns=note,lines(product_id,quantity)&select=id as writer with {"note":"x","lines":[]}
  POST /orders as writer with {"note":"x"}
  PATCH /orders?id=eq.1&status=eq.open as writer with {"status":"paid"}
  PATCH /orders?id=eq.1&status=eq.open as writer with {"status":"cancelled","secret":"x"}
  PATCH /orders?id=eq.1&status=eq.open as writer with {"status":["cancelled"]}
  PATCH /orders?id=eq.1&status=eq.paid as writer with {"status":"cancelled"}
  PATCH /orders?id=eq.1&status=eq.open&columns=status as writer with {"status":"cancelled"}
  PATCH /orders?id=eq.1 as writer with {"note":"x","status":"paid"}
  PATCH /orders?id=eq.1 as writer with {"secret":"x"}
  PATCH /orders?id=eq.1 as writer with [{"note":"x"}]
  POST /products?on_conflict=id {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  OPTIONS /lines/$query
  PATCH /orders?id=gt.0 as writer with {"note":"x"}
  PATCH /orders?id=gt.0 {Prefer: handling=strict, max-affected=6} as writer with {"note":"x"}
  PATCH /orders?id=gt.0 {Prefer: handling=strict} as writer with {"note":"x"}
  PATCH /orders as writer with {"note":"x"}
  PATCH /orders?id=eq.1&order=id&limit=1 as writer with {"note":"x"}
  PATCH /orders?on=id as writer with [{"id":1,"note":"x"}]
  PATCH /orders?id=eq.1&select=secret {Prefer: return=representation} as writer with {"note":"x"}
  PATCH /orders?id=eq.1 {Prefer: return=representation} as writer with {"note":"x"}
  POST /products?on_conflict=id {Prefer: resolution=ignore-duplicates} as writer with [{"id":1,"name":"x"}]
  POST /products?on_conflict=name {Prefer: resolution=merge-duplicates} as writer with [{"id":1,"name":"x"}]
  POST /products?on_conflict=id {Prefer: resolution=merge-duplicates} as writer with [{"id":1,"name":"x","price":1}]
  POST /products?on_conflict=id {Prefer: resolution=merge-duplicates, missing=default} as writer
    + with [{"id":1,"name":"x"}]
  POST /products?on_conflict=id&on_conflict.where=(id.gt.1) {Prefer: resolution=merge-duplicates} as writer
    + with [{"id":1,"name":"x"}]
  PUT /products?id=eq.1 as writer with {"id":1,"name":"x","price":1}
  DELETE /lines?order_id=eq.1 as writer
  DELETE /lines?order_id=eq.1&product_id=neq.1 as writer
  DELETE /lines?order_id=eq.1&product_id=eq.1&select=quantity {Prefer: return=representation} as writer
  PATCH /products?id=eq.1 {Content-Type: application/merge-patch+json} as writer with {"name":null}
  PATCH /products?id=eq.1 {Content-Type: application/merge-patch+json} as writer with {"doc":{"a":null}}
  PATCH /products?id=eq.1 {Content-Type: application/json-patch+json} as writer
    + with [{"op":"remove","path":"/name"}]
`;

/** Requests that cannot be read, with the code of their error. */
const unreadable = [
  ["SVC103", "GET /products?select=id,name&price=gte.1&order=id&limit=-1"],
  ["SVC195", "GET /products?select=id,name&price=gte.1&order=id&limit=2&lock="],
  ["SVC100", "GET /products?select=id,name%00&price=gte.1&order=id&limit=2"],
  ["SVC100", "GET /products?select=id,name&price=gte.1%00&order=id&limit=2"],
  ["SVC125", "GET /products/?select=id,name&price=gte.1&order=id&limit=2"],
  ["SVC125", "GET //products?select=id,name&price=gte.1&order=id&limit=2"],
  ["SVC125", "GET /products%00?select=id,name&price=gte.1&order=id&limit=2"],
  ["SVC125", "OPTIONS /orders/"],
  ["SVC106", "GET /products?select=id,name {Accept-Profile: nix}"],
  ["SVC157", 'POST /products?on_conflict=id as writer with [{"id":1,"name":"x"}]'],
] as const;

async function errorOf(response: Response): Promise<readonly unknown[]> {
  const body = await response.json();
  return [response.status, body.code, body.details, body.hint];
}

for (const line of refused) {
  suite.test(`refused: ${line}`, async (api) => {
    const [head, parts] = readRequest(line);
    // The first request is planned, the second one cached.
    for (let time = 0; time < 3; time++) {
      const [status, code, details, hint] = await errorOf(await api(head, parts));
      deepStrictEqual([status, code], [403, "SVC190"]);
      const isAnonymous = parts.as === undefined;
      strictEqual(typeof details, isAnonymous ? "object" : "string");
      if (isAnonymous) strictEqual(hint, null);
    }
  });
}

for (const [code, line] of unreadable) {
  suite.test(`${code}: ${line}`, async (api) => {
    const [, found] = await errorOf(await api(...readRequest(line)));
    strictEqual(found, code);
  });
}

for (const line of permitted) {
  suite.test(`permitted: ${line}`, async (api) => {
    const [head, parts] = readRequest(line);
    const body = head.startsWith("QUERY") ? { body: inQuery } : {};
    for (let time = 0; time < 3; time++) {
      const response = await api(head, { ...parts, ...body });
      strictEqual(response.status < 300, true, await response.text());
    }
  });
}

const inQuery = "select=id,name&price=gte.1&order=id&limit=2";
const formType = { "Content-Type": "application/x-www-form-urlencoded" };

suite.test("values that a cached form does not hold are compared", async (api) => {
  // Each request has the shape of the one before.
  const lines = [
    // An argument that no clause reads, although it has the name of one.
    ["GET /rpc/search?words=saw&distinct=,&select=name", 403],
    ["GET /rpc/search?words=saw&distinct=name&select=name", 200],
    ["GET /rpc/search?words=axe&distinct=name&select=name", 200],
    ["GET /rpc/search?words=saw&distinct=price&select=name", 403],
    ["GET /products?select=id&price=lt.5", 200],
    ["GET /products?select=id&price=lt.6", 403],
    ["GET /products?select=id,name&price=gte.1&order=id&offset=9", 403],
    ["GET /products?select=id,name&price=gte.1&order=id&limit=2&offset=10", 200],
    ["GET /products?select=id,name&price=gte.1&order=id&limit=2&offset=11", 403],
    ["GET /products?select=id,name&price=gte.1&order=id&limit=2&offset=9", 200],
  ] as const;
  for (let time = 0; time < 3; time++) {
    for (const [line, status] of lines) strictEqual((await api(line)).status, status, line);
  }
});

suite.test("query requests are GET requests", async (api) => {
  const known = { headers: formType, body: inQuery };
  strictEqual((await api("POST /products/$query", known)).status, 200);
  const other = { headers: formType, body: "select=id,price" };
  for (const line of ["QUERY /products", "POST /products/$query"]) {
    deepStrictEqual((await errorOf(await api(line, other)))[1], "SVC190");
  }
  // Parameters of the URL and of the body are one query string.
  const rest = { headers: formType, body: inQuery.replace("select=id,name&", "") };
  strictEqual((await api("QUERY /products?select=id,name", rest)).status, 200);
  deepStrictEqual((await errorOf(await api("QUERY /products?select=price", known)))[1], "SVC190");
  const json = { headers: { "Content-Type": "application/json" }, body: '{"order_id":1}' };
  deepStrictEqual((await errorOf(await api("QUERY /rpc/total", json)))[1], "SVC190");
});

suite.test("a long query request of another path is refused without names", async (api) => {
  const parts = { headers: formType, body: `id=eq.${"1".repeat(300_000)}` };
  for (const path of ["/nix", "/product", "/rpc/ech"]) {
    const answer = await errorOf(await api(`QUERY ${path}`, parts));
    deepStrictEqual(answer, [403, "SVC190", null, null]);
  }
});

suite.test("spellings of members are compared as PostgreSQL reads them", async (api) => {
  const bodies = [
    ['{"\\u0073tatus":"cancelled"}', 204],
    ['{"status":"c\\u0061ncelled"}', 204],
    ['{"status":"paid","status":"cancelled"}', 204],
    ['{"status":"cancelled","status":"paid"}', 403],
    ['{"status":"cancelled","\\u0073tatus":"paid"}', 403],
    ['[{"status":"cancelled"}]', 403],
    ['[{"status":"cancelled"},{"status":"paid"}]', 403],
    ["{}", 403],
    ["[]", 403],
    ["null", 403],
    ['"cancelled"', 403],
    ['{"status":"cancelled"', 400],
  ] as const;
  const headers = { "Content-Type": "application/json" };
  for (const [body, status] of bodies) {
    const line = "PATCH /orders?id=eq.1&status=eq.open";
    const response = await api(line, { headers, body, as: "writer" });
    strictEqual(response.status, status, `${body}: ${await response.text()}`);
  }
});

suite.test("all values of a variadic parameter are compared", async (api) => {
  const bodies = [["words=saw", 200], ["words=axe&words=saw", 403], ["words=axe", 403]] as const;
  for (const [body, status] of bodies) {
    strictEqual((await api("POST /rpc/pick", { headers: formType, body })).status, status, body);
  }
});

suite.test("a member that occurs twice has its last value in the database, too", async (api) => {
  const headers = { "Content-Type": "application/json", Prefer: "return=representation" };
  const body = '{"note":"first","note":"last","lines":[]}';
  const line = "POST /orders?columns=note,lines(product_id,quantity)&select=id";
  strictEqual((await api(line, { headers, body, as: "writer" })).status, 201);
});

suite.test("each operation of a batch must be known", async (api) => {
  const one = get("/products?id=eq.1&select=id,name,price");
  strictEqual((await api("POST /", batchOf([one, one]))).status, 200);
  const other = get("/products?id=eq.1&select=id,doc");
  const [status, code] = await errorOf(await api("POST /", batchOf([one, other])));
  deepStrictEqual([status, code], [403, "SVC190"]);
  const note = (id: string) => patch(`/orders?id=eq.${id}`, { note: "x" });
  const asWriter = { as: "writer" };
  strictEqual((await api("POST /", batchOf([note("1"), note("2")], asWriter))).status, 200);
  const secret = patch("/orders?id=eq.1", { secret: "x" });
  deepStrictEqual((await errorOf(await api("POST /", batchOf([secret], asWriter))))[1], "SVC190");
});

suite.test("members of references are members of the body", async (api) => {
  const source = get("/products?select=id,name&price=gte.1&order=id&limit=2", { id: "a" });
  const rows:
    readonly (readonly [line: string, body: unknown, refs: unknown, code: string | null])[] = [
      ["/orders?id=eq.1", {}, { "/note": "a#/0/name" }, null],
      ["/orders?id=eq.1", { note: "x" }, { "/secret": "a#/0/name" }, "SVC190"],
      ["/orders?id=eq.1", {}, { "/note": "a#/0/name", "/status": "a#/0/name" }, "SVC190"],
      // A literal value, which a reference need not have.
      ["/orders?id=eq.3", { note: "x" }, { "/status": "a#/0/id" }, "SVC190"],
      ["/orders?id=eq.1&status=eq.open", {}, { "/status": "a#/0/name" }, "SVC190"],
      ["/orders?id=eq.1&status=eq.open", { status: "cancelled" }, { "/note": "a#/0/name" }, null],
    ];
  for (const [line, body, refs, expected] of rows) {
    const parts = batchOf([source, patch(line, body, { id: "b", refs })], { as: "writer" });
    const response = await api("POST /", parts);
    const { code = null } = await response.json();
    strictEqual(code, expected, `${line} ${JSON.stringify(refs)}`);
  }
});

suite.test("references read answers and keys of writes", async (api) => {
  const minimal = patch("/orders?id=eq.2", { note: "y" }, { id: "a" });
  const body = { note: "y", lines: [] };
  const url = "/orders?columns=note,lines(product_id,quantity)&select=id";
  const headers = { Prefer: "return=representation" };
  const returning = post(url, body, { id: "a", headers });
  const rows = [
    [minimal, "id", null],
    [minimal, "secret", "SVC142"],
    [minimal, "note", "SVC142"],
    [returning, "id", null],
    [returning, "secret", "SVC142"],
  ] as const;
  for (const [source, column, expected] of rows) {
    const target = patch("/orders?id=eq.1", {}, { id: "b", refs: { "/note": `a#/${column}` } });
    const response = await api("POST /", batchOf([source, target], { as: "writer" }));
    const { code = null } = await response.json();
    strictEqual(code, expected, `${source["url"]} ${column}`);
  }
});

suite.test("members of a long body are compared", async (api) => {
  const name = "x".repeat(50_000);
  const rows = Array.from({ length: 100 }, (_, at) => ({ id: 100 + at, name }));
  const line = "POST /products?columns=id,name";
  strictEqual((await api(line, { as: "writer", body: rows })).status, 201);
  const others = [...rows, { id: 99, name, price: 1 }];
  strictEqual((await api(line, { as: "writer", body: others })).status, 403);
});

suite.test("the nearest operation is named to a client with a token", async (api) => {
  const texts = [
    [
      "GET /products?select=id,name&price=gte.1&order=id&limit=3",
      undefined,
      "The nearest operation is list: limit=..3 instead of limit=..2&offset=..10",
    ],
    [
      "PATCH /orders?id=eq.1",
      { secret: "x" },
      "The nearest operation is note: id=eq.* {secret} instead of id=eq.* {note}",
    ],
    [
      "PATCH /orders?id=eq.1&status=eq.open",
      { status: "paid" },
      'The nearest operation is cancel: status=eq.* {status} instead of status=eq.open {status="cancelled", note?}',
    ],
    ["GET /v", undefined, "No operation has this path"],
  ] as const;
  for (const [line, body, text] of texts) {
    const parts = { as: "writer", ...body === undefined ? {} : { body } };
    strictEqual((await errorOf(await api(line, parts)))[2], text);
  }
});
