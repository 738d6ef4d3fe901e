/** Permitted requests in descriptions of the API, in types, in tools of agents, in live queries, in contracts and
 * in findings. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import SwaggerParser from "@apidevtools/swagger-parser";
import { serviceSuite } from "../support/handler/api.ts";
import { callMcp, connectMcp } from "../support/clients/mcp_client.ts";
import { openLiveApi } from "../support/handler/live_api.ts";

const operations =
  `list    anon, writer  GET /products?select=id,name,n:doc->>n&price=gte.*&order=id&limit=..2&offset=..10
some    anon          GET /products?select=id&id=in.(*..3)&name=ilike.*&order=id
either  anon          GET /products?or=(id.eq.*,name.eq.*)&select=id&order=id
totals  anon          GET /orders?select=id,lines(quantity)&id=eq.*
count   writer        GET /products?select=n:count()
search  anon          GET /rpc/search?words=*&select=id
find    writer        POST /rpc/search {words, page?}
note    writer        PATCH /orders?id=eq.* {note, status="open"}
    Prefer: return=representation
broken  writer        GET /nix
`;

const writes: unknown[] = [];

const suite = serviceSuite("operations", {
  dbSchemas: ["api", "v2"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
  openapiVersion: "3.1",
  mcpPath: "/mcp",
  mcpTools: ["operations"],
  mcpWrite: ["orders"],
  operations,
  observe(event) {
    if (event.kind === "agent-write") writes.push([event.tool, event.status, event.rows]);
  },
}, { title: "uses of operations" });

suite.test("OpenAPI lists the operations of the role", async (api) => {
  const document = await (await api("GET /")).json();
  await SwaggerParser.validate(structuredClone(document));
  const paths = Object.keys(document.paths);
  deepStrictEqual(paths, [
    "/products?select=id,name,n:doc->>n&price=gte.{price}&order=id&limit={limit}&offset={offset}",
    "/products?select=id&id=in.({id})&name=ilike.{name}&order=id",
    "/products?or=(id.eq.{id},name.eq.{name})&select=id&order=id",
    "/orders?select=id,lines(quantity)&id=eq.{id}",
    "/rpc/search?words={words}&select=id",
  ]);
  const { operationId, parameters, responses } = document.paths[paths[0]!].get;
  strictEqual(operationId, "list");
  deepStrictEqual(
    parameters.map(({ name, schema }: { name: string; schema: unknown }) => [name, schema]),
    [
      ["price", { type: "number" }],
      ["limit", { type: "integer", minimum: 0, maximum: 2 }],
      ["offset", { type: "integer", minimum: 0, maximum: 10 }],
    ],
  );
  deepStrictEqual(responses["2XX"].content["application/json"].schema, {
    type: "array",
    items: {
      type: "object",
      properties: {
        id: { type: "integer", format: "int32" },
        name: { type: ["string", "null"] },
        n: { type: ["string", "null"] },
      },
      required: ["id", "name", "n"],
    },
  });
  const ofWriter = await (await api("GET /", { as: "writer" })).json();
  deepStrictEqual(
    Object.values<Record<string, { operationId: string }>>(ofWriter.paths)
      .flatMap((item) => Object.values(item).map((each) => each.operationId)),
    ["list", "count", "find", "note"],
  );
  const older = await (await api("GET /", {
    headers: { Accept: "application/openapi+json;version=2.0" },
  })).json();
  deepStrictEqual(Object.keys(older.paths), ["/"]);
});

suite.test("agents have a tool for each operation of their role", async (api) => {
  await using mcp = await connectMcp((request) => api.handler(request), { as: "writer" });
  const { tools } = await mcp.client.listTools();
  deepStrictEqual(tools.map(({ name }) => name), ["list", "count", "find", "note"]);
  const note = tools.at(-1)!;
  deepStrictEqual(note.inputSchema, {
    type: "object",
    properties: {
      id: { type: "integer", format: "int32" },
      body: {
        type: "object",
        properties: { note: { type: ["string", "null"] }, status: { const: "open" } },
        required: ["note", "status"],
        additionalProperties: false,
      },
    },
    required: ["id", "body"],
    additionalProperties: false,
  });
  strictEqual(note.annotations?.readOnlyHint, false);
  const list = await mcp.call("list", { price: 5, limit: 1 });
  deepStrictEqual(list.structuredContent, {
    rows: [{ id: 1, name: "saw", n: null }],
    range: "0-0/*",
    more: false,
  });
  const changed = await mcp.call("note", { id: 1, body: { note: "x", status: "open" } });
  strictEqual(changed.structuredContent.rows[0].note, "x");
  deepStrictEqual(writes, [["note", 200, 1]]);
  const over = await mcp.call("list", { price: 5, limit: 3 }).catch((error: Error) =>
    error.message
  );
  match(String(over), /limit/);
  const calls = [
    ["some", { id: [1, 3], name: "%a%" }, [{ id: 1 }, { id: 3 }]],
    ["either", { id: 3, name: 'axe,") or(' }, [{ id: 3 }]],
    ["totals", { id: 1 }, [{ id: 1, lines: [{ quantity: 2 }, { quantity: 3 }] }]],
    ["search", { words: "saw" }, [{ id: 1 }]],
  ] as const;
  for (const [name, values, result] of calls) {
    const { structuredContent } = await callMcp(api.handler, [name, values]);
    deepStrictEqual(structuredContent.rows, result, name);
  }
  const unknown = await mcp.call("some", { id: [1], name: "x" }).catch((error: Error) =>
    error.message
  );
  match(String(unknown), /Unknown tool: some/);
});

Deno.test("a live query is the GET below its path", async () => {
  await using api = await openLiveApi({
    operations: "own anon, writer GET /orders?select=id&owner=eq.*",
  });
  const headers = { Accept: "application/json" };
  const known = await api.send("GET /live/orders?select=id&owner=eq.a&offset=-1", { headers });
  strictEqual(known.status, 200);
  ok(Array.isArray(await known.json()));
  const shape = await api.send("GET /live/v1/shape?table=orders&offset=-1", { headers });
  await shape.body?.cancel();
  strictEqual(shape.status, 403);
  const other = await api.send("GET /live/orders?select=id&offset=-1", { headers });
  deepStrictEqual([other.status, (await other.json()).code], [403, "SVC190"]);
});

const finished: (string | null | undefined)[] = [];

const limited = serviceSuite("operations", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  operations: `${operations}ask anon POST /rpc/search {words}\n`,
  operationsRoles: ["anon"],
  rateLimits: "few: 2/1h by role on /products",
  observe(event) {
    if (event.kind === "request-finished") finished.push(event.operation);
  },
}, { title: "operations-roles, and rate-limits" });

limited.test("other roles are not bound, and a refused request does not count", async (api) => {
  strictEqual((await api("GET /orders?select=id", { as: "writer" })).status, 200);
  const statusOf = async (line: string) => (await api(line)).status;
  for (let time = 0; time < 4; time++) strictEqual(await statusOf("GET /products?id=eq.1"), 403);
  const known = "GET /products?select=id,name,n:doc->>n&price=gte.1&order=id&limit=2";
  finished.length = 0;
  deepStrictEqual([await statusOf(known), await statusOf(known), await statusOf(known)], [
    200,
    200,
    429,
  ]);
  deepStrictEqual(finished, ["list", "list", null]);
  // The body of a request is compared after its head.
  finished.length = 0;
  const words = { words: "saw" };
  await (await api("POST /rpc/search", { body: words })).body?.cancel();
  await (await api("POST /rpc/search", { body: { ...words, secret: "x" } })).body?.cancel();
  deepStrictEqual(finished, ["ask", null]);
});
