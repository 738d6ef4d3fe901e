/** Entity tags and preconditions: 304 for what a client has, 412 for what it has not seen. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { type Api, apiSuite, serviceSuite } from "../support/handler/api.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { errorBody } from "../support/handler/rows.ts";

const base = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbAggregatesEnabled: true,
} as const;
const config = { ...base, etagMode: "on", etagVersionColumns: ["version"] } as const;
const roles = ["anon", "writer", "clerk"];
const suite = apiSuite("etags", config, { title: "etags", roles });
const off = serviceSuite("etags", base, { title: "etags, off", roles });

const csv = { Accept: "text/csv" } as const;
const object = { Accept: "application/vnd.svc.object+json" } as const;
const counted = { Prefer: "count=exact" } as const;

/** A tag of one row, and one of content alone. */
const rowTag = /^"[0-9a-f]{16}-[0-9a-f]{32}"$/;
const contentTag = /^"-[0-9a-f]{32}"$/;

async function tagOf(api: Api, line: string, parts: RequestParts = {}): Promise<string> {
  const response = await api(line, parts);
  ok(response.ok, await response.clone().text());
  return response.headers.get("ETag") ?? "no tag";
}

function ifNoneMatch(tag: string, { headers, ...parts }: RequestParts = {}): RequestParts {
  return { ...parts, headers: { ...headers, "If-None-Match": tag } };
}

/** Requests whose answers have a tag, and its form. */
const tagged: readonly (readonly [line: string, parts: RequestParts, form: RegExp])[] = [
  ["GET /orders?id=eq.1", {}, rowTag],
  ["GET /orders?customer=eq.customer%202", {}, rowTag],
  ["GET /orders?limit=1", {}, rowTag],
  ["GET /orders?id=eq.1", { headers: csv }, rowTag],
  ["GET /orders?customer=eq.customer%202", { headers: csv }, rowTag],
  ["GET /orders?id=eq.1", { headers: object }, rowTag],
  ["GET /orders?id=eq.1", { headers: counted }, rowTag],
  [
    "GET /orders?id=eq.1",
    { headers: { Accept: "application/vnd.svc.array+json;nulls=stripped" } },
    rowTag,
  ],
  ["GET /orders?id=eq.1", { headers: { Accept: "text/list" } }, rowTag],
  ["GET /orders?select=id,lines(sku)&id=eq.1", {}, rowTag],
  ["GET /orders?select=id,lines(sku)&order=id&limit=1", {}, rowTag],
  ["GET /lines?select=id,...orders(status)&order=id&limit=1", {}, rowTag],
  ["GET /orders?select=&id=eq.1", {}, rowTag],
  ["GET /events?id=eq.1", {}, rowTag],
  ["GET /note_list?id=eq.1&select=text", {}, rowTag],
  ["GET /notes?id=eq.1", {}, rowTag],
  ["GET /orders", {}, contentTag],
  ["GET /orders", { headers: csv }, contentTag],
  ["GET /orders", { headers: counted }, contentTag],
  ["GET /orders", { headers: { Prefer: "count=planned" } }, contentTag],
  ["GET /orders", { headers: { Accept: "text/list" } }, contentTag],
  ["GET /orders?id=eq.9", {}, contentTag],
  ["GET /orders?order=id&limit=2", {}, contentTag],
  ["GET /orders?select=id,lines(sku)&order=id&limit=2", {}, contentTag],
  ["GET /orders?select=count()", {}, contentTag],
  ["GET /orders?select=status&distinct=*", {}, contentTag],
  ["GET /order_names?id=eq.1", {}, contentTag],
  ["GET /rpc/order_of?order_id=1", {}, contentTag],
  ["GET /rpc/order_of?order_id=1", { headers: counted }, contentTag],
  ["GET /rpc/order_of?order_id=1", { headers: csv }, contentTag],
  ["GET /rpc/one_order?order_id=1", {}, contentTag],
  ["GET /rpc/order_count", {}, contentTag],
  ["GET /rpc/bytes", {}, contentTag],
  ["GET /", {}, contentTag],
  ["GET /", { headers: { Accept: "application/openapi+json;version=3.1" } }, contentTag],
];

for (const [line, parts, form] of tagged) {
  suite.test(`a tag: ${line} ${JSON.stringify(parts)}`, async (api) => {
    // The second request of a shape is learned, the third is answered from that.
    for (let time = 0; time < 3; time++) {
      const first = await api(line, parts);
      ok(first.ok, await first.clone().text());
      const tag = first.headers.get("ETag") ?? "no tag";
      match(tag, form);
      const again = await api(line, ifNoneMatch(tag, parts));
      strictEqual(again.status, 304, await again.text());
      deepStrictEqual(Object.fromEntries(again.headers), keptOf(first.headers));
      for (const list of [`W/${tag}`, `"x", W/${tag} , "y"`, "*"]) {
        strictEqual((await api(line, ifNoneMatch(list, parts))).status, 304, list);
      }
      const other = await api(line, ifNoneMatch('"x", "y"', parts));
      strictEqual(other.status, first.status);
      strictEqual(await other.text(), await first.text());
    }
  });
}

