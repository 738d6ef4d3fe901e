import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { answer, errorBody } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api"],
  dbExtraSearchPath: ["public", "other"],
  dbAnonRole: "anon",
  dbPlanEnabled: true,
  dbTxEnd: "commit-allow-override",
} as const;
const suite = serviceSuite("representations", config, { title: "plans" });

const plan = "application/vnd.svc.plan";
const accept = (Accept: string, more: Record<string, string> = {}) => ({
  headers: { Accept, ...more },
});

/** `Accept`, and the `Content-Type` of its answer. */
const types: readonly (readonly [string, string])[] = [
  [plan, `${plan}+text; for="application/json"; charset=utf-8`],
  [`${plan}+text`, `${plan}+text; for="application/json"; charset=utf-8`],
  [`${plan}+json`, `${plan}+json; for="application/json"; charset=utf-8`],
  [`text/unknown, ${plan}+json`, `${plan}+json; for="application/json"; charset=utf-8`],
  [
    `${plan}+json; for="application/vnd.svc.object"; options=verbose`,
    `${plan}+json; for="application/vnd.svc.object+json"; options=verbose; charset=utf-8`,
  ],
  [
    `${plan}+json; options=wal|buffers|analyze|nonsense|analyze`,
    `${plan}+json; for="application/json"; options=analyze|buffers|wal; charset=utf-8`,
  ],
  [
    `${plan}; for="text/csv"; options=settings`,
    `${plan}+text; for="text/csv"; options=settings; charset=utf-8`,
  ],
  [
    `${plan}; for="text/tab-separated-values"`,
    `${plan}+text; for="text/tab-separated-values"; charset=utf-8`,
  ],
  [
    `application/vnd.pgrst.plan+json`,
    `application/vnd.pgrst.plan+json; for="application/json"; charset=utf-8`,
  ],
];

suite.test("plans are sent as what they were asked for", async (api) => {
  for (const [type, sent] of types) {
    const response = await api("GET /items", accept(type));
    strictEqual(response.status, 200, type);
    strictEqual(response.headers.get("Content-Type"), sent);
    const text = await response.text();
    strictEqual(Number(response.headers.get("Content-Length")), text.length);
    strictEqual(text.endsWith("\n"), true);
    if (sent.includes("+json; for")) {
      strictEqual(JSON.parse(text)[0].Plan["Node Type"], "Aggregate");
    } else match(text, /^Aggregate .*\n/);
  }
});

suite.test("settings of plans are those of the transaction, and that jit is off", async (api) => {
  const response = await api("GET /items", accept(`${plan}; options=settings`));
  const [settings] = /^Settings: .*$/m.exec(await response.text()) ?? [""];
  for (const setting of ["jit = 'off'", `search_path = '"api", "public", "other", pg_temp'`]) {
    ok(settings.includes(setting), settings);
  }
});

const refused: readonly (readonly [string, string])[] = [
  [`${plan}; for="text/unknown"`, `${plan}+text; for="text/unknown"`],
  [`${plan}; for="${plan}"`, `${plan}+text; for="${plan}+text; for="application/json""`],
];
suite.rows(
  "plans of what nobody makes",
  refused.map((
    [type, shown],
  ) => [
    "GET /items",
    accept(type),
    406,
    errorBody(`SVC107 | None of these media types are available: ${shown}`),
  ]),
);

const quiet = ["Content-Range", "Preference-Applied", "Location", "Content-Location"];
const requests: readonly (readonly [string, unknown])[] = [
  ["GET /items?limit=1", undefined],
  ["POST /items", { id: 1, name: "there already" }],
  ["PATCH /items?id=eq.1", { name: "x" }],
  ["PUT /items?id=eq.50", { id: 50, name: "x", note: null }],
  ["DELETE /items?id=eq.1", undefined],
  ["GET /rpc/items_from?first=2", undefined],
  ["POST /rpc/items_from", { first: 2 }],
  ["POST /rpc/silent", undefined],
];

suite.test("every kind of request has a plan, of which nothing else is told", async (api) => {
  for (const [line, body] of requests) {
    const preferred = { Prefer: "count=exact, return=representation, handling=strict" };
    const response = await api(line, { ...accept(`${plan}+json`, preferred), body });
    const text = await response.text();
    strictEqual(response.status, 200, `${line} ${text}`);
    for (const name of quiet) strictEqual(response.headers.get(name), null, `${line} ${name}`);
    strictEqual(response.headers.get("Vary"), "Accept, Prefer, Range, Authorization, Origin");
    ok(JSON.parse(text)[0].Plan);
  }
  const rows = await api("GET /items?select=id&order=id");
  deepStrictEqual(await rows.json(), [{ id: 1 }, { id: 2 }, { id: 3 }]);
});

suite.test("numbers of rows are not looked at", async (api) => {
  const singular = `${plan}; for="application/vnd.svc.object"`;
  const headers = { Prefer: "handling=strict, max-affected=0" };
  for (const line of ["GET /items", "GET /items?offset=100", "DELETE /items"]) {
    strictEqual((await api(line, accept(singular, headers))).status, 200, line);
  }
});

async function names(api: Api): Promise<unknown> {
  return await (await api("GET /plain?select=name&id=eq.1")).json();
}

suite.test("analyze runs the statement, and its changes are kept unless rolled back", async (api) => {
  const analyzed = `${plan}; options=analyze`;
  const write = (name: string, prefer: string) =>
    api("PATCH /plain?id=eq.1", { ...accept(analyzed, { Prefer: prefer }), body: { name } });
  match(await (await write("lost", "tx=rollback")).text(), /actual /);
  deepStrictEqual(await names(api), [{ name: "x" }]);
  match(await (await write("kept", "tx=commit")).text(), /actual /);
  deepStrictEqual(await names(api), [{ name: "kept" }]);
});

suite.test("statuses and headers of database code are not applied", async (api) => {
  const response = await api(
    "GET /rpc/whatever",
    accept(`${plan}; for="text/html"; options=analyze`),
  );
  strictEqual(response.status, 200);
  strictEqual(
    response.headers.get("Content-Type"),
    `${plan}+text; for="text/html"; options=analyze; charset=utf-8`,
  );
});
suite.rows("errors stay errors", [
  [
    "GET /items?zzzzzz=eq.1",
    accept(plan),
    ...answer("400 42703 | column items.zzzzzz does not exist"),
  ],
]);
