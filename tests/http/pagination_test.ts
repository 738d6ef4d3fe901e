import { ok, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("pages", { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" });
const exact = { Prefer: "count=exact" };

function ids(first: number, last: number): readonly { readonly id: number }[] {
  return Array.from({ length: last - first + 1 }, (_, at) => ({ id: first + at }));
}

/** Request, headers, status, rows, `Content-Range`. */
type Page = readonly [string, Readonly<Record<string, string>>, number, unknown, string];

function rows(pages: readonly Page[]): readonly Row[] {
  return pages.map(([target, headers, status, body, range]) =>
    [`GET ${target}`, { headers }, status, body, {
      "Content-Range": range,
      "Range-Unit": "items",
    }] as const
  );
}

function unsatisfiable(details: string) {
  return { code: "SVC103", details, hint: null, message: "Requested range not satisfiable" };
}
const beyond = (offset: number | string, total: number) =>
  unsatisfiable(`An offset of ${offset} was requested, but there are only ${total} rows.`);

suite.rows(
  "windows",
  rows([
    ["/items?limit=0", { Range: "3-1" }, 200, [], "*/*"],
    ["/nothing", { ...exact, Range: "0-1" }, 200, [], "*/0"],
    ["/items?order=id&offset=-2", {}, 200, ids(1, 15), "0-14/*"],
    ["/items?order=id&limit=007", {}, 200, ids(1, 7), "0-6/*"],
    ["/items?order=id&limit=2", { Range: "items=0-0" }, 200, ids(1, 2), "0-1/*"],
    ["/rpc/first_items?n=5", { Range: "0-0" }, 200, ids(1, 1), "0-0/*"],
  ]),
);

const tooLarge = (value: string) =>
  errorBody(`22003 | value "${value}" is out of range for type bigint`);

suite.rows("numbers of rows are exact, and bigint's largest is the last one", [
  ["GET /items?limit=9223372036854775807&id=eq.1", {}, 200, ids(1, 1), {
    "Content-Range": "0-0/*",
  }],
  ["GET /items?limit=9223372036854775808", {}, 400, tooLarge("9223372036854775808")],
  ...answers({ headers: { Prefer: "count=exact" } })`
    GET /items?limit=9223372036854775808
      400 22003 | value "9223372036854775808" is out of range for type bigint
  `,
  ["HEAD /items?limit=9223372036854775808", {}, 400, undefined],
  ["GET /items?offset=9007199254740993", { headers: exact }, 416, beyond("9007199254740993", 15), {
    "Content-Range": "*/15",
  }],
  ["GET /items?offset=9223372036854775807", {}, 200, [], { "Content-Range": "*/*" }],
  ["GET /items?offset=9223372036854775808", {}, 400, tooLarge("9223372036854775808")],
  ...answers()`
    GET /items {Range: 0-9223372036854775807}
      400 22003 | value "9223372036854775808" is out of range for type bigint
    GET /items {Range: 99999999999999999999-}
      400 22003 | value "99999999999999999999" is out of range for type bigint
    GET /makers?select=tools(id)&tools.limit=9223372036854775808 | 400 22003 | value "9223372036854775808" is out of range for type bigint
    GET /makers?select=tools(id)&tools.offset=-99999999999999999999 | 400 22003 | value "-99999999999999999999" is out of range for type bigint
  `,
  ["GET /rpc/first_items?n=5&limit=9223372036854775808", {}, 400, tooLarge("9223372036854775808")],
  ["GET /rpc/one?offset=9223372036854775808", {}, 400, tooLarge("9223372036854775808")],
]);

suite.answers("windows of embeds")`
  GET /makers?select=id,tools(id)&order=id&tools.order=id.desc&tools.offset=1&limit=1
    200 [{"id":1,"tools":[{"id":1}]}]
`;

suite.rows("HEAD", [
  ["HEAD /items", { headers: { Range: "0-0", ...exact } }, 200, undefined, {
    "Content-Range": "0-14/15",
    "Content-Length": null,
    "Content-Type": "application/json; charset=utf-8",
  }],
]);

const capped = serviceSuite("pages", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbMaxRows: 2,
}, { title: "pages, at most two rows" });

capped.rows("max-rows", [
  ["GET /makers?select=id,tools(id)&order=id&tools.order=id", { headers: exact }, 206, [
    { id: 1, tools: [{ id: 1 }, { id: 2 }] },
    { id: 2, tools: [{ id: 3 }] },
  ], { "Content-Range": "0-1/3" }],
  ["GET /items?order=id&limit=1", {}, 200, ids(1, 1)],
  ["GET /items?order=id&limit=5&offset=3", {}, 200, ids(4, 5), { "Content-Range": "3-4/*" }],
  ["GET /items?limit=0", {}, 200, []],
  ["GET /rpc/first_items?n=5", {}, 200, ids(1, 2), { "Content-Range": "0-1/*" }],
  ["GET /tools?select=id,makers(name)&id=eq.1", {}, 200, [{ id: 1, makers: { name: "Bosk" } }]],
]);

async function total(
  api: Parameters<Parameters<typeof suite.test>[1]>[0],
  line: string,
  count: string,
) {
  const response = await api(line, { headers: { Prefer: `count=${count}` } });
  await response.body?.cancel();
  strictEqual(response.headers.get("Preference-Applied"), `count=${count}`);
  return Number(response.headers.get("Content-Range")!.split("/")[1]);
}

suite.test("count=planned tells the planner's estimate", async (api) => {
  strictEqual(await total(api, "GET /items", "planned"), 15);
  const filtered = await total(api, "GET /items?id=lt.5", "planned");
  ok(filtered >= 1 && filtered <= 15, String(filtered));
});

capped.test("count=estimated counts up to the cap and estimates above it", async (api) => {
  strictEqual(await total(api, "GET /items?id=lt.3", "estimated"), 2);
  ok(await total(api, "GET /items", "estimated") >= 3);
});

suite.test("count=estimated without a cap is never below the count", async (api) => {
  ok(await total(api, "GET /items", "estimated") >= 15);
});
