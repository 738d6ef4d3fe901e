/** Which requests may use a standby, and which of them have a bookmark. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import {
  base,
  fixture,
  marked,
  newBookmark,
  openReplicated,
  prefer,
  type ReplicatedApi,
  type ReplicaUse,
  requests,
  sent,
} from "../support/handler/replicated_api.ts";
import type { RequestParts } from "../support/handler/request.ts";

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

const accept = (value: string): RequestParts => ({ headers: { Accept: value } });
const form = { "Content-Type": "application/x-www-form-urlencoded" };
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
    ...(on === "standby" ? { standby: { bookmark, schemaAgeMs: 5000 } } : {}),
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
];

for (const { name, rows, config = "", header = "Svc-Bookmark" } of suites) {
  Deno.test(`replicas: ${name}`, async (context) => {
    await using api = await openReplicated({ fixture, config: base + config });
    api.wait(5000);
    for (const row of rows) {
      const fn = () => checkRow(api, row, header);
      const label = `${row[0]} ${JSON.stringify(row[1].headers ?? {})}`;
      await context.step({ name: label, fn, sanitizeOps: false, sanitizeResources: false });
    }
  });
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
    await using api = await openReplicated({ fixture, config });
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
  await using api = await openReplicated({ fixture, config });
  api.wait(5000);
  await checkRow(api, ["GET /balances", {}, standby], "Svc-Bookmark");
  await checkRow(api, ["GET /rpc/credit?id=1", {}, standby], "Svc-Bookmark");
});

Deno.test("replicas: a read carries the age of the schema cache", async () => {
  await using api = await openReplicated({ fixture, config: base });
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

const fallbacks: readonly (readonly [fallback: string, isReady: boolean])[] = [
  ["primary", true],
  ["error", false],
];
for (const [fallback, isReady] of fallbacks) {
  Deno.test(`replicas: readiness without a standby is ${isReady} with db-replica-fallback = ${fallback}`, async () => {
    const config = `${base}db-replica-fallback = "${fallback}"\n`;
    await using api = await openReplicated({ fixture, config });
    strictEqual(await api.service.isReady(), isReady);
  });
}
