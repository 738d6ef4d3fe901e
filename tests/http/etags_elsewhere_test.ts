/** Entity tags and preconditions together with batches, cursors, query requests and nested inserts. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { batchOf, get, type Operation, patch, post, remove } from "../support/handler/batch.ts";
import type { RequestParts } from "../support/handler/request.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  batchMaxOperations: 10,
  etagVersionColumns: ["version"],
  serverQueryMethod: true,
} as const;
const roles = ["anon", "writer", "clerk"];
const suite = serviceSuite("etags", { ...config, etagMode: "on" }, {
  title: "etags elsewhere",
  roles,
});
const required = serviceSuite("etags", { ...config, etagMode: "required" }, {
  title: "etags elsewhere, required",
  roles,
});

const representation = { Prefer: "return=representation" } as const;
const rowTag = /^"[0-9a-f]{16}-[0-9a-f]{32}"$/;
const contentTag = /^"-[0-9a-f]{32}"$/;

async function tagOf(api: Api, line: string, parts: RequestParts = {}): Promise<string> {
  const response = await api(line, parts);
  strictEqual(response.ok, true, `${line}: ${await response.clone().text()}`);
  return response.headers.get("ETag") ?? "no tag";
}

const form = { "Content-Type": "application/x-www-form-urlencoded" } as const;

/** Reads, and the form of their tags. */
const reads: readonly (readonly [line: string, parts: RequestParts, form: RegExp])[] = [
  ["GET /orders?select=total,lines(id)&order=id&limit=1", {}, rowTag],
  ["GET /orders?select=*,-status&id=eq.1", {}, rowTag],
  ["GET /orders?after=&limit=1", {}, contentTag],
  ["GET /orders?after=&limit=2&select=id,lines(id)", {}, contentTag],
  ["GET /staff?select=**&id=eq.1", {}, rowTag],
  ["GET /staff?select=**&id=eq.1", { as: "clerk" }, contentTag],
  ["QUERY /orders", { body: "id=eq.1", headers: form }, rowTag],
  ["QUERY /rpc/order_of", { body: "order_id=1", headers: form }, contentTag],
];

for (const [line, parts, form] of reads) {
  suite.test(`a tag: ${line} ${JSON.stringify(parts)}`, async (api) => {
    for (let time = 0; time < 3; time++) {
      const tag = await tagOf(api, line, parts);
      match(tag, form);
      const headers = { ...parts.headers, "If-None-Match": tag };
      const again = await api(line, { ...parts, headers });
      deepStrictEqual([again.status, await again.text()], [304, ""]);
    }
  });
}

suite.test("a page that the client has tells where it continues", async (api) => {
  const line = "GET /orders?after=&limit=1&select=id";
  const first = await api(line);
  const headers = { "If-None-Match": first.headers.get("ETag")! };
  const again = await api(line, { headers });
  deepStrictEqual([again.status, again.headers.get("Link")], [304, first.headers.get("Link")]);
});

suite.test("POST to $query has a tag, and ignores preconditions", async (api) => {
  const parts = (headers: Record<string, string>) => ({
    body: "id=eq.1",
    headers: { ...form, ...headers },
  });
  for (let time = 0; time < 3; time++) {
    const tag = await tagOf(api, "POST /orders/$query", parts({}));
    match(tag, rowTag);
    for (const list of [tag, "*", "abc"]) {
      const headers = { "If-None-Match": list, "If-Match": '"x"' };
      strictEqual((await api("POST /orders/$query", parts(headers))).status, 200);
    }
  }
});

suite.test("a nested insert has the tag of the next GET", async (api) => {
  for (let id = 100; id < 103; id++) {
    const body = { id, customer: "c", lines: [{ id, sku: "N" }] };
    const line = "POST /orders?columns=id,customer,lines(id,sku)&select=id,lines(sku)";
    const tag = await tagOf(api, line, { body, headers: representation });
    match(tag, rowTag);
    strictEqual(tag, await tagOf(api, `GET /orders?id=eq.${id}&select=id,lines(sku)`));
    strictEqual((await api(`DELETE /lines?id=eq.${id}`)).status, 204);
    const headers = { "If-Match": tag };
    strictEqual((await api(`DELETE /orders?id=eq.${id}`, { headers })).status, 204);
  }
});

/** Sends a batch, and returns the statuses of its operations, or its own with the failing operation. */
async function batch(api: Api, requests: readonly Operation[], as?: string) {
  const response = await api("POST /", batchOf(requests, as === undefined ? {} : { as }));
  const body = await response.json();
  if (response.status !== 200) return `${response.status} ${body.code} ${body.operation.index}`;
  return body.responses.map(({ status }: { readonly status: number }) => status).join(" ");
}

async function totalOf(api: Api): Promise<number> {
  const [{ total }] = await (await api("GET /orders?id=eq.1&select=total")).json();
  return total;
}

suite.test("an operation with a failed precondition rolls its batch back", async (api) => {
  const url = "/orders?id=eq.1";
  for (let time = 0; time < 3; time++) {
    const tag = await tagOf(api, `GET ${url}`);
    const write = (
      headers: Record<string, string>,
      total: number,
    ): Operation => patch(url, { total }, { headers });
    const read = (headers: Record<string, string>): Operation => get(url, { headers });
    const kept = read({ "If-None-Match": tag });
    strictEqual(await batch(api, [kept, read({ "If-None-Match": '"x"' })]), "304 200");
    strictEqual(await batch(api, [write({ "If-Match": tag }, time + 1), kept]), "204 200");
    strictEqual(await batch(api, [write({}, 50), write({ "If-Match": tag }, 60)]), "412 SVC151 1");
    strictEqual(await batch(api, [write({}, 50), read({ "If-Match": tag })]), "412 SVC151 1");
    strictEqual(await totalOf(api), time + 1);
  }
});

suite.test("operations that later ones refer to have tags", async (api) => {
  const order = get("/orders?id=eq.2", { id: "o" });
  let id = 100;
  const line = (
    source: string,
  ) => post("/lines", { id: id++ }, { refs: { "/order_id": source } });
  strictEqual(await batch(api, [order, line("o#/id")]), "200 201");
  const tag = await tagOf(api, "GET /orders?id=eq.2");
  const known = { ...order, headers: { "If-None-Match": tag } };
  strictEqual(await batch(api, [known, line("o#/id")]), "304 201");
  const write = patch("/orders?id=eq.2", { total: 3 }, {
    id: "w",
    headers: { "If-Match": tag, ...representation },
  });
  strictEqual(await batch(api, [write, line("w#/id")]), "200 201");
  strictEqual(await batch(api, [write, line("w#/id")]), "412 SVC151 0");
});

suite.test("operations of a role that may read some columns have tags", async (api) => {
  const read = get("/staff?id=eq.1&select=id,name");
  strictEqual(await batch(api, [read, read], "clerk"), "200 200");
});

required.test("required refuses operations without a precondition", async (api) => {
  const write = remove("/orders?id=eq.9");
  strictEqual(await batch(api, [write]), "428 SVC152 0");
  strictEqual(await batch(api, [{ ...write, headers: { "If-Match": "*" } }]), "412 SVC151 0");
});
