/** How bookmarks travel between clients and a database with standbys. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { callMcp } from "../support/clients/mcp_client.ts";
import {
  base,
  fixture,
  newBookmark,
  openReplicated,
  prefer,
  type ReplicatedApi,
  requests,
  sent,
} from "../support/handler/replicated_api.ts";
import type { RequestParts } from "../support/handler/request.ts";

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
    prefer("read=primary, count=exact, handling=strict"),
    "count=exact, handling=strict, read=primary",
    "count=exact, handling=strict",
  ],
  ["GET /rpc/add?a=1&b=2", prefer("read=primary"), "read=primary", null],
  ["POST /rpc/add", prefer("read=primary", { body: { a: 1, b: 2 } }), "read=primary", null],
  ["POST /rpc/roll", prefer("read=primary"), null, null],
  ["POST /parts", prefer("read=primary", { body: {} }), null, null],
  ["POST /", prefer("read=primary", { body: requests(["GET", "/items"]) }), "read=primary", null],
];

Deno.test("replicas: Preference-Applied has read=primary only with replicas", async () => {
  await using api = await openReplicated({ fixture, config: base });
  await using alone = await openReplicated({ fixture, config: base, hasStandbys: false });
  for (const [line, parts, withReplicas, without] of applied) {
    const appliedOf = async ({ send }: ReplicatedApi) =>
      (await send(line, parts)).headers.get("Preference-Applied");
    deepStrictEqual([await appliedOf(api), await appliedOf(alone)], [withReplicas, without], line);
  }
});

Deno.test("without replicas a bookmark is ignored, and read=primary is known", async () => {
  await using api = await openReplicated({ fixture, config: base, hasStandbys: false });
  const headers = { "Svc-Bookmark": "\u00e9", Prefer: "handling=strict, read=primary" };
  for (const line of ["GET /items", "POST /parts"]) {
    const response = await api.send(
      line,
      line.startsWith("POST") ? { headers, body: {} } : { headers },
    );
    strictEqual(response.ok, true);
    strictEqual(response.headers.get("Svc-Bookmark"), null);
    strictEqual(response.headers.get("Vary"), "Accept, Prefer, Range, Authorization, Origin");
  }
});

Deno.test("replicas: a repeated Idempotency-Key gets a bookmark of its own", async () => {
  await using api = await openReplicated({ fixture, config: base });
  const batch = { body: requests(["POST", "/parts", { label: "x" }]) };
  for (const [line, parts] of [["POST /parts", { body: {} }], ["POST /", batch]] as const) {
    const headers = { "Idempotency-Key": line.replace(" ", "-") };
    for (const replayed of [null, "true"]) {
      const response = await api.send(line, { ...parts, headers });
      strictEqual(response.headers.get("Idempotent-Replayed"), replayed);
      // The answer that is kept has no bookmark, else there would be two.
      strictEqual(response.headers.get("Svc-Bookmark"), newBookmark);
    }
    // The second request tries to write, and reads the kept answer then.
    const use = { access: "read write", wantsBookmark: true };
    deepStrictEqual(api.take(), [use, use, use]);
  }
});

Deno.test("replicas: pages of other origins see the bookmark", async () => {
  await using api = await openReplicated({ fixture, config: base });
  const { headers } = await api.send("POST /parts", {
    body: {},
    headers: { Origin: "http://page.test" },
  });
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
  await using api = await openReplicated({ fixture, config: base });
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
  const standbyRead = { bookmark: sent, schemaAgeMs: 0 };
  deepStrictEqual(await call("query", { relation: "items" }), [
    { access: "read only", wantsBookmark: true, standby: standbyRead },
    newBookmark,
  ]);
  deepStrictEqual(await call("insert_rows", { relation: "parts", rows: [{ label: "m" }] }), [
    { access: "read write", wantsBookmark: true },
    newBookmark,
  ]);
});