/** Returns the headers of 304. */
function keptOf(headers: Headers): Readonly<Record<string, string>> {
  const kept = ["content-location", "etag", "server", "vary"];
  return Object.fromEntries([...headers].filter(([name]) => kept.includes(name)));
}

const untagged: readonly (readonly [line: string, parts: RequestParts, status: number])[] = [
  ["HEAD /orders?id=eq.1", {}, 200],
  ["HEAD /rpc/order_count", {}, 200],
  ["HEAD /", {}, 200],
  ["GET /numbers", {}, 200],
  ["GET /orders", { headers: { Accept: "application/x-ndjson" } }, 200],
  ["GET /orders?offset=9", { headers: counted }, 416],
  ["GET /rpc/nothing", {}, 204],
  ["GET /none", {}, 404],
  ["OPTIONS /orders", {}, 200],
  ["PATCH /orders?id=eq.3", { body: { status: "new" } }, 204],
  ["POST /orders", { body: { id: 90, customer: "c" } }, 201],
  ["DELETE /orders?id=eq.90", {}, 204],
];

suite.test("answers without a body of one value have no tag", async (api) => {
  for (const [line, parts, status] of untagged) {
    const response = await api(line, ifNoneMatch("*", parts));
    deepStrictEqual([response.status, response.headers.get("ETag")], [status, null], line);
  }
});

suite.test("the bodies are those of answers without tags", async (api) => {
  const reads = tagged.filter(([line]) => line !== "GET /");
  const bodies: string[] = [];
  for (const [line, parts] of reads) bodies.push(await (await api(line, parts)).text());
  sentBodies.set(`on, ${api.engine}`, bodies);
});

off.test("the bodies are those of answers with tags", async (api) => {
  const reads = tagged.filter(([line]) => line !== "GET /");
  const bodies: string[] = [];
  for (const [line, parts] of reads) {
    const response = await api(line, parts);
    strictEqual(response.headers.get("ETag"), null);
    bodies.push(await response.text());
  }
  const expected = sentBodies.get(`on, ${api.engine}`);
  if (expected !== undefined) deepStrictEqual(bodies, expected);
});

const sentBodies = new Map<string, readonly string[]>();

suite.test("a row, an embedded row and a total change the tag", async (api) => {
  const lines = [
    ["GET /orders?id=eq.2", {}],
    ["GET /orders?id=eq.2&select=id,lines(sku)", {}],
    ["GET /orders", {}],
    ["GET /orders?limit=1&order=id", { headers: counted }],
    ["GET /rpc/order_count", {}],
    ["GET /rpc/order_of?order_id=2", {}],
  ] as const;
  const tags = () => Promise.all(lines.map(([line, parts]) => tagOf(api, line, parts)));
  const changed = (before: readonly string[], after: readonly string[]) =>
    after.flatMap((tag, index) => tag === before[index] ? [] : [index]);
  const first = await tags();
  deepStrictEqual(changed(first, await tags()), []);
  strictEqual((await api("PATCH /orders?id=eq.2", { body: { total: 1 } })).status, 204);
  const second = await tags();
  deepStrictEqual(changed(first, second), [0, 1, 2, 5]);
  strictEqual((await api("PATCH /lines?id=eq.3", { body: { sku: "D" } })).status, 204);
  const third = await tags();
  deepStrictEqual(changed(second, third), [1]);
  strictEqual((await api("POST /orders", { body: { id: 50, customer: "c" } })).status, 201);
  const fourth = await tags();
  deepStrictEqual(changed(third, fourth), [2, 3, 4]);
  strictEqual((await api("DELETE /orders?id=eq.50")).status, 204);
  deepStrictEqual(changed(third, await tags()), []);
});

/** What `response.status` and `response.headers` are set to, and the answer to a tag that the client has. */
const overrides: readonly (readonly [
  status: string,
  headers: string,
  list: string,
  expected: readonly [number, string | null],
])[] = [
  ["", '[{"ETag": "\\"own\\""}]', '"own"', [304, '"own"']],
  ["", '[{"ETag": "W/\\"own\\""}]', '"own"', [304, 'W/"own"']],
  ["", '[{"etag": "\\"own\\""}]', '"other"', [200, '"own"']],
  ["", '[{"ETag": "\\"own\\""}]', "<tag>", [200, '"own"']],
  ["", '[{"\\u0045Tag": "\\"own\\""}]', "<tag>", [200, '"own"']],
  ["", '[{"ETag": ""}]', "*", [200, null]],
  ["", '[{"ETag": "unquoted"}]', "*", [200, "unquoted"]],
  ["", '[{"X-Part": "a"}]', "<tag>", [304, "<tag>"]],
  ["", "", "<tag>", [304, "<tag>"]],
  ["203", "", "<tag>", [304, "<tag>"]],
  ["404", "", "<tag>", [404, null]],
  ["404", '[{"ETag": "\\"own\\""}]', "*", [404, '"own"']],
];

