/** Which requests may use a standby, and how bookmarks travel. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { Engine } from "../support/engines.ts";
import { callMcp } from "../support/mcp_client.ts";
import {
  newBookmark,
  openReplicated,
  type ReplicatedApi,
  type ReplicaUse,
} from "../support/replicated_api.ts";
import type { RequestParts } from "../support/request.ts";

const fixture = { name: "replicas", roles: ["anon", "writer"] };

const base = `
  db-schemas = "api"
  db-anon-role = "anon"
  db-comment-tags = true
  db-plan-enabled = true
  db-tx-end = "commit-allow-override"
  server-query-method = true
  batch-max-operations = 10
  idempotency-table = "svc.idempotency_keys"
  etag-mode = "on"
  mcp-path = "/mcp"
  mcp-write = "parts"
`;

/** Where a request is executed, whether its result has a bookmark, and its own bookmark. */
interface Expected {
  readonly on: "primary" | "standby";
  readonly wants?: true;
  readonly bookmark?: string | null;
  readonly status?: number;
}

type Row = readonly [line: string, parts: RequestParts, expected: Expected];

const standby: Expected = { on: "standby" };
const primary: Expected = { on: "primary" };
const write: Expected = { on: "primary", wants: true };

const prefer = (value: string, parts: RequestParts = {}): RequestParts => ({
  ...parts,
  headers: { ...parts.headers, Prefer: value },
});
const accept = (value: string): RequestParts => ({ headers: { Accept: value } });
const form = { "Content-Type": "application/x-www-form-urlencoded" };
const marked = (value: string, name = "Svc-Bookmark"): RequestParts => ({
  headers: { [name]: value },
});
const sent = "1-0000000004980000";
const requests = (
  ...all: readonly (readonly [method: string, url: string, body?: unknown])[]
) => ({ requests: all.map(([method, url, body]) => ({ method, url, body })) });

const routes: readonly Row[] = [
  ["GET /items", {}, standby],
  ["HEAD /items?id=eq.1", {}, standby],
  ["GET /items?select=id,parts(label)", prefer("count=exact"), standby],
  ["GET /items", prefer("count=planned, handling=strict"), standby],
  ["GET /items", { headers: { "If-None-Match": '"x"' } }, standby],
  ["GET /items", { as: "writer" }, standby],
  ["QUERY /items", { headers: form, body: "id=eq.1" }, standby],
  ["POST /items/$query", { headers: form, body: "id=eq.1" }, standby],
  ["GET /rpc/find?wanted=1", {}, standby],
  ["HEAD /rpc/find?wanted=1", {}, standby],
  ["POST /rpc/find", { body: { wanted: 1 } }, standby],
  ["QUERY /rpc/find", { body: { wanted: 1 } }, standby],
  ["POST /rpc/add", { body: { a: 1, b: 2 } }, standby],
  ["GET /items", accept("application/vnd.svc.plan+text"), standby],
  ["GET /items", accept("application/vnd.svc.plan+text; options=analyze"), primary],
  ["POST /rpc/find", { ...accept("application/vnd.svc.plan+json"), body: { wanted: 1 } }, standby],
  ["GET /items", prefer("read=primary"), primary],
  ["GET /items", prefer("handling=strict, read=primary"), primary],
  ["GET /items", prefer("tx=rollback"), primary],
  ["GET /items", prefer("tx=commit"), primary],
  ["POST /rpc/find", prefer("read=primary", { body: { wanted: 1 } }), primary],
  // Volatile functions, wherever a read reaches them.
  ["GET /dice", {}, primary],
  ["GET /rpc/roll", {}, primary],
  ["POST /rpc/roll", {}, write],
  // `@primary` of relations and functions, wherever a read reaches them.
  ["GET /balances", {}, primary],
  ["GET /wallets", {}, primary],
  ["GET /items?select=id,wallets(id)", {}, primary],
  ["GET /rpc/credit?id=1", {}, primary],
  ["POST /rpc/credit", { body: { id: 1 } }, primary],
  ["GET /items?select=id,rank", {}, primary],
  ["GET /items?rank=eq.1", {}, primary],
  // A standby refuses serializable transactions.
  ["GET /rpc/careful", {}, primary],
  ["GET /", {}, primary],
  ["GET /missing", {}, { on: "primary", status: 404 }],
];

