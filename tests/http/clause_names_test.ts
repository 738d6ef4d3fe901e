/** Parameters that have the name of a clause and that of a column or an argument, in both dialects. */
import { serviceSuite } from "../support/handler/api.ts";
import { answers, type Row } from "../support/handler/rows.ts";

const rows: readonly Row[] = [
  ...answers()`
    GET /rpc/named?distinct=n | 200 ["n"]
    GET /rpc/plain?distinct=n&select=id&order=id | 200 [{"id":1},{"id":3}]
    GET /rpc/plain?distinct=eq.x&select=id&order=id | 200 [{"id":1},{"id":3}]
    GET /rpc/plain?select=n,c:count()&c=gt.1 | 200 [{"n":5,"c":2}]
    GET /rpc/plain?select=n,c:count()&having=(c.gt.1) | 200 [{"n":5,"c":2}]
    POST /rpc/plain?select=n,c:count()&having=(c.gt.1) with {} | 200 [{"n":5,"c":2}]
    GET /marks?distinct=eq.y&select=id | 200 [{"id":2}]
    GET /marks?distinct=distinct&select=id&order=id | 200 [{"id":1},{"id":2}]
    GET /marks?having=gt.2&select=id | 200 [{"id":3}]
    GET /marks?having=not.is.null&select=having.sum() | 200 [{"sum":6}]
    GET /marks?select=n,s:having.sum()&having=(s.eq.3)&having=lt.3 | 200 [{"n":5,"s":3}]
    // A function of the row is not a key.
    GET /marks?select=n,counted:count()&counted=eq.14 | 200 [{"n":7,"counted":1}]
    GET /marks?select=n,count()&order=count.desc | 200 [{"n":5,"count":2},{"n":7,"count":1}]
    GET /marks?@q=2&select=id&and=(id.gt(col).n.sub(@q).sub(2))&order=id | 200 [{"id":2}]
    HEAD /marks?select=n,c:count()&c=gt.1 {Prefer: count=planned} | 206
  `,
];

for (const dialect of ["svc", "pgrst"] as const) {
  const suite = serviceSuite("clauses", {
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    dbAggregatesEnabled: true,
    dialect,
  }, { title: `clauses in dialect ${dialect}` });
  suite.rows("names", rows);
  suite.rows("refusals", [
    ["GET /marks?select=id.nope()", {}, 400, {
      code: dialect === "svc" ? "SVC164" : "PGRST100",
      message: "Function 'nope' is not available in URLs",
      details: null,
      hint: null,
    }],
  ]);
}