suite.test("response.status and response.headers of a function decide", async (api) => {
  for (const [status, headers, list, expected] of overrides) {
    const line = `GET /rpc/respond?${new URLSearchParams({ status, headers })}`;
    const tag = await tagOf(api, "GET /rpc/respond?status=&headers=");
    const response = await api(line, ifNoneMatch(list.replace("<tag>", tag)));
    const [code, sent] = expected;
    const found = [response.status, response.headers.get("ETag")];
    deepStrictEqual(found, [code, sent === "<tag>" ? tag : sent], line);
    strictEqual(await response.text(), code === 304 ? "" : '"done"');
    if (headers.includes("X-Part")) strictEqual(response.headers.get("X-Part"), "a");
  }
});

suite.test("If-Match of a GET compares the whole tag, and needs a row with *", async (api) => {
  const line = "GET /orders?id=eq.1";
  for (let time = 0; time < 3; time++) {
    const tag = await tagOf(api, line);
    const status = async (list: string, parts?: RequestParts) =>
      (await api(line, { ...parts, headers: { ...parts?.headers, "If-Match": list } })).status;
    strictEqual(await status(tag), 200);
    strictEqual(await status(`"x",${tag}`), 200);
    strictEqual(await status("*"), 200);
    strictEqual(await status(`W/${tag}`), 412);
    strictEqual(await status(tag, { headers: csv }), 412);
    strictEqual(await status('"x"'), 412);
    strictEqual(await status(tag, { headers: { "If-None-Match": tag } }), 304);
    strictEqual(await status('"x"', { headers: { "If-None-Match": tag } }), 412);
    strictEqual((await api("GET /orders?id=eq.9", { headers: { "If-Match": "*" } })).status, 412);
  }
});

suite.test("a role that may read some columns gets tags without versions", async (api) => {
  for (let time = 0; time < 3; time++) {
    for (const line of ["GET /staff?id=eq.1&select=id,name", "GET /staff?id=eq.1&select=name"]) {
      const tag = await tagOf(api, line, { as: "clerk" });
      match(tag, contentTag);
      strictEqual((await api(line, { as: "clerk", ...ifNoneMatch(tag) })).status, 304);
      match(await tagOf(api, line, { as: "writer" }), rowTag);
    }
  }
});

suite.test("tags are those of the rows that the role sees", async (api) => {
  const line = "GET /secrets";
  match(await tagOf(api, line, { as: "writer" }), rowTag);
  strictEqual(await tagOf(api, line, { as: "clerk" }), await tagOf(api, line));
  const tag = await tagOf(api, line, { as: "writer" });
  strictEqual((await api(line, ifNoneMatch(tag))).status, 200);
});

const malformed = [
  "abc",
  "",
  '"a',
  '"a" "b"',
  '"a",',
  '*, "a"',
  'w/"a"',
  '"a b"',
  Array.from({ length: 65 }, () => '"a"').join(","),
];

suite.test("preconditions that cannot be read are refused", async (api) => {
  for (const list of malformed) {
    for (const name of ["If-Match", "If-None-Match"]) {
      const response = await api("GET /orders?id=eq.1", { headers: { [name]: list } });
      deepStrictEqual([response.status, await response.json()], [
        400,
        errorBody(`SVC159 | Invalid ${name}`),
      ], list);
    }
  }
  const most = Array.from({ length: 64 }, () => '"a"').join(",");
  strictEqual((await api("GET /orders?id=eq.1", ifNoneMatch(most))).status, 200);
  strictEqual((await api("HEAD /orders", ifNoneMatch("abc"))).status, 200);
});

off.test("without etag-mode nothing has a tag, and preconditions are ignored", async (api) => {
  for (const list of ["abc", "*", '"x"']) {
    for (const name of ["If-Match", "If-None-Match"]) {
      const parts = { headers: { [name]: list } };
      for (const line of ["GET /orders?id=eq.1", "GET /rpc/order_count", "GET /"]) {
        const response = await api(line, parts);
        deepStrictEqual([response.status, response.headers.get("ETag")], [200, null]);
      }
      const patch = await api("PATCH /orders?id=eq.1", { ...parts, body: { status: "new" } });
      strictEqual(patch.status, 204);
    }
  }
});