const writes: readonly Row[] = [
  ["POST /parts", { body: { label: "a" } }, write],
  ["POST /parts", prefer("return=representation", { body: { label: "b" } }), write],
  ["POST /parts", prefer("tx=rollback", { body: { label: "c" } }), primary],
  ["POST /items?columns=id,name,parts(label)", {
    body: [{ id: 7, name: "seven", parts: [{ label: "x" }] }],
  }, write],
  ["PATCH /items?id=eq.2", { body: { name: "zwei" } }, write],
  [
    "PATCH /items?id=eq.2",
    prefer("handling=strict, max-affected=1", { body: { name: "2" } }),
    write,
  ],
  ["PATCH /items?id=eq.2", prefer("handling=strict, read=primary", { body: { name: "2" } }), write],
  ["PATCH /items?id=eq.2", { headers: { "If-Match": "*" }, body: { name: "two" } }, write],
  ["PUT /items?id=eq.8", { body: { id: 8, name: "eight" } }, write],
  ["DELETE /items?id=eq.8", {}, write],
  ["POST /rpc/rename", { body: { id: 1, name: "one" } }, write],
  [
    "PATCH /items?id=eq.2",
    { ...accept("application/vnd.svc.plan+json"), body: { name: "2" } },
    write,
  ],
  ["POST /", { body: requests(["GET", "/items"]) }, primary],
  ["POST /", { body: requests(["GET", "/items"], ["POST", "/parts", {}]) }, write],
  ["POST /", prefer("tx=rollback", { body: requests(["POST", "/parts", {}]) }), primary],
  [
    "POST /",
    prefer("handling=strict, read=primary", { body: requests(["GET", "/items"]) }),
    primary,
  ],
];

const bookmarks: readonly Row[] = [
  ["GET /items", marked(sent), { on: "standby", wants: true, bookmark: sent }],
  ["HEAD /items", marked(sent), { on: "standby", wants: true, bookmark: sent }],
  ["GET /rpc/add?a=1&b=2", marked(sent), { on: "standby", wants: true, bookmark: sent }],
  // The adapter takes a text that is no bookmark for a read of the primary.
  ["GET /items", marked("yesterday"), { on: "standby", wants: true, bookmark: "yesterday" }],
  ["GET /items", marked("9".repeat(64)), { on: "standby", wants: true, bookmark: "9".repeat(64) }],
  ["GET /items", marked("9".repeat(65)), { on: "standby", wants: true, bookmark: "" }],
  ["GET /items", marked("a b"), { on: "standby", wants: true, bookmark: "" }],
  ["GET /items", marked("a\tb"), { on: "standby", wants: true, bookmark: "" }],
  ["GET /items", marked("\u00e9"), { on: "standby", wants: true, bookmark: "" }],
  ["GET /items", marked(`${sent} ,1-7`), { on: "standby", wants: true, bookmark: `${sent},1-7` }],
  ["GET /items", marked(`${sent},`), { on: "standby", wants: true, bookmark: "" }],
  ["GET /items", marked(Array(8).fill(1).join()), {
    on: "standby",
    wants: true,
    bookmark: "1,1,1,1,1,1,1,1",
  }],
  ["GET /items", marked(Array(9).fill(1).join()), { on: "standby", wants: true, bookmark: "" }],
  ["GET /items", marked(",".repeat(5000)), { on: "standby", wants: true, bookmark: "" }],
  ["GET /items", marked(""), standby],
  ["GET /items", marked(sent, "Pgrst-Bookmark"), standby],
  ["GET /items", marked(`svc-bookmark=${sent}`, "Cookie"), standby],
  // Reads of the primary have a bookmark if they came with one.
  ["GET /dice", marked(sent), { on: "primary", wants: true }],
  ["GET /items", prefer("read=primary", marked(sent)), { on: "primary", wants: true }],
  ["GET /items", prefer("tx=rollback", marked(sent)), { on: "primary", wants: true }],
  ["GET /", marked(sent), { on: "primary", wants: true }],
  ["POST /", { ...marked(sent), body: requests(["GET", "/items"]) }, write],
  ["POST /parts", prefer("tx=rollback", { ...marked(sent), body: {} }), primary],
];

