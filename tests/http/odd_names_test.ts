/** Names that CSV quotes, that PostgreSQL would cut, and that statements of svc could have. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const [fits, long] = ["x".repeat(63), "x".repeat(64)];
/** 22 characters with 66 bytes in UTF-8. */
const wide = "€".repeat(22);

const header = 'id,"a,b","c""d","e\nf"';
const taken =
  "id,svc_number,svc_version,svc_n,svc_value,svc_row,svc_kept,svc_t,svc_merge_action,n,value";

for (const dialect of ["svc", "pgrst"] as const) {
  const prefix = dialect === "svc" ? "SVC" : "PGRST";
  const suite = serviceSuite("odd_names", {
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    dbAggregatesEnabled: true,
    dialect,
  }, {
    title: `odd names in dialect ${dialect}`,
  });
  const tooLong = (name: string) =>
    errorBody(`${prefix}100 | A name has more than 63 bytes | ${name} | Give it another alias`);

  suite.rows("names that PostgreSQL would cut", [
    [`GET /odd?select=${fits}:id&id=eq.1`, {}, 200, [{ [fits]: 1 }]],
    ...[
      `${long}:id`,
      `"${wide}":id`,
      `id,${fits}a:id,${fits}b:id`,
      `${long}:id::text`,
      `n:count(),${long}:id.max()`,
    ].map((select): Row => {
      const name = select.match(/x{63,}\w|€+/)![0];
      return [`GET /odd?select=${encodeURI(select)}`, {}, 400, tooLong(name)];
    }),
    [`GET /docs?select=doc-%3E${long}`, {}, 400, tooLong(long)],
    [`GET /docs?select=doc-%3E${long}&id=eq.2&select=id`, {}, 400, tooLong(long)],
    [`GET /docs?select=a:doc-%3E${long}`, {}, 200, [{ a: null }]],
    [`GET /docs?doc-%3E%3E${long}=eq.1&select=id`, {}, 200, []],
    [`GET /odd?${long}=eq.1`, {}, 400, tooLong(long)],
    [`GET /odd?order=${long}`, {}, 400, tooLong(long)],
    [
      `POST /odd?select=${long}:id`,
      {
        body: { id: 9 },
        headers: { Prefer: "return=representation" },
      },
      400,
      tooLong(long),
    ],
    [
      'GET /odd?select="svc:n":id',
      {},
      400,
      errorBody(
        `${prefix}100 | A name has svc: at its beginning | svc:n | Give it another alias`,
      ),
    ],
  ]);

  suite.rows("merge_action() beside a column of its name", [
    [
      "POST /taken?select=m:merge_action(),svc_merge_action",
      {
        body: { id: 9, svc_merge_action: "mine" },
        headers: { Prefer: "return=representation, resolution=merge-duplicates" },
      },
      201,
      [{ m: "INSERT", svc_merge_action: "mine" }],
    ],
  ]);

  suite.rows(
    "columns called like those of statements",
    answers()`
    GET /taken?select=n,value&order=n.desc | 200 [{"n":8,"value":"g"},{"n":7,"value":"g"}]
    GET /taken?select=svc_t,svc_row,svc_kept&id=eq.1 | 200 [{"svc_t":"f","svc_row":"d","svc_kept":"e"}]
    PATCH /taken?on=id&select=id,svc_n,svc_value {Prefer: return=representation}
      with [{"id":1,"svc_n":"x","svc_value":"y"},{"id":2,"svc_n":"z"}]
      200 [{"id":1,"svc_n":"x","svc_value":"y"},{"id":2,"svc_n":"z","svc_value":"c"}]
    PATCH /taken?on=svc_number&select=id,svc_n {Prefer: return=representation}
      with [{"svc_number":20,"svc_n":"q"}]
      200 [{"id":2,"svc_n":"q"}]
    POST /taken?select=id,svc_kept {Prefer: return=representation, resolution=merge-duplicates}
      with [{"id":1,"svc_kept":"k"},{"id":3,"svc_kept":"l"}]
      201 [{"id":1,"svc_kept":"k"},{"id":3,"svc_kept":"l"}]
  `,
  );

  suite.rows(
    "names in quotes are no nested items",
    ["f(x)", "a:b", "a!b", "*"].map((name): Row => [
      `POST /marks?columns="${encodeURIComponent(name)}",id&select=id,"${
        encodeURIComponent(name)
      }"`,
      {
        body: { id: 1, [name]: "m", nope: 1 },
        headers: { Prefer: "return=representation" },
      },
      201,
      [{ id: 1, [name]: "m" }],
    ]),
  );

  suite.rows("a byte order mark is a character of a name", [
    ["GET /%EF%BB%BFmarked", {}, 200, [{ "\ufeffid": 1, "\ufeff": "\ufeffx" }]],
    ["GET /%EF%BB%BFmarked?select=%22%EF%BB%BFid%22&%22%EF%BB%BFid%22=eq.1", {}, 200, [
      { "\ufeffid": 1 },
    ]],
    [
      "GET /marked",
      {},
      404,
      errorBody(
        `${prefix}205 | Could not find the table 'api.marked' in the schema cache |  | ` +
          "Perhaps you meant the table 'api.\ufeffmarked'",
      ),
    ],
    [
      "POST /%EF%BB%BFmarked",
      {
        body: { "\ufeffid": 2, "\ufeff": "\ufeffy" },
        headers: { Prefer: "return=representation" },
      },
      201,
      [{ "\ufeffid": 2, "\ufeff": "\ufeffy" }],
    ],
  ]);

  suite.test("every table can be posted back as CSV", async (api) => {
    for (const [table, names] of [["odd", header], ["taken", taken]] as const) {
      if (dialect === "pgrst" && table === "odd") continue;
      const csv = { Accept: "text/csv" };
      const response = await api(`GET /${table}?order=id`, { headers: csv });
      const text = await response.text();
      strictEqual(text.slice(0, names.length + 1), `${names}\n`);
      const before = await (await api(`GET /${table}?order=id`)).json();
      const Prefer = "return=representation, resolution=merge-duplicates";
      const headers = { "Content-Type": "text/csv", Prefer };
      const posted = await api(`POST /${table}?order=id`, { body: `${text}\n`, headers });
      deepStrictEqual([posted.status, await posted.json()], [200, before]);
    }
  });
}
