/** `db-max-cost`: expensive reads and writes are refused before PostgreSQL executes them. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { testSecret } from "../support/handler/token.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon", dbPlanEnabled: true } as const;
const roles = ["anon", "writer", "cost_analyst", "cost_bot", "cost_unlimited", "cost_wrong"];
const suite = apiSuite("cost_limit", { ...config, dbMaxCost: 100 }, {
  title: "db-max-cost",
  roles,
});

const isRefused = { status: 413, code: "SVC137" };

async function outcome(response: Response): Promise<unknown> {
  if (response.ok) return response.status;
  const { code, message, details, hint } = await response.json();
  strictEqual(message, "The query is too expensive");
  match(details, /^Estimated cost [0-9]+, allowed [0-9]+$/);
  strictEqual(hint, "Filter by an indexed column or set a limit");
  return { status: response.status, code };
}

const csv = { headers: { Accept: "text/csv" } };
const plan = { headers: { Accept: "application/vnd.svc.plan+json" } };
const returning = { headers: { Prefer: "return=representation" } };

const rows: readonly (readonly [line: string, parts: object, expected: unknown])[] = [
  ["GET /readings?id=eq.7", {}, 200],
  ["GET /readings?id=eq.7", csv, 200],
  ["HEAD /readings?id=eq.7", {}, 200],
  ["GET /readings", {}, isRefused],
  ["GET /readings", csv, isRefused],
  ["GET /readings?note=like.*y*", {}, isRefused],
  ["GET /readings?limit=10", {}, 200],
  // The estimate depends on the parameter, in both orders.
  ["GET /readings?id=gt.19999", {}, 200],
  ["GET /readings?id=gt.0", {}, isRefused],
  ["GET /readings?id=gt.19998", {}, 200],
  ["PATCH /readings?id=eq.7", { body: { place: 1 } }, 204],
  ["PATCH /readings?id=eq.7", { body: { place: 1 }, ...returning }, 200],
  ["PATCH /readings?place=gt.0", { body: { place: 1 } }, isRefused],
  ["DELETE /readings?place=gt.0", {}, isRefused],
  ["POST /readings", { body: { id: 30001, place: 1 } }, 201],
  ["POST /readings", { body: [{ id: 30001, place: 1 }], ...returning }, 201],
  // Functions are not asked, nor are requests for plans.
  ["GET /rpc/all_notes", {}, 200],
  ["POST /rpc/all_notes", { body: {} }, 200],
  ["GET /readings", plan, 200],
  ["GET /", {}, 200],
  // Roles have limits of their own.
  ["GET /readings?place=gt.0", { as: "cost_analyst" }, 200],
  ["GET /readings?id=eq.7", { as: "cost_bot" }, isRefused],
  ["GET /readings?place=gt.0", { as: "cost_unlimited" }, 200],
  ["GET /readings?place=gt.0", { as: "cost_wrong" }, isRefused],
];

const committing = serviceSuite("cost_limit", { ...config, dbMaxCost: 100, dbTxEnd: "commit" }, {
  title: "db-max-cost of what commits",
  roles,
});

for (const [line, parts, expected] of rows) {
  for (const each of /^(GET|HEAD)/.test(line) ? [suite, committing] : [suite]) {
    each.test(`${line} ${JSON.stringify(parts)}`, async (api) => {
      for (let time = 0; time < 3; time++) {
        deepStrictEqual(await outcome(await api(line, parts)), expected);
      }
    });
  }
}

suite.test("an accepted read has the same answer as without a limit", async (api) => {
  const line = "GET /readings?place=gt.0";
  const limited = await api(line, { as: "cost_analyst" });
  const unlimited = await api(line, { as: "cost_unlimited" });
  for (const name of ["Content-Range", "Content-Type"]) {
    strictEqual(limited.headers.get(name), unlimited.headers.get(name));
  }
  const text = await limited.text();
  ok(text.length > 1_000_000);
  strictEqual(text, await unlimited.text());
});

suite.test("the cost of a long answer in lines does not change its rows", async (api) => {
  const ndjson = { as: "cost_analyst", headers: { Accept: "application/x-ndjson" } };
  const response = await api("GET /readings?select=id", ndjson);
  strictEqual((await response.text()).trimEnd().split("\n").length, 20_000);
});

suite.test("the compared cost is that of the plan without its aggregate", async (api) => {
  const shown = await (await api("GET /readings", plan)).json();
  const refused = await (await api("GET /readings")).json();
  const planned = shown[0].Plan["Total Cost"] as number;
  const compared = Number(/^Estimated cost ([0-9]+),/.exec(refused.details)?.[1]);
  ok(compared <= planned && compared > planned * 0.5, `${compared} of ${planned}`);
});

suite.test("a refused role has the error of PostgreSQL", async (api) => {
  const response = await api("GET /readings?nothing=eq.1");
  strictEqual(response.status, 400);
});

const off = serviceSuite("cost_limit", { ...config, dbMaxCost: 0 }, {
  title: "db-max-cost of 0",
  roles,
});

off.rows("db-max-cost of 0 sets no limit, and roles keep theirs", [
  ["HEAD /readings", {}, 200, undefined],
  ["HEAD /readings", { as: "cost_bot" }, 413, undefined],
]);

const checked = serviceSuite("cost_limit", {
  ...config,
  dbMaxCost: 100,
  dbPreRequest: { schema: "api", name: "count_check" },
  dbTxEnd: "commit",
}, { title: "db-max-cost with db-pre-request", roles });

checked.test("db-pre-request runs once, whether the read is refused or not", async (api) => {
  const read = async (line: string) => (await api(line)).headers.get("X-Checks");
  // The sequence does not roll back with a transaction.
  const first = Number(await read("DELETE /readings?id=eq.-1"));
  strictEqual((await api("DELETE /readings?place=gt.0")).status, 413);
  strictEqual(Number(await read("DELETE /readings?id=eq.-1")), first + 2);
});

Deno.test("a refused query leaves its connection usable, and a write nothing behind", async () => {
  const sql = `create table api.numbers as select n from generate_series(1, 20000) as n;
    analyze api.numbers; grant all on api.numbers to public`;
  const limits = { ...config, jwtSecret: testSecret, dbMaxCost: 100, dbPool: 1 };
  await withAdministeredHandler(sql, limits, async ({ handler, admin }) => {
    const send = async (method: string, path: string) => {
      const response = await handler(new Request(`http://h/${path}`, { method }));
      await response.body?.cancel();
      return response.status;
    };
    const statuses = await Promise.all(
      Array.from(
        { length: 20 },
        (_, index) =>
          index % 2 === 0 ? send("DELETE", "numbers?n=gt.0") : send("GET", "numbers?limit=1"),
      ),
    );
    deepStrictEqual(
      statuses,
      Array.from({ length: 20 }, (_, index) => index % 2 === 0 ? 413 : 200),
    );
    const { rows } = await admin.query("select count(*)::int as count from api.numbers");
    strictEqual(rows[0]!["count"], 20_000);
  });
});
