/** Preconditions of writes: no update is lost, and 412 tells nothing more. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { answer, errorBody } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  etagMode: "on",
  etagVersionColumns: ["version"],
} as const;
const roles = ["anon", "writer", "clerk"];
const suite = serviceSuite("etags", config, { title: "preconditions", roles });
const pgrst = serviceSuite("etags", { ...config, dialect: "pgrst" }, {
  title: "preconditions, pgrst",
  roles,
});
const required = serviceSuite("etags", { ...config, etagMode: "required" }, {
  title: "preconditions, required",
  roles,
});

const representation = { Prefer: "return=representation" } as const;
const rowTag = /^"[0-9a-f]{16}-[0-9a-f]{32}"$/;
const contentTag = /^"-[0-9a-f]{32}"$/;
const failed = "412 SVC151";

async function tagOf(api: Api, line: string, parts: RequestParts = {}): Promise<string> {
  const response = await api(line, parts);
  ok(response.ok, await response.clone().text());
  return response.headers.get("ETag") ?? "no tag";
}

function ifMatch(tag: string, { headers, ...parts }: RequestParts = {}): RequestParts {
  return { ...parts, headers: { ...headers, "If-Match": tag } };
}

async function errorOf(response: Response): Promise<string> {
  return `${response.status} ${(await response.json()).code}`;
}

/** Relations with versions, and a change of a row. */
const versioned: readonly (readonly [path: string, body: Record<string, unknown>])[] = [
  ["/orders?id=eq.3", { status: "paid" }],
  ["/notes?id=eq.1", { text: "changed" }],
  ["/note_list?id=eq.2", { text: "changed" }],
  ["/events?id=eq.1", { name: "changed" }],
];