const inPgrst: readonly Row[] = [
  ["GET /items", marked(sent, "Pgrst-Bookmark"), { on: "standby", wants: true, bookmark: sent }],
  ["GET /items", marked(sent), standby],
  ["GET /items", prefer("read=primary"), primary],
  ["POST /parts", { body: {} }, write],
];

const withCookie: readonly Row[] = [
  ["GET /items", marked(`svc-bookmark=${sent}`, "Cookie"), {
    on: "standby",
    wants: true,
    bookmark: sent,
  }],
  ["GET /items", { headers: { Cookie: "svc-bookmark=1-0", "Svc-Bookmark": sent } }, {
    on: "standby",
    wants: true,
    bookmark: sent,
  }],
  ["GET /items", marked("svc-bookmark=", "Cookie"), standby],
  ["GET /items", marked('svc-bookmark="a b"', "Cookie"), {
    on: "standby",
    wants: true,
    bookmark: "",
  }],
  ["POST /parts", { body: {} }, write],
];

const errors: readonly Row[] = [
  ["POST /items", { body: { id: 1, name: "again" } }, { ...write, status: 409 }],
  ["PATCH /items?id=gt.0", prefer("handling=strict, max-affected=1", { body: { name: "x" } }), {
    ...write,
    status: 400,
  }],
  ["GET /items?nope=eq.1", marked(sent), {
    on: "standby",
    wants: true,
    bookmark: sent,
    status: 400,
  }],
];

/** Returns how a request must use replicas. */
function useOf({ on, wants, bookmark = null }: Expected): Partial<ReplicaUse> {
  return {
    ...(wants === undefined ? {} : { wantsBookmark: true }),
    ...(on === "standby" ? { standby: { bookmark, isRepeatable: true, schemaAgeMs: 5000 } } : {}),
  };
}

/** Sends a request three times: its plan is made, made for the plan cache, and found there. */
async function checkRow(api: ReplicatedApi, row: Row, header: string): Promise<void> {
  const [line, parts, expected] = row;
  const isRead = expected.wants === undefined || expected.bookmark !== undefined;
  for (let time = 0; time < (isRead ? 3 : 1); time++) {
    const response = await api.send(line, parts);
    const uses = api.take();
    strictEqual(response.ok || response.status === 304, expected.status === undefined);
    if (expected.status !== undefined) strictEqual(response.status, expected.status);
    deepStrictEqual(
      uses.map(({ access: _, ...use }) => use),
      response.status === 404 ? [] : [useOf(expected)],
    );
    const isSent = expected.wants === true && expected.status === undefined;
    strictEqual(response.headers.get(header), isSent ? newBookmark : null);
    match(response.headers.get("Vary") ?? "", new RegExp(`\\b${header}\\b`));
  }
}

interface Suite {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly config?: string;
  readonly header?: string;
}

const suites: readonly Suite[] = [
  { name: "routes", rows: [...routes, ...writes, ...bookmarks, ...errors] },
  { name: "pgrst", rows: inPgrst, config: 'dialect = "pgrst"', header: "Pgrst-Bookmark" },
  { name: "cookie", rows: withCookie, config: "db-bookmark-cookie = true" },
];

for (const engine of ["pg", "pglite"] as const satisfies readonly Engine[]) {
  for (const { name, rows, config = "", header = "Svc-Bookmark" } of suites) {
    Deno.test(`[${engine}] replicas: ${name}`, async (context) => {
      await using api = await openReplicated({ engine, fixture, config: base + config });
      api.wait(5000);
      for (const row of rows) {
        const fn = () => checkRow(api, row, header);
        const label = `${row[0]} ${JSON.stringify(row[1].headers ?? {})}`;
        await context.step({ name: label, fn, sanitizeOps: false, sanitizeResources: false });
      }
    });
  }
}

/** What the function before each request lets through. */
const preRequests: readonly (readonly [option: string, on: Expected["on"]])[] = [
  ["api.check_stable", "standby"],
  ["api.check_volatile", "primary"],
  // The search path decides which function it is.
  ["check_stable", "primary"],
];

for (const [preRequest, on] of preRequests) {
  Deno.test(`replicas: reads go to the ${on} with db-pre-request = ${preRequest}`, async () => {
    const config = `${base}db-pre-request = "${preRequest}"\n`;
    await using api = await openReplicated({ engine: "pg", fixture, config });
    api.wait(5000);
    await checkRow(api, ["GET /items", {}, { on }], "Svc-Bookmark");
    const reason = "db-pre-request may run a volatile function";
    deepStrictEqual(
      api.events.filter(({ kind }) => kind === "standbys-unused"),
      on === "standby" ? [] : [{ kind: "standbys-unused", reason }],
    );
  });
}

