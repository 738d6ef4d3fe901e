/** The columns of `**`, and left-out columns. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
  serverQueryMethod: true,
};
const roles = ["anon", "reader", "writer"];
const suite = serviceSuite("shown_columns", config, { title: "shown columns", roles });
const changing = serviceSuite("shown_columns", { ...config, dbTxEnd: "commit" }, {
  title: "shown columns after a change of privileges",
  roles,
});

const failure = (code: string, message: string, details: string | null = null) => ({
  code,
  message,
  details,
  hint: null,
});
const reader = { as: "reader" };
const saw = { id: 1, name: "saw", maker_id: 1 };
const drill = { id: 2, name: "drill", maker_id: 1 };
const wholeSaw = { id: 1, name: "saw", cost: 12.5, maker_id: 1 };

suite.rows("**", [
  ["GET /tools?select=**&id=eq.1", reader, 200, [saw]],
  ["GET /tools?select=**&id=eq.1", {}, 200, [wholeSaw]],
  ["GET /tools?select=*&id=eq.1", reader, 403, {
    ...failure("42501", "permission denied for table tools"),
  }],
  ["GET /tools?select=n:name,**&id=eq.1&order=id&limit=1", reader, 200, [{ n: "saw", ...saw }]],
  ["GET /makers?select=id,tools(**)&tools.order=id", reader, 200, [{ id: 1, tools: [saw, drill] }]],
  ["GET /tools?select=**,makers(**)&makers.limit=1&id=eq.1", {}, 200, [
    { ...wholeSaw, makers: { id: 1, name: "Bosk", budget: 9007199254740992 } },
  ]],
  ["GET /tools?select=**,count()&id=eq.1", reader, 200, [{ ...saw, count: 1 }]],
  ["GET /tools?select=**&distinct=*&order=name", reader, 200, [drill, saw]],
  ["HEAD /tools?select=**", reader, 200, undefined],
  ...answers({ ...reader, headers: { Accept: "text/csv" } })`
    GET /tools?select=**&id=eq.1 | 200 "id,name,maker_id\n1,saw,1"
  `,
  ...answers({ ...reader, headers: { "Content-Type": "application/x-www-form-urlencoded" } })`
    POST /tools/$query
      with "select=**&id=eq.1"
      200 [{"id":1,"name":"saw","maker_id":1}]
  `,
  // Rows of a function belong to the function.
  ["GET /rpc/all_tools?select=**&limit=1", reader, 200, [wholeSaw]],
  [
    "POST /tools?select=**",
    { as: "writer", headers: { Prefer: "return=representation" }, body: { id: 9, name: "axe" } },
    201,
    [{ id: 9, name: "axe", cost: null }],
  ],
  ...answers()`
GET /tools?select=*** | 400 SVC100 | "failed to parse select parameter (***)" (line 1, column 3) | unexpected '*' expecting ")", "," or end of input
`,
  ["GET /tools?select=**&cost=gt.1", reader, 403, {
    ...failure("42501", "permission denied for table tools"),
  }],
  ["GET /tools?select=**&id=eq.1", { as: "nobody_knows" }, 400, {
    ...failure("22023", 'role "nobody_knows" does not exist'),
  }],
  ["OPTIONS /tools?select=**", {}, 200, undefined],
]);

suite.rows("-column", [
  ["GET /tools?select=*,-cost&id=eq.1", reader, 200, [saw]],
  ["GET /tools?select=**,-name&id=eq.1", reader, 200, [{ id: 1, maker_id: 1 }]],
  ["GET /tools?select=**,-id,-name,-maker_id&id=eq.1", reader, 200, [{}]],
  ...answers()`
    GET /tools?select=*, - cost ,n:name,-"maker_id"&id=eq.1 | 200 [{"id":1,"name":"saw","n":"saw"}]
  `,
  ["GET /makers?select=id,tools(*,-cost)&tools.id=eq.1", {}, 200, [{ id: 1, tools: [saw] }]],
  ["GET /makers?select=id,tools(**,-id,-name,-maker_id)&tools.order=id", reader, 200, [
    { id: 1, tools: [{}, {}] },
  ]],
  ["GET /rpc/all_tools?select=*,-cost&limit=1", reader, 200, [saw]],
  ...answers()`
    GET /rpc/sum_of?select=*,-paid | 200 [{"total":12.5,"n":3}]
    GET /tools?select=*,-id&distinct=*&order=id | 400 SVC163 | 'distinct' cannot be combined with 'id'
    GET /tools?select=*,-id,count()&having=(id.gt.1) | 400 SVC162 | 'id' is neither grouped nor aggregated |  | Add it to 'select'
    GET /tools?select=id,makers(*,-name)&order=makers(name),id&id=eq.1
      200 [{"id":1,"makers":{"id":1,"budget":9007199254740992}}]
    GET /tools?select=-id | 400 SVC100 | a name is missing before -id | "failed to parse select parameter (-id)" (line 1, column 1): unexpected "-" expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"
  `,
  ...["id,-cost", "*,-nope", "id,-cost,*", "**,-nope"].map((select) =>
    [`GET /tools?select=${select}`, {}, 400, {
      ...failure("SVC173", `Could not leave out column '${select.split(/[-,]+/)[1]}' of 'tools'`),
    }] as const
  ),
  ...answers()`
    GET /rpc/big?select=*,-x | 400 SVC173 | Could not leave out column 'x' of 'big'
    GET /makers?select=id,tools(id,-cost) | 400 SVC173 | Could not leave out column 'cost' of 'tools'
  `,
]);

<<<<<<< HEAD
const strings = (rest = "") => ({ headers: { Prefer: `numbers=string${rest}` } });
const applied = { "Preference-Applied": "numbers=string" };
const row = {
  id: 1,
  big: "9007199254740993",
  exact: "0.1000",
  money: "12.50",
  bigs: ["1", null],
  moneys: ["0.10"],
  real: 1.5,
  doc: { n: 12345678901234567890 },
  maker_id: 1,
};

suite.rows("Prefer: numbers=string", [
  ["GET /numbers", strings(), 200, [row], applied],
  ["GET /numbers?id=eq.1", strings(", count=exact"), 200, [row], {
    "Preference-Applied": "count=exact, numbers=string",
  }],
  ["GET /numbers?select=exact", { headers: { Prefer: "numbers=number" } }, 200, [{ exact: 0.1 }], {
    "Preference-Applied": "numbers=number",
  }],
  ...answers({ headers: { Prefer: "numbers=string" } })`
    GET /numbers?select=exact
      Prefer: handling=strict, numbers=text
      400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences: numbers=text
    GET /numbers?select=count(),sum:id.sum(),a:id.avg(),m:big.max(),f:real.sum(),i:id.max()
      200 [{"count":"1","sum":"1","a":"1.00000000000000000000","m":"9007199254740993","f":1.5,
        +"i":1}]
      Preference-Applied: numbers=string
    GET /numbers?select=a:big.add(1),b:id.mul(2),c:id::bigint,d:exact::float8,e:money::text
      +,g:twice,h:doc->n
      200 [{"a":"9007199254740994","b":2,"c":"1","d":0.1,"e":"12.50","g":"18014398509481986",
        +"h":12345678901234567000}]
      Preference-Applied: numbers=string
    GET /numbers?select=n:id,n:big,all:money.array_agg()
      200 [{"n":"9007199254740993","all":["12.50"]}]
      Preference-Applied: numbers=string
    GET /makers?select=id,numbers(big,id)
      200 [{"id":1,"numbers":[{"big":"9007199254740993","id":1}]}]
      Preference-Applied: numbers=string
    GET /numbers?select=id,big&order=big&limit=1&after=
      200 [{"id":1,"big":"9007199254740993"}]
      Preference-Applied: numbers=string
    GET /tools?select=cost,...makers(budget)&order=id&limit=1
      200 [{"cost":"12.50","budget":"9007199254740993"}]
      Preference-Applied: numbers=string
  `,
  ["GET /rpc/sum_of", strings(), 200, [{ total: "12.50", paid: "1.50", n: 3 }], applied],
  ["GET /rpc/big", strings(), 200, "9007199254740993", applied],
  ["GET /rpc/bigs", strings(), 200, ["1", "2"], applied],
  ["GET /rpc/all_tools?select=cost&limit=1", strings(), 200, [{ cost: "12.50" }], applied],
  ...answers({ headers: { ...strings().headers, Accept: "text/csv" } })`
    GET /numbers?select=big,twice | 200 "big,twice\n9007199254740993,18014398509481986"
  `,
  ...answers()`
    POST /tools?select=cost,id
      as writer
      Prefer: return=representation, numbers=string
      with {"id":9,"name":"x","cost":1.5}
      201 [{"cost":"1.5","id":9}]
      Preference-Applied: return=representation, numbers=string
    POST /tools
      as writer
      Prefer: return=minimal, numbers=string
      with {"id":9,"name":"x"}
      201
      Preference-Applied: return=minimal
  `,
]);

=======
>>>>>>> ffea237f (feat(plan)!: remove Prefer: numbers=string)
const pgrst = serviceSuite("shown_columns", { ...config, dialect: "pgrst" }, {
  title: "shown columns in arrays",
  roles,
});

pgrst.rows("to-many spreads", [
  ["GET /makers?select=id,...tools(**,-id,-maker_id)&tools.order=id", reader, 200, [
    { id: 1, name: ["saw", "drill"] },
  ]],
]);

const rowsOf = async (api: Api, line: string, role: string) => {
  const response = await api(line, { as: role });
  strictEqual(response.status, 200);
  return await response.json();
};

changing.test("** forgets columns after a refusal, and shows a GRANT after a reload", async (api) => {
  const line = "GET /tools?select=**&id=eq.1";
  deepStrictEqual(await rowsOf(api, line, "reader"), [saw]);
  strictEqual((await api("POST /rpc/revoke_name")).status, 204);
  strictEqual((await api(line, reader)).status, 403);
  deepStrictEqual(await rowsOf(api, line, "reader"), [{ id: 1, maker_id: 1 }]);
  strictEqual((await api("POST /rpc/grant_name")).status, 204);
  deepStrictEqual(await rowsOf(api, line, "reader"), [{ id: 1, maker_id: 1 }]);
  await api.handler.reloadSchema();
  deepStrictEqual(await rowsOf(api, line, "reader"), [saw]);
});

changing.test("** repeats no write, and forgets the columns of a refused one", async (api) => {
  const insert = (id: number) =>
    api("POST /tools?select=**", {
      as: "writer",
      headers: { Prefer: "return=representation" },
      body: { id, name: "new" },
    });
  deepStrictEqual(await (await insert(11)).json(), [{ id: 11, name: "new", cost: null }]);
  strictEqual((await api("POST /rpc/revoke_cost")).status, 204);
  strictEqual((await insert(12)).status, 403);
  deepStrictEqual(await (await insert(12)).json(), [{ id: 12, name: "new" }]);
});
