/** The columns of `**`, and left-out columns. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody } from "../support/handler/rows.ts";

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

const failure = (code: string, message: string, details: string | null = null) =>
  errorBody(`${code} | ${message} | ${details ?? ""}`);
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
  ...answers()`
    HEAD /tools?select=** as reader | 200
    GET /tools?select=**&id=eq.1 {Accept: text/csv} as reader | 200 "id,name,maker_id\n1,saw,1"
    POST /tools/$query as reader with "select=**&id=eq.1"
      Content-Type: application/x-www-form-urlencoded
      200 [{"id":1,"name":"saw","maker_id":1}]
    // Rows of a function belong to the function.
    GET /rpc/all_tools?select=**&limit=1 as reader
      200 [{"id":1,"name":"saw","cost":12.5,"maker_id":1}]
    POST /tools?select=** {Prefer: return=representation} as writer with {"id":9,"name":"axe"}
      201 [{"id":9,"name":"axe","cost":null}]
    GET /tools?select=***
      400 SVC100 | "failed to parse select parameter (***)" (line 1,
        + column 3) | unexpected '*' expecting ")", "," or end of input
    GET /tools?select=**&cost=gt.1 as reader | 403 42501 | permission denied for table tools
    GET /tools?select=**&id=eq.1 as nobody_knows | 400 22023 | role "nobody_knows" does not exist
    OPTIONS /tools?select=** | 200
  `,
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
