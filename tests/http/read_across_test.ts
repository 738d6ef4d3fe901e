/** Conditions and orders across embeds. */
import { serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const suite = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
}, { title: "conditions across embeds" });

const exact = { headers: { Prefer: "count=exact" } };

function refusal(
  code: string,
  message: string,
  details: string | null = null,
  hint: string | null = null,
) {
  return { code, message, details, hint };
}

const notEmbedded = refusal(
  "SVC108",
  "'tools' is not an embedded resource in this request",
  null,
  "Verify that 'tools' is included in the 'select' query parameter.",
);

function makers(...ids: readonly number[]) {
  return ids.map((id) => ({ id }));
}

suite.answers("some row of an embed")`
  GET /makers?select=name,tools()&or=(city.is.null,tools(price).gt.90)&order=id
    Prefer: count=exact
    200 [{"name":"Bosk"},{"name":"Idle"}]
    Content-Range: 0-1/2
  GET /makers?select=id,tools()&tools(price)=gt.40&order=id | 200 [{"id":1},{"id":2}]
  GET /makers?select=id,tools(price)&tools(price)=gt.90
    200 [{"id":1,"tools":[{"price":30.5},{"price":99}]}]
  GET /makers?select=id,t:tools(price)&t(price)=gt.40&t.price=lt.90&order=id
    200 [{"id":2,"t":[{"price":45}]}]
  GET /makers?select=id,tools()&and=(tools(price).gt.90,tools(name).eq.saw) | 200 [{"id":1}]
  GET /makers?select=id,tools(manuals())&and=(tools(manuals(pages)).gt.30) | 200 [{"id":1}]
  GET /makers?select=id,tools()&and=(tools(name.upper()).eq.PLANE) | 200 [{"id":2}]
  GET /tools?select=id,makers()&and=(makers(city).not.eq.Ulm) | 200 [{"id":3}]
  GET /tools?select=id,sheds()&and=(sheds(title).eq.south) | 200 [{"id":1}]
  GET /makers?select=id,latest()&and=(latest(name).eq.drill) | 200 [{"id":1}]
  GET /makers?select=id,tools()&and=(tools(price).is.null) | 200 []
  GET /makers?select=id,pricey()&pricey(price)=gt.90 | 200 [{"id":1}]
  GET /makers?select=id,pricey()&pricey(count())=gt.0&order=id | 200 [{"id":1},{"id":2}]
  GET /makers?select=id,latest()&latest(name)=eq.drill | 200 [{"id":1}]
  // In a parameter's name, a null test is that of the embed, and a column comes first.
  GET /makers?select=id,tools()&tools(price)=is.null | 200 [{"id":3}]
  GET /tools?select=id&name(x)=eq.saw | 200 [{"id":1}]
  GET /makers?select=id,tools(price)&tools.manuals(pages)=gt.1&id=eq.1
    400 SVC108 | 'manuals' is not an embedded resource in this request |  | Verify that 'manuals' is included in the 'select' query parameter.
  GET /makers?select=id,tools(id,manuals())&tools.manuals(pages)=gt.30&order=id
    200 [{"id":1,"tools":[{"id":2}]},{"id":2,"tools":[]},{"id":3,"tools":[]}]
  GET /rpc/cheap_tools?below=50&select=id,makers()&and=(makers(city).eq.Kobe) | 200 [{"id":3}]
`;

