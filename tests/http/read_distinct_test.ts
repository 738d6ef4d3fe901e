/** Distinct rows, and the first row of each group in the requested order. */
import { serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const suite = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
}, { title: "distinct tools" });

suite.answers("distinct rows")`
  GET /makers?select=city&distinct=*&order=city
    200 [{"city":"Kobe"},{"city":"Ulm"},{"city":null}]
  GET /tools?select=maker_id&distinct=*&order=maker_id {Prefer: count=exact}
    200 [{"maker_id":1},{"maker_id":2},{"maker_id":null}]
    Content-Range: 0-2/3
  GET /tools?select=maker_id&distinct=*&order=maker_id&limit=1&offset=1 {Prefer: count=exact}
    206 [{"maker_id":2}]
    Content-Range: 1-1/3
  GET /tools?select=n:name.length().mod(2)&distinct=*&order=n.desc | 200 [{"n":1}]
  GET /tools?select=unit:spec->w->>unit&distinct=*&order=unit | 200 [{"unit":"kg"},{"unit":null}]
  GET /tools?select=maker_id,makers(name)&distinct=*&order=maker_id&limit=2
    200 [{"maker_id":1,"makers":{"name":"Bosk"}},{"maker_id":2,"makers":{"name":"Ryo"}}]
  GET /tools?select=...makers(city)&distinct=*&price=eq.99 {Prefer: count=exact}
    200 [{"city":"Ulm"}]
    Content-Range: 0-0/1
  GET /makers?select=id,tools(maker_id,price)&tools.distinct=*&tools.order=price&order=id
    200 [{"id":1,"tools":[{"maker_id":1,"price":30.5},{"maker_id":1,"price":99}]},
      +{"id":2,"tools":[{"maker_id":2,"price":45}]},{"id":3,"tools":[]}]
  GET /makers?select=id,tools(maker_id)&tools.distinct=*&order=id&limit=1
    200 [{"id":1,"tools":[{"maker_id":1}]}]
  GET /tools?select=n:count(),maker_id&distinct=*&order=n,maker_id
    200 [{"n":1,"maker_id":2},{"n":1,"maker_id":null},{"n":2,"maker_id":1}]
  GET /tools?select=n:count().mul(2)&distinct=*&order=n | 200 [{"n":8}]
  GET /makers?select=id,tools!inner()&tools.distinct=*&order=id | 200 [{"id":1},{"id":2}]
  GET /rpc/prices?select=l:name.length()&distinct=*&order=l {Prefer: count=exact}
    200 [{"l":3},{"l":5}]
    Content-Range: 0-1/2
`;

suite.answers("first rows of groups")`
  GET /tools?select=maker_id,name&distinct=maker_id&order=bought.desc.nullslast
    Prefer: count=exact
    200 [{"maker_id":1,"name":"drill"},{"maker_id":2,"name":"plane"},
      +{"maker_id":null,"name":"relic"}]
    Content-Range: 0-2/3
  GET /tools?select=name&distinct=maker_id&order=maker_id,price.desc
    200 [{"name":"drill"},{"name":"plane"},{"name":"relic"}]
  GET /tools?select=name,makers(name)&distinct=maker_id&order=price.desc.nullslast&limit=1
    +&offset=1
    Prefer: count=exact
    206 [{"name":"plane","makers":{"name":"Ryo"}}]
    Content-Range: 1-1/3
  GET /tools?select=*&distinct=len&order=id | 400 42703 | column tools.len does not exist
  GET /tools?select=id,len:name.length()&distinct=len&order=id
    200 [{"id":1,"len":3},{"id":2,"len":5}]
  GET /tools?select=id&distinct=spec->w->>unit,maker_id&order=price.desc.nullslast
    200 [{"id":2},{"id":3},{"id":1},{"id":4}]
  GET /tools?select=id&distinct=maker_id&id=gt.1&order=id {Prefer: count=exact}
    200 [{"id":2},{"id":3},{"id":4}]
    Content-Range: 0-2/3
  GET /makers?select=id,tools(name)&tools.distinct=maker_id&tools.order=price.desc&order=id
    200 [{"id":1,"tools":[{"name":"drill"}]},{"id":2,"tools":[{"name":"plane"}]},
      +{"id":3,"tools":[]}]
  GET /makers?select=id,tools!inner(name)&tools.distinct=maker_id&tools.offset=1&order=id
    Prefer: count=exact
    200 []
    Content-Range: */0
  GET /tools?select=id,makers(name)&makers.distinct=name&id=eq.1
    200 [{"id":1,"makers":{"name":"Bosk"}}]
  GET /tools?select=id,makers(name)&distinct=maker_id&order=makers(name).desc.nullslast,id
    200 [{"id":3,"makers":{"name":"Ryo"}},{"id":1,"makers":{"name":"Bosk"}},
      +{"id":4,"makers":null}]
  GET /rpc/cheap_tools?below=100&select=name&distinct=maker_id&order=price.desc
    200 [{"name":"drill"},{"name":"plane"}]
  GET /rpc/prices?distinct=price&order=name.desc&limit=2
    200 [{"name":"saw","price":30.5},{"name":"relic","price":null}]
  GET /rpc/prices?select=price&distinct=l&order=name&l=eq.5 | 400 42703 | column prices.l does not exist
`;

suite.answers("refusals of distinct")`
  GET /tools?select=name&distinct=*&order=id | 400 SVC163 | 'distinct' cannot be combined with 'id'
  GET /tools?select=name,makers(name)&distinct=*&order=makers(name) | 400 SVC163 | 'distinct' cannot be combined with 'name'
  GET /tools?select=n:count(),maker_id&distinct=maker_id | 400 SVC163 | 'distinct' cannot be combined with aggregates
  DELETE /tools?distinct=id as writer | 400 SVC160 | 'distinct' can only be used to read
  GET /tools?distinct=a( | 400 SVC100 | "failed to parse distinct (a()" (line 1, column 2) | unexpected '(' expecting letter, digit, "-", "->>", "->", "," or end of input
  GET /tools?distinct=id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id
    +,id,id,id,id,id,id,id,id
    400 SVC177 | The query is too complex | More than 32 terms of 'distinct'
  GET /makers?select=id&distinct&order=id&limit=1 | 200 [{"id":1}]
  GET /makers?select=id&distinct=eq.x | 400 42703 | column makers.distinct does not exist
`;

const strict = serviceSuite("tools", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "tools without aggregates",
});

strict.rows("disabled", [
  ...answers()`
GET /makers?select=city&distinct=* | 400 SVC161 | Use of distinct is not allowed
GET /makers?select=id&having=(id.max().gt.1) | 400 SVC123 | Use of aggregate functions is not allowed
`,
  ["GET /makers?select=name.upper()&id=eq.1", {}, 200, [{ name: "BOSK" }]],
]);

const fewer = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
  dbUrlFunctions: ["lower"],
}, { title: "tools with few functions" });

fewer.rows("functions", [
  ["GET /makers?select=name.lower()&id=eq.1", {}, 200, [{ name: "bosk" }]],
  ["GET /makers?select=id.array_agg()&id=eq.1", {}, 200, [{ array_agg: [1] }]],
  ...answers()`
GET /makers?select=name.upper() | 400 SVC164 | Function 'upper' is not available in URLs
`,
]);
