/** Conditions on groups and on the rows of aggregates, and the refusals of values. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const suite = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
}, { title: "groups of tools" });

const exact = { headers: { Prefer: "count=exact" } };

function refusal(
  code: string,
  message: string,
  details: string | null = null,
  hint: string | null = null,
) {
  return { code, message, details, hint };
}

function notEmbedded(name: string) {
  return refusal(
    "SVC108",
    `'${name}' is not an embedded resource in this request`,
    null,
    `Verify that '${name}' is included in the 'select' query parameter.`,
  );
}

suite.test("an embed of a group keeps the order of its select", async (api) => {
  const line = "GET /tools?select=m:makers(name,id),n:count()&maker_id=not.is.null&order=n.desc";
  strictEqual(
    await (await api(line)).text(),
    `[{"n":2,"m":{"name":"Bosk","id":1}}, \n {"n":1,"m":{"name":"Ryo","id":2}}]`,
  );
});

// PostgreSQL refuses groups of rows that are not grouped, and they have no pages.
const ungrouped: readonly (readonly [line: string, code: string])[] = [
  ["GET /tools?select=name&having=(count().gt.9)", "42803"],
  ["GET /tools?select=name,makers(name)&having=(count().gt.9)", "42803"],
  ["GET /tools?select=name,makers(name)&having=(count().gt.9)&limit=1", "42803"],
  ["GET /tools?select=name,makers(name)&having=(count().gt.9)&order=id", "42803"],
  ["GET /tools?select=name&having=(count().gt.9)&distinct=name", "SVC163"],
  ["GET /tools?select=name&having=(count().gt.9)&order=id&after=", "SVC171"],
  ["GET /tools?select=makers()&having=(count().gt.9)&order=id&after=", "42803"],
  [
    "GET /makers?select=name,tools(id,makers(name))&tools.having=(count().gt.9)&tools.limit=1",
    "42803",
  ],
];
for (const [line, expected] of ungrouped) {
  suite.test(`${line} is refused`, async (api) => {
    const { code } = await (await api(line)).json();
    strictEqual(code, expected);
  });
}

suite.rows("conditions on groups", [
  ["GET /tools?select=maker_id,n:count()&n=gt.1", {}, 200, [{ maker_id: 1, n: 2 }]],
  ["GET /tools?select=maker_id,n:count()&order=maker_id&limit=1", exact, 206, [
    { maker_id: 1, n: 2 },
  ], { "Content-Range": "0-0/3" }],
  ...answers()`
    GET /tools?select=maker_id,n:count()&order=maker_id&offset=1 {Prefer: count=exact}
      206 [{"maker_id":2,"n":1},{"maker_id":null,"n":1}]
      Content-Range: 1-2/3
    GET /tools?name.lower()=eq.saw | 400 SVC108 | 'name' is not an embedded resource in this request |  | Write and=(name.lower().eq.value)
    GET /tools?select=maker_id,n:count()&or=(n.gt.1,maker_id.eq.2)&order=maker_id
      200 [{"maker_id":1,"n":2},{"maker_id":2,"n":1}]
    GET /tools?select=maker_id,n:count()&or=(n.gt.5,name.eq.x)
      400 SVC162 | 'name' is neither grouped nor aggregated |  | Add it to 'select'
    GET /tools?select=price:price.sum()&price=gt.40 | 200 [{"price":144}]
    GET /tools?select=maker_id,price:price.sum()&having=(price.gt.45)
      200 [{"maker_id":1,"price":129.5}]
    GET /tools?select=maker_id,n:count(),dear:price.sum()&dear.price=gt.40&n=gt.1&order=n.desc
      200 [{"maker_id":1,"n":2,"dear":99}]
      Content-Range: 0-0/*
  `,
  ["GET /tools?select=maker_id,t:price.sum()&order=t.desc.nullslast&having=(t.gt.50)", exact, 200, [
    { maker_id: 1, t: 129.5 },
  ], { "Content-Range": "0-0/1" }],
  ["GET /tools?select=maker_id,count()&count=gt.1", exact, 200, [{ maker_id: 1, count: 2 }], {
    "Content-Range": "0-0/1",
  }],
  ["GET /tools?select=maker_id,n:count()&having=(n.gt.0)&order=maker_id&limit=1", exact, 206, [
    { maker_id: 1, n: 2 },
  ], { "Content-Range": "0-0/3" }],
  ...answers()`
    GET /tools?select=maker_id,n:count()&having=(price.sum().gt.50,or(count().eq.2,maker_id.is.null))
      200 [{"maker_id":1,"n":2}]
    GET /tools?select=unit:spec->w->>unit,n:count()&having=(unit.eq.kg)
      200 [{"unit":"kg","n":1}]
    GET /tools?select=m:bought.date_trunc(month)::date,n:count()&having=(m.gt.2024-01-15)
      200 [{"m":"2024-02-01","n":1}]
    GET /tools?select=m:bought.date_trunc(month)::date,n:count()
      +&having=(bought.date_trunc(month)::date.is.null)
      200 [{"m":null,"n":2}]
    GET /tools?select=*,n:count()&having=(id.lt.2)
      200 [{"id":1,"name":"saw","maker_id":1,"price":30.5,"spec":{"w":{"kg":2,"unit":"kg"},
        +"colors":["red","blue"]},"tags":["cut","wood"],"bought":"2024-01-02","n":1}]
    GET /tools?select=maker_id,n:count(),m:id.max()&n=eq(col).maker_id | 200 []
    GET /tools?select=n:count()&not.or=(n.gt.5,n.lt.2) | 200 [{"n":4}]
    GET /tools?select=id&having=(id.gt.1)
      400 SVC162 | 'id' is neither grouped nor aggregated |  | Add it to 'select'
    GET /makers?select=name,tools!inner()&tools.having=(count().gt.1) | 200 [{"name":"Bosk"}]
    GET /tools?select=makers()&having=(count().gt.9)&limit=1 | 200 []
    GET /makers?select=name,tools(maker_id,n:count())&tools.n=gt.1&order=id
      200 [{"name":"Bosk","tools":[{"maker_id":1,"n":2}]},{"name":"Ryo","tools":[]},
        +{"name":"Idle","tools":[]}]
    GET /makers?select=name,tools!inner(maker_id,n:count())&tools.having=(n.gt.1)&order=id
      Prefer: count=exact
      200 [{"name":"Bosk","tools":[{"maker_id":1,"n":2}]}]
      Content-Range: 0-0/1
    GET /makers?select=name,tools(maker_id,n:count())&tools.n=gt.1&tools=is.null&order=id
      200 [{"name":"Ryo","tools":[]},{"name":"Idle","tools":[]}]
    GET /rpc/prices?select=l:name.length(),n:count()&n=gt.1 | 200 [{"l":5,"n":3}]
    GET /rpc/prices?select=l:name.length(),n:count()&having=(n.gt.1) | 200 [{"l":5,"n":3}]
  `,
]);

suite.rows("rows of aggregates", [
  ["GET /tools?select=all:count(),dear:count()&dear.price=gt.40", {}, 200, [{ all: 4, dear: 2 }]],
  ["GET /tools?select=price.sum()&sum.price=gt.40", {}, 400, notEmbedded("sum")],
  ...answers()`
    GET /tools?select=a:id.sum(),b:name.array_agg()&a.or=(id.eq.1,name.eq.relic)&b.price=is.null
      200 [{"a":5,"b":["relic"]}]
    GET /tools?select=a:id.sum()&a.id=lt.3&a=gt.2 | 200 [{"a":3}]
    GET /tools?select=a:id.sum()&a.id=lt.3&a=gt.3 | 200 []
    GET /tools?select=a:id.sum().add(1)&a.and=(name.upper().eq.SAW) | 200 [{"a":2}]
    GET /tools?select=p:price.percentile_cont(0.5)&p.id=lt.3 | 200 [{"p":64.75}]
  `,
  ["GET /tools?select=a:count()&a.order=id", {}, 400, notEmbedded("a")],
  ["GET /tools?select=...makers(n:count())&makers.n.name=eq.Ryo", {}, 400, notEmbedded("n")],
  ["GET /tools?select=a:name&a.id=eq.1", {}, 400, notEmbedded("a")],
]);

suite.rows("refusals", [
  ...answers()`
GET /tools?select=name.nope() | 400 SVC164 | Function 'nope' is not available in URLs
GET /tools?select=name.uper() | 400 SVC164 | Function 'uper' is not available in URLs |  | Perhaps you meant 'upper'
GET /tools?select=name.lower(1) | 400 SVC165 | Invalid arguments of 'lower' | Expected lower()
GET /tools?select=price.sum().max() | 400 SVC165 | Invalid arguments of 'max' | Expected max() of a plain value
GET /tools?select=price.percentile_cont(2) | 400 SVC165 | Invalid arguments of 'percentile_cont' | Expected percentile_cont(f)
GET /tools?select=bought.date_trunc(fortnight) | 400 SVC165 | Invalid arguments of 'date_trunc' | Expected date_trunc(unit[,zone])
GET /tools?select=id&and=(price.sum().gt.1) | 400 SVC165 | Invalid arguments of 'sum' | Expected a condition of 'having'
GET /tools?select=price.add(id.sum()) | 400 SVC165 | Invalid arguments of 'add' | Expected add(v)
`,
  ["GET /tools?select=name.concat(@q)", {}, 400, refusal("SVC166", "Parameter '@q' is missing")],
  [
    `GET /tools?select=name${".lower()".repeat(9)}`,
    {},
    400,
    refusal("SVC177", "The query is too complex", "More than 8 calls in one value"),
  ],
  [
    `GET /tools?select=${Array(65).fill("name.lower()").join()}`,
    {},
    400,
    refusal("SVC177", "The query is too complex", "More than 64 values with calls"),
  ],
  [
    `GET /tools?select=${Array(65).fill("id.array_agg()").join()}`,
    {},
    400,
    refusal("SVC177", "The query is too complex", "More than 64 values with calls"),
  ],
  [
    `GET /tools?${Array.from({ length: 33 }, (_, n) => `@a${n}=1`).join("&")}`,
    {},
    400,
    refusal("SVC177", "The query is too complex", "More than 32 '@' parameters"),
  ],
  ...answers()`
    GET /tools?select=id.div(0) | 400 22012 | division by zero
    DELETE /tools?having=(id.gt.1) as writer | 400 SVC160 | 'having' can only be used to read
  `,
]);

suite.test("a write filters by values and returns them", async (api) => {
  const response = await api(
    "PATCH /tools?or=(name.upper().eq.SAW)&id=eq(col).maker_id&select=id,price.add(1)",
    { as: "writer", headers: { Prefer: "return=representation" }, body: { price: 7 } },
  );
  deepStrictEqual([response.status, await response.json()], [200, [{ id: 1, price: 8 }]]);
});

suite.test("requests of one shape get their own rows", async (api) => {
  for (
    const [least, text, expected] of [[1, "a", 1], [0, "b", 3], [1, "c", 1], [2, "d", 0]] as const
  ) {
    const line =
      `GET /tools?select=maker_id,n:count(),t:name.concat(@x).min()&n=gt.${least}&@x=${text}`;
    const response = await api(line);
    const rows = await response.json();
    deepStrictEqual([response.status, rows.length], [200, expected]);
    for (const { t } of rows) deepStrictEqual(t.at(-1), text);
  }
});