suite.rows("any, all and none", [
  ["GET /makers?select=id,tools()&tools.any=(price.gt.90,name.eq.saw)", {}, 200, []],
  ["GET /makers?select=id,tools()&tools.any=(price.gt.90,name.eq.drill)", {}, 200, makers(1)],
  ["GET /makers?select=id,tools()&tools.all=(price.gt.10)&order=id", exact, 200, makers(1, 2, 3), {
    "Content-Range": "0-2/3",
  }],
  ...answers()`
    GET /makers?select=id,tools()&tools.all=(price.gt.40)&order=id | 200 [{"id":2},{"id":3}]
    GET /makers?select=id,tools()&tools.all=(spec->>x.eq.1)&order=id | 200 [{"id":3}]
    GET /makers?select=id,tools()&tools.all=(spec->>x.not.eq.1)&order=id | 200 [{"id":3}]
    GET /makers?select=id,tools()&tools.all=(price.isdistinct.99)&order=id | 200 [{"id":2},{"id":3}]
    GET /makers?select=id,tools()&tools.none=(price.gt.90)&order=id | 200 [{"id":2},{"id":3}]
    GET /makers?select=id,tools()&or=(tools.none(price.gt.1),tools.any(id.eq.3))&order=id
      200 [{"id":2},{"id":3}]
    GET /makers?select=id,tools()&not.and=(tools.any(price.gt.90))&order=id
      200 [{"id":2},{"id":3}]
    GET /makers?select=id,tools(manuals())&tools.any=(manuals.any(pages.gt.9,pages.lt.20))
      200 [{"id":1}]
    GET /makers?select=id,tools(manuals())&tools.all=(manuals.none(pages.gt.30))&order=id
      200 [{"id":2},{"id":3}]
    GET /makers?select=id,tools(manuals())&tools.any=(manuals.is.null)&order=id | 200 [{"id":2}]
    GET /makers?select=id,tools(id,manuals())&tools.manuals.any=(pages.gt.20)&order=id
      200 [{"id":1,"tools":[{"id":2}]},{"id":2,"tools":[]},{"id":3,"tools":[]}]
    GET /tools?select=id,makers()&makers.none=(city.eq.Ulm)&order=id | 200 [{"id":3},{"id":4}]
    GET /makers?select=id,tools(n:count())&tools.any=(price.gt.90)
      200 [{"id":1,"tools":[{"n":2}]}]
  `,
]);

suite.answers("aggregates over embeds")`
  GET /makers?select=id,tools(id)&tools(count())=gt.1 | 200 [{"id":1,"tools":[{"id":1},{"id":2}]}]
  GET /makers?select=id,tools()&tools(count())=gte.1&order=id | 200 [{"id":1},{"id":2}]
  GET /makers?select=id,tools()&tools(count())=gt.-7&order=id | 200 [{"id":1},{"id":2},{"id":3}]
  GET /makers?select=id,tools()&tools(count())=gt.9223372036854775807 | 200 []
  GET /makers?select=id,tools()&and=(tools(count()).not.gt.1)&order=id | 200 [{"id":2},{"id":3}]
  GET /makers?select=id,tools()&tools(count())=eq.0 | 200 [{"id":3}]
  GET /makers?select=id,tools()&and=(tools(price.sum()).is.null) | 200 [{"id":3}]
  GET /makers?select=id,tools()&and=(tools(price.sum()).gt.100) | 200 [{"id":1}]
  GET /makers?select=id,tools()&tools.price=gt.40&tools(count())=eq.1&order=id
    200 [{"id":1},{"id":2}]
  GET /makers?select=id,tools(manuals())&and=(tools(manuals(pages.max())).gt.30) | 200 [{"id":1}]
  GET /makers?select=id,tools(sheds())&and=(tools(sheds(count())).gt.1) | 200 [{"id":1}]
`;

suite.answers("comparisons with values of embeds")`
  GET /tools?select=id,makers()&id=gt(col).makers(id)&order=id | 200 [{"id":2},{"id":3}]
  GET /makers?select=id,tools()&id=eq(col).tools(count()) | 200 []
  GET /makers?select=id,tools()&id=lt(col).tools(id.max())&order=id | 200 [{"id":1},{"id":2}]
  GET /makers?select=id,tools()&and=(tools(id).eq(col).id) | 200 [{"id":1}]
  GET /makers?select=id,tools(manuals())&and=(tools(manuals(tool_id)).gt(col).id) | 200 [{"id":1}]
  GET /makers?select=id,tools(manuals())&tools.any=(manuals(pages).gt(col).price) | 200 []
  GET /makers?select=id,tools()&and=(tools(count()).gt(col).id) | 200 [{"id":1}]
  GET /tools?select=id,sheds()&price=gt(col).sheds(id) | 400 SVC174 | 'sheds' gives more than one value |  | Use an aggregate: sheds(id.max())
`;