Deno.test("replicas: @primary is text without db-comment-tags", async () => {
  const config = base.replace("db-comment-tags = true", "");
  await using api = await openReplicated({ engine: "pg", fixture, config });
  api.wait(5000);
  await checkRow(api, ["GET /balances", {}, standby], "Svc-Bookmark");
  await checkRow(api, ["GET /rpc/credit?id=1", {}, standby], "Svc-Bookmark");
});

Deno.test("replicas: a read carries the age of the schema cache", async () => {
  await using api = await openReplicated({ engine: "pg", fixture, config: base });
  const ageOf = async () => {
    await api.send("GET /items");
    return (api.take()[0]!.standby as { readonly schemaAgeMs: number }).schemaAgeMs;
  };
  strictEqual(await ageOf(), 0);
  api.wait(300);
  strictEqual(await ageOf(), 300);
  await api.service.reloadConfig();
  api.take();
  strictEqual(await ageOf(), 300);
  await api.service.reloadSchema();
  api.take();
  strictEqual(await ageOf(), 0);
});

const applied: readonly (readonly [
  line: string,
  parts: RequestParts,
  withReplicas: string | null,
  without: string | null,
])[] = [
  ["GET /items", {}, null, null],
  ["GET /items", prefer("read=primary"), "read=primary", null],
  [
    "GET /items",
    prefer("read=primary, count=exact, handling=strict, numbers=string"),
    "count=exact, handling=strict, numbers=string, read=primary",
    "count=exact, handling=strict, numbers=string",
  ],
  ["GET /rpc/add?a=1&b=2", prefer("read=primary"), "read=primary", null],
  ["POST /rpc/add", prefer("read=primary", { body: { a: 1, b: 2 } }), "read=primary", null],
  ["POST /rpc/roll", prefer("read=primary"), null, null],
  ["POST /parts", prefer("read=primary", { body: {} }), null, null],
  ["POST /", prefer("read=primary", { body: requests(["GET", "/items"]) }), "read=primary", null],
];

const fallbacks: readonly (readonly [fallback: string, isReady: boolean])[] = [
  ["primary", true],
  ["error", false],
];
for (const [fallback, isReady] of fallbacks) {
  Deno.test(`replicas: readiness without a standby is ${isReady} with db-replica-fallback = ${fallback}`, async () => {
    const config = `${base}db-replica-fallback = "${fallback}"\n`;
    await using api = await openReplicated({ engine: "pg", fixture, config });
    strictEqual(await api.service.isReady(), isReady);
  });
}

Deno.test("replicas: Preference-Applied has read=primary only with replicas", async () => {
  await using api = await openReplicated({ engine: "pg", fixture, config: base });
  await using alone = await openReplicated({
    engine: "pg",
    fixture,
    config: base,
    hasStandbys: false,
  });
  for (const [line, parts, withReplicas, without] of applied) {
    const appliedOf = async ({ send }: ReplicatedApi) =>
      (await send(line, parts)).headers.get("Preference-Applied");
    deepStrictEqual([await appliedOf(api), await appliedOf(alone)], [withReplicas, without], line);
  }
});

Deno.test("without replicas a bookmark is ignored, and read=primary is known", async () => {
  const config = `${base}db-bookmark-cookie = true\n`;
  await using api = await openReplicated({ engine: "pg", fixture, config, hasStandbys: false });
  const cookie = `svc-bookmark=${sent}`;
  const headers = {
    "Svc-Bookmark": "\u00e9",
    Cookie: cookie,
    Prefer: "handling=strict, read=primary",
  };
  for (const line of ["GET /items", "POST /parts"]) {
    const response = await api.send(
      line,
      line.startsWith("POST") ? { headers, body: {} } : { headers },
    );
    strictEqual(response.ok, true);
    strictEqual(response.headers.get("Svc-Bookmark"), null);
    strictEqual(response.headers.get("Set-Cookie"), null);
    strictEqual(response.headers.get("Vary"), "Accept, Prefer, Range");
  }
});