for (const [path, body] of versioned) {
  suite.test(`If-Match of PATCH ${path} lets one of two changes through`, async (api) => {
    for (let time = 0; time < 3; time++) {
      const tag = await tagOf(api, `GET ${path}&select=id`);
      const patch = (list: string) => api(`PATCH ${path}`, ifMatch(list, { body }));
      strictEqual(await errorOf(await patch(`W/${tag}`)), failed);
      strictEqual(await errorOf(await patch(tag.replace(/^"./, '"x'))), failed);
      strictEqual((await patch(`"x", ${tag}`)).status, 204);
      strictEqual(await errorOf(await patch(tag)), failed);
      strictEqual((await patch("*")).status, 204);
    }
  });

  suite.test(`a representation of PATCH ${path} has the tag of the next GET`, async (api) => {
    for (let time = 0; time < 3; time++) {
      const changed = await tagOf(api, `PATCH ${path}`, { body, headers: representation });
      match(changed, rowTag);
      strictEqual(changed, await tagOf(api, `GET ${path}`));
      const next = await api(`PATCH ${path}`, ifMatch(changed, { body, headers: representation }));
      deepStrictEqual([next.status, next.headers.get("ETag")], [
        200,
        await tagOf(api, `GET ${path}`),
      ]);
    }
  });
}

suite.test("If-Match of a representation is that of PATCH, POST and DELETE", async (api) => {
  const row = { id: 60, customer: "c" };
  const tag = await tagOf(api, "POST /orders", { body: row, headers: representation });
  match(tag, rowTag);
  const path = "/orders?id=eq.60";
  strictEqual((await api(`PATCH ${path}`, ifMatch(tag, { body: { total: 2 } }))).status, 204);
  strictEqual(await errorOf(await api(`DELETE ${path}`, ifMatch(tag))), failed);
  const next = await tagOf(api, `GET ${path}&select=customer`);
  const removed = await api(`DELETE ${path}`, ifMatch(next, { headers: representation }));
  strictEqual(removed.status, 200);
  match(removed.headers.get("ETag") ?? "no tag", rowTag);
  for (const list of [next, "*"]) {
    strictEqual(await errorOf(await api(`DELETE ${path}`, ifMatch(list))), failed);
    strictEqual(
      await errorOf(await api(`PATCH ${path}`, ifMatch(list, { body: row }))),
      failed,
    );
  }
});

suite.test("representations that are not one row of a relation have no version", async (api) => {
  const rows = [{ id: 61, customer: "c" }, { id: 62, customer: "c" }];
  const several = { body: rows, headers: representation };
  match(await tagOf(api, "POST /orders", several), contentTag);
  const one = { body: { id: 3, day: "2026-01-01", name: "n" }, headers: representation };
  // PostgreSQL cannot return the version of a row that it inserts into a partition.
  match(await tagOf(api, "POST /events", one), contentTag);
  const moved = { body: { day: "2025-01-01" }, headers: representation };
  const tag = await tagOf(api, "PATCH /events?id=eq.3", moved);
  strictEqual(tag, await tagOf(api, "GET /events?id=eq.3"));
  match(await tagOf(api, "POST /rpc/touch", { body: { order_id: 1 } }), contentTag);
  const keyed = { body: [{ id: 61, customer: "d" }], headers: representation };
  strictEqual(
    await tagOf(api, "PATCH /orders?on=id", keyed),
    await tagOf(api, "GET /orders?id=eq.61"),
  );
  strictEqual((await api("DELETE /orders?id=in.(61,62)", ifMatch("*"))).status, 204);
  strictEqual((await api("DELETE /events?id=eq.3", ifMatch(tag))).status, 204);
});

suite.test("a tag is good for its own row only", async (api) => {
  const tag = await tagOf(api, "GET /twins?id=eq.1");
  const body = { name: "changed" };
  strictEqual(await errorOf(await api("PATCH /twins?id=eq.2", ifMatch(tag, { body }))), failed);
  strictEqual(await errorOf(await api("PATCH /staff?id=eq.1", ifMatch(tag, { body }))), failed);
  const both = `${tag},${await tagOf(api, "GET /twins?id=eq.2")}`;
  // Two rows with listed versions are one too many.
  strictEqual(await errorOf(await api("PATCH /twins", ifMatch(both, { body }))), failed);
  strictEqual((await api("PATCH /twins", ifMatch(tag, { body }))).status, 204);
  deepStrictEqual(await (await api("GET /twins?order=id")).json(), [
    { id: 1, name: "changed" },
    { id: 2, name: "two" },
  ]);
});

const merge = { "Content-Type": "application/merge-patch+json" } as const;

suite.test("patch documents and limited writes have preconditions, too", async (api) => {
  const path = "/twins?id=eq.2";
  for (let time = 0; time < 3; time++) {
    const tag = await tagOf(api, `GET ${path}`);
    const patch = ifMatch(tag, { body: { name: "two" }, headers: merge });
    strictEqual((await api(`PATCH ${path}`, patch)).status, 204);
    strictEqual(await errorOf(await api(`PATCH ${path}`, patch)), failed);
    const next = await tagOf(api, `GET ${path}`);
    const limited = ifMatch(next, { body: { name: "two" } });
    const line = "PATCH /twins?order=id.desc&limit=1";
    strictEqual((await api(line, limited)).status, 204);
    strictEqual(await errorOf(await api(line, limited)), failed);
  }
});

suite.test("PUT with If-Match never inserts, with If-None-Match it never updates", async (api) => {
  const path = "/orders?id=eq.70";
  const body = { id: 70, customer: "c", status: "new", total: 1 };
  const put = (headers: Record<string, string>) => api(`PUT ${path}`, { body, headers });
  const count = async () => (await (await api(`GET ${path}`)).json()).length;
  const known = await tagOf(api, "GET /orders?id=eq.1");
  for (const list of ["*", known, '"x"']) {
    strictEqual(await errorOf(await put({ "If-Match": list })), failed);
  }
  strictEqual(await count(), 0);
  const made = await put({ "If-None-Match": "*", ...representation });
  strictEqual(made.status, 201);
  strictEqual(await errorOf(await put({ "If-None-Match": "*" })), failed);
  for (const list of ["*", made.headers.get("ETag") ?? "no tag"]) {
    const both = await put({ "If-Match": list, "If-None-Match": "*" });
    strictEqual(await errorOf(both), failed);
  }
  const tag = made.headers.get("ETag") ?? "no tag";
  strictEqual(tag, await tagOf(api, `GET ${path}`));
  const replaced = await put({ "If-Match": tag, ...representation });
  strictEqual(replaced.status, 200);
  strictEqual(await errorOf(await put({ "If-Match": tag })), failed);
  strictEqual((await put({ "If-Match": "*" })).status, 204);
  // A list of tags says nothing about a row that PUT replaces.
  strictEqual((await put({ "If-None-Match": '"x"' })).status, 204);
  strictEqual((await api(`DELETE ${path}`)).status, 204);
});

suite.test("PUT into a partitioned table has preconditions", async (api) => {
  const path = "/events?id=eq.2&day=eq.2026-05-05";
  const body = { id: 2, day: "2026-05-05", name: "put" };
  const tag = await tagOf(api, `GET ${path}`);
  const replaced = await api(`PUT ${path}`, ifMatch(tag, { body, headers: representation }));
  strictEqual(replaced.status, 200, await replaced.clone().text());
  match(replaced.headers.get("ETag") ?? "no tag", contentTag);
  strictEqual(await errorOf(await api(`PUT ${path}`, ifMatch(tag, { body }))), failed);
});

suite.test("relations without a version fail a precondition with tags", async (api) => {
  const tag = await tagOf(api, "GET /order_names?id=eq.1");
  match(tag, contentTag);
  const body = { customer: "customer 1" };
  for (const list of [tag, await tagOf(api, "GET /orders?id=eq.1")]) {
    const response = await api("PATCH /order_names?id=eq.1", ifMatch(list, { body }));
    strictEqual(await errorOf(response), failed);
  }
  strictEqual((await api("PATCH /order_names?id=eq.1", ifMatch("*", { body }))).status, 204);
});

suite.test("a role that may read some columns writes without versions", async (api) => {
  const path = "/staff?id=eq.1&select=id";
  const tag = await tagOf(api, `GET ${path}`);
  const body = { name: "Ada" };
  for (let time = 0; time < 3; time++) {
    const parts = { body, as: "clerk" };
    strictEqual(await errorOf(await api(`PATCH ${path}`, ifMatch(tag, parts))), failed);
    strictEqual((await api(`PATCH ${path}`, ifMatch("*", parts))).status, 204);
    match(await tagOf(api, `PATCH ${path}`, { ...parts, headers: representation }), contentTag);
  }
});

suite.test("412 does not tell changed, absent and hidden rows apart", async (api) => {
  const tag = await tagOf(api, "GET /secrets?id=eq.1", { as: "writer" });
  const parts = { body: { text: "x" } };
  const answers: unknown[] = [];
  for (const id of [1, 2, 3]) {
    for (const method of ["PATCH", "DELETE"]) {
      const request = ifMatch(tag, { ...parts, as: "clerk" });
      const response = await api(`${method} /secrets?id=eq.${id}`, request);
      const headers = Object.fromEntries(response.headers);
      answers.push([response.status, headers, await response.text()]);
    }
    const row = { id, owner: "clerk", text: "x" };
    const put = await api(`PUT /secrets?id=eq.${id}`, ifMatch(tag, { body: row, as: "clerk" }));
    answers.push([put.status, Object.fromEntries(put.headers), await put.text()]);
  }
  strictEqual(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
  strictEqual(await tagOf(api, "GET /secrets?id=eq.1", { as: "writer" }), tag);
});

suite.test("POST, calls and HEAD ignore preconditions", async (api) => {
  const headers = { "If-Match": '"x"', "If-None-Match": "*" };
  const row = { id: 80, customer: "c" };
  strictEqual((await api("POST /orders", { body: row, headers })).status, 201);
  strictEqual((await api("POST /rpc/touch", { body: { order_id: 80 }, headers })).status, 200);
  strictEqual((await api("POST /rpc/order_count", { headers })).status, 200);
  strictEqual((await api("HEAD /orders?id=eq.80", { headers })).status, 200);
  const others = { "If-None-Match": "abc", "If-Unmodified-Since": "x", "If-Range": '"x"' };
  strictEqual((await api("DELETE /orders?id=eq.80", { headers: others })).status, 204);
});

suite.test("a precondition of a write that cannot be read is refused", async (api) => {
  const tooMany = Array.from({ length: 65 }, () => '"a"').join(",");
  for (const list of ["abc", tooMany]) {
    for (const method of ["PATCH", "DELETE", "PUT"]) {
      const response = await api(`${method} /orders?id=eq.1`, ifMatch(list, { body: { id: 1 } }));
      strictEqual(await errorOf(response), "400 SVC159");
    }
  }
});

suite.test("If-Match cannot be combined with on", async (api) => {
  for (const list of ["*", '"x"']) {
    const parts = ifMatch(list, { body: [{ id: 1, total: 1 }] });
    const response = await api("PATCH /orders?on=id", parts);
    deepStrictEqual(
      [response.status, await response.json()],
      answer("400 SVC145 | Rows cannot be matched by 'id' | 'on' cannot be combined with If-Match"),
    );
  }
});

suite.test("a precondition comes before other checks of the result", async (api) => {
  const headers = { Accept: "application/vnd.svc.object+json", ...representation };
  const body = { total: 1 };
  strictEqual(
    await errorOf(await api("PATCH /orders?id=eq.9", ifMatch('"x"', { body, headers }))),
    failed,
  );
  // What cannot be planned is an error of its own.
  const unknown = await api("PATCH /orders?id=eq.1", ifMatch('"x"', { body: { nope: 1 } }));
  strictEqual(await errorOf(unknown), "400 SVC204");
});

for (const each of [suite, pgrst]) {
  const code = each === suite ? "SVC151" : "PGRST151";
  each.test("412 has the code of the dialect", async (api) => {
    const response = await api("DELETE /orders?id=eq.1", ifMatch('"x"'));
    deepStrictEqual([response.status, await response.json()], [
      412,
      errorBody(`${code} | Precondition failed`),
    ]);
  });
}

required.test("required refuses writes without a precondition", async (api) => {
  const row = { id: 1, customer: "customer 1", status: "new", total: 0 };
  const refused: readonly (readonly [line: string, parts: RequestParts])[] = [
    ["PATCH /orders?id=eq.1", { body: { total: 1 } }],
    ["DELETE /orders?id=eq.1", {}],
    ["PUT /orders?id=eq.1", { body: row }],
    ["PUT /orders?id=eq.1", { body: row, headers: { "If-None-Match": '"x"' } }],
    ["PATCH /orders?id=eq.1", { body: { total: 1 }, headers: { "If-None-Match": "*" } }],
  ];
  for (let time = 0; time < 3; time++) {
    for (const [line, parts] of refused) {
      const response = await api(line, parts);
      deepStrictEqual(
        [response.status, await response.json()],
        answer("428 SVC152 | Precondition required |  | Send If-Match with the ETag of a read"),
        line,
      );
    }
    const tag = await tagOf(api, "GET /orders?id=eq.1");
    const patch = ifMatch(tag, { body: { total: 1 } });
    strictEqual((await api("PATCH /orders?id=eq.1", patch)).status, 204);
    const keyed = { body: [{ id: 1, total: 0 }] };
    strictEqual((await api("PATCH /orders?on=id", keyed)).status, 204);
    strictEqual((await api("PUT /orders?id=eq.1", ifMatch("*", { body: row }))).status, 204);
  }
  strictEqual((await api("POST /rpc/touch", { body: { order_id: 1 } })).status, 200);
});