suite.answers("orders across embeds")`
  GET /makers?select=name,tools()&order=tools(count()).desc,id
    200 [{"name":"Bosk"},{"name":"Ryo"},{"name":"Idle"}]
  GET /makers?select=id,tools(name)&order=tools(price.max()).nullsfirst&limit=2
    200 [{"id":3,"tools":[]},{"id":2,"tools":[{"name":"plane"}]}]
  GET /manuals?select=pages,tools(makers())&order=tools(makers(name)),pages.desc
    200 [{"pages":40},{"pages":12}]
  GET /tools?select=id,makers(id)&order=makers(city),id&limit=2
    200 [{"id":3,"makers":{"id":2}},{"id":1,"makers":{"id":1}}]
  GET /tools?select=id,makers()&order=makers(name.lower()).desc,id&limit=2
    200 [{"id":4},{"id":3}]
  GET /makers?select=id,tools(id,manuals())&tools.order=manuals(pages.sum()).desc&id=eq.1
    200 [{"id":1,"tools":[{"id":2},{"id":1}]}]
  GET /makers?select=name,tools()&order=tools(price) | 400 SVC118 | A related order on 'tools' is not possible | 'makers' and 'tools' do not form a many-to-one or one-to-one relationship
  GET /makers?select=name,tools()&order=tools(name.lower()) | 400 SVC118 | A related order on 'tools' is not possible | 'makers' and 'tools' do not form a many-to-one or one-to-one relationship
`;

const tests = (count: number) => Array(count).fill("tools(id).gt.0").join();

suite.rows("refusals across embeds", [
  [
    `GET /makers?select=id,tools()&tools(id)=gt.0&and=(${tests(60)})&order=id`,
    {},
    200,
    makers(1, 2),
  ],
  [
    `GET /makers?select=id,tools(makers(tools(makers())))&tools.makers.tools.and=(${
      Array(20).fill("makers(id).gt.0")
    })&tools.makers.and=(${Array(20).fill("tools(id).gt.0")})&tools.and=(${
      Array(20).fill("makers(id).gt.0")
    })`,
    {},
    400,
    refusal("SVC177", "The query is too complex", "More than 1000 tests of embeds"),
  ],
  ["GET /makers?select=id&tools(count())=gt.1", {}, 400, notEmbedded],
  ["GET /makers?select=id&tools.any=(price.gt.1)", {}, 400, notEmbedded],
  ["GET /makers?select=id&and=(tools(price).gt.1)", {}, 400, notEmbedded],
  ["GET /makers?select=id&order=tools(count())", {}, 400, notEmbedded],
  ["GET /makers?select=id&and=(tools(price.upper(1)).gt.1)", {}, 400, notEmbedded],
  ...answers()`
    PATCH /makers?tools.any=(id.eq.1)&select=id,tools() as writer with {"city":"x"}
      400 SVC160 | 'any' can only be used to read
    DELETE /makers?and=(tools(price).gt.1)&select=id,tools() as writer
      400 SVC160 | 'tools' can only be used to read
    GET /makers?select=id,tools()&and=(tools(a(b(c(d(e(f(g(h(i(j)))))))))).gt.1)
      400 SVC108 | 'a' is not an embedded resource in this request |  | Verify that 'a' is included in the 'select' query parameter.
  `,
]);

const hidden = serviceSuite("policies", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "conditions across embeds under policies",
});

hidden.rows("rows that a policy hides", [
  ["GET /makers?select=name,tools()&or=(city.is.null,tools(price).gt.90)&order=id", {}, 200, [
    { name: "Idle" },
  ]],
  ["GET /makers?select=id,tools()&tools.all=(price.lt.50)&order=id", {}, 200, makers(1, 2, 3)],
]);