Deno.test("replicas: the cookie has the bookmark of writes, and of reads that came with one", async () => {
  const config = `${base}db-bookmark-cookie = true\n`;
  await using api = await openReplicated({ engine: "pg", fixture, config });
  const cookieOf = async (line: string, parts: RequestParts) => {
    const { headers } = await api.send(line, parts);
    strictEqual(headers.get("Vary"), "Accept, Prefer, Range, Svc-Bookmark, Cookie");
    return headers.get("Set-Cookie");
  };
  const set = `svc-bookmark=${newBookmark}; Max-Age=60; HttpOnly; SameSite=Lax; Path=/`;
  strictEqual(await cookieOf("POST /parts", { body: {} }), set);
  strictEqual(await cookieOf("GET /items", { headers: { Cookie: "svc-bookmark=x" } }), set);
  strictEqual(await cookieOf("GET /items", marked(sent)), set);
  strictEqual(await cookieOf("GET /items", {}), null);
});

Deno.test("replicas: the cookie of a tenant has its name", async () => {
  const config = `${base}db-bookmark-cookie = true\n`;
  await using api = await openReplicated({ engine: "pg", fixture, config, tenant: "acme" });
  const { headers } = await api.send("POST /parts", { body: {} });
  match(headers.get("Set-Cookie")!, new RegExp(`^svc-bookmark-acme=${newBookmark};`));
  api.take();
  for (const [cookie, bookmark] of [["svc-bookmark-acme=x", "x"], ["svc-bookmark=x", null]]) {
    await api.send("GET /items", { headers: { Cookie: cookie! } });
    const [use] = api.take();
    strictEqual((use!.standby as { readonly bookmark: string | null }).bookmark, bookmark);
  }
});

Deno.test("replicas: a repeated Idempotency-Key gets a bookmark of its own", async () => {
  await using api = await openReplicated({ engine: "pg", fixture, config: base });
  const batch = { body: requests(["POST", "/parts", { label: "x" }]) };
  for (const [line, parts] of [["POST /parts", { body: {} }], ["POST /", batch]] as const) {
    const headers = { "Idempotency-Key": line.replace(" ", "-") };
    for (const replayed of [null, "true"]) {
      const response = await api.send(line, { ...parts, headers });
      strictEqual(response.headers.get("Idempotent-Replayed"), replayed);
      // The answer that is kept has no bookmark, else there would be two.
      strictEqual(response.headers.get("Svc-Bookmark"), newBookmark);
    }
    deepStrictEqual(
      api.take(),
      [write, write, write].map(() => ({
        access: "read write",
        wantsBookmark: true,
      })),
    );
  }
});

Deno.test("replicas: pages of other origins see the bookmark", async () => {
  await using api = await openReplicated({ engine: "pg", fixture, config: base });
  const { headers } = await api.send("GET /items", { headers: { Origin: "http://page.test" } });
  match(headers.get("Access-Control-Expose-Headers")!, /\bSvc-Bookmark\b/);
  const preflight = await api.send("OPTIONS /items", {
    headers: {
      Origin: "http://page.test",
      "Access-Control-Request-Method": "GET",
      "Access-Control-Request-Headers": "svc-bookmark",
    },
  });
  match(preflight.headers.get("Access-Control-Allow-Headers")!, /\bsvc-bookmark\b/);
});

Deno.test("replicas: calls of agents are routed as the requests that they make", async () => {
  await using api = await openReplicated({ engine: "pg", fixture, config: base });
  const bookmarkOf: (string | null)[] = [];
  const call = async (tool: string, args: Readonly<Record<string, unknown>>) => {
    api.take();
    bookmarkOf.length = 0;
    await callMcp(api.handler, [tool, args, {
      headers: { "Svc-Bookmark": sent },
      onExchange: (_request, response) => bookmarkOf.push(response.headers.get("Svc-Bookmark")),
    }]);
    return [api.take().at(-1), bookmarkOf.at(-1)];
  };
  const standbyRead = { bookmark: sent, isRepeatable: true, schemaAgeMs: 0 };
  deepStrictEqual(await call("query", { relation: "items" }), [
    { access: "read only", wantsBookmark: true, standby: standbyRead },
    newBookmark,
  ]);
  deepStrictEqual(await call("insert_rows", { relation: "parts", rows: [{ label: "m" }] }), [
    { access: "read write", wantsBookmark: true },
    newBookmark,
  ]);
});
