import { withMcp } from "../../src/wings/mcp/mcp.ts";
import { createHandler } from "../../mod.ts";
import { engines } from "../support/database/engines.ts";
import { deepStrictEqual, match, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { stopClock } from "../support/timing/replaced_clock.ts";
import {
  callMcp,
  type ClientParts,
  connectMcp,
  type Result,
  resultText as textOf,
} from "../support/clients/mcp_client.ts";

const options = { engines: ["pg"], roles: ["anon", "writer", "agent"] } as const;
const dbSchemas = ["api", "other"];
const resource = "https://shop.example/base/mcp";
const metadataUrl = "https://shop.example/base/.well-known/oauth-protected-resource/mcp";

const issued = serviceSuite("mcp", {
  dbSchemas,
  mcpPath: "/mcp",
  mcpAuthorizationServers: ["https://id.example"],
  openapiServerProxyUri: "https://shop.example/base/",
  mcpAllowedOrigins: ["https://agents.example"],
  mcpRoles: ["agent", "writer"],
  jwtAud: "shop",
}, { ...options, title: "mcp with issuers" });

const connect = (api: Api, parts?: ClientParts) =>
  connectMcp((request) => api.handler(request), parts);
const query = { relation: "film", select: "id", limit: 1 };
const ping = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };

issued.test("the metadata names the issuers to any origin", async (api) => {
  const line = "GET /.well-known/oauth-protected-resource/mcp";
  const response = await api(line, { headers: { Origin: "https://any.example" } });
  strictEqual(response.headers.get("Access-Control-Allow-Origin"), "*");
  deepStrictEqual(await response.json(), {
    resource,
    authorization_servers: ["https://id.example"],
    bearer_methods_supported: ["header"],
    resource_name: "svc",
  });
});

/** Label, claims of the token, status, and the beginning of the challenge. */
const tokens: readonly (readonly [
  string,
  Readonly<Record<string, unknown>> | null,
  number,
  RegExp,
])[] = [
  ["no token", null, 401, /^Bearer resource_metadata="/],
  ["no audience", { role: "agent" }, 401, /^Bearer error="invalid_token".*resource_metadata="/],
  ["the API's audience", { role: "agent", aud: "shop" }, 401, /JWT not in audience/],
  ["an empty list of audiences", { role: "agent", aud: [] }, 401, /JWT not in audience/],
  ["an expired token", { role: "agent", aud: resource, exp: 1 }, 401, /JWT expired/],
  ["a role that is not listed", { role: "anon", aud: resource }, 403, /^$/],
];

for (const [label, as, status, challenge] of tokens) {
  issued.test(`the endpoint answers ${label} with ${status}`, async (api) => {
    const response = await api("POST /mcp", { ...(as === null ? {} : { as }), body: ping });
    strictEqual(response.status, status, await response.clone().text());
    const found = response.headers.get("WWW-Authenticate") ?? "";
    match(found, challenge);
    if (status === 401) ok(found.endsWith(`resource_metadata="${metadataUrl}"`), found);
    else match(await response.text(), /SVC193.*The role may not use this endpoint/);
  });
}

issued.test("a token for the endpoint calls tools, whatever jwt-aud is", async (api) => {
  for (const aud of [resource, ["x", resource]]) {
    const result = await callMcp(api.handler, ["query", query, { as: { role: "agent", aud } }]);
    deepStrictEqual(result.structuredContent.rows, [{ id: 1 }]);
  }
  // A `Host` header cannot choose the audience.
  const headers = { Host: "evil.example" };
  const as = { role: "agent", aud: "https://evil.example/mcp" };
  strictEqual((await api("POST /mcp", { as, headers, body: ping })).status, 401);
});

issued.test("pages of allowed origins may use the endpoint", async (api) => {
  const headers = { Origin: "https://agents.example" };
  const as = { role: "agent", aud: resource };
  const result = await callMcp(api.handler, ["query", query, { as, headers }]);
  strictEqual(result.isError, false);
  const preflight = await api("OPTIONS /mcp", {
    headers: { ...headers, "Access-Control-Request-Method": "POST" },
  });
  strictEqual(preflight.headers.get("Access-Control-Allow-Origin"), "https://agents.example");
  const foreign = await api("OPTIONS /mcp", {
    headers: { Origin: "https://evil.example", "Access-Control-Request-Method": "POST" },
  });
  deepStrictEqual([foreign.status, foreign.headers.get("Access-Control-Allow-Origin")], [
    405,
    null,
  ]);
});

const limited = serviceSuite("mcp", {
  dbSchemas,
  dbAnonRole: "anon",
  dbMaxRows: 3,
  mcpPath: "/mcp",
  mcpTimeout: 2,
  mcpTools: ["query", "call_function"],
  dbTraceApplicationName: true,
  rateLimits: "films: 2/1h by ip on GET /film",
}, { ...options, title: "mcp limits" });

limited.test("mcp-timeout ends a statement", async (api) => {
  const args = { function: "sleep", arguments: { seconds: 60 } };
  const result = await callMcp(api.handler, ["call_function", args]);
  strictEqual(result.isError, true);
  match(textOf(result), /57014/);
});

limited.test("with fewer rows of db-max-rows, more follow when that many came", async (api) => {
  const result = await callMcp(api.handler, ["query", { relation: "wide", select: "id" }]);
  const { rows, more, nextOffset } = result.structuredContent;
  deepStrictEqual([rows.length, more, nextOffset], [3, true, 3]);
});

limited.test("the trace of a message without the header is that of _meta", async (api) => {
  await using mcp = await connect(api);
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const call = { name: "call_function", arguments: { function: "seen" } };
  const result = await mcp.client.callTool({ ...call, _meta: { traceparent } }) as Result;
  match(result.structuredContent.result.application, /a{32}/);
  const invalid = { ...call, _meta: { traceparent: "x\r\ny" } };
  const other = await mcp.client.callTool(invalid) as Result;
  strictEqual(other.structuredContent.result.application.includes("x"), false);
});

limited.test("tools are those of mcp-tools", async (api) => {
  await using mcp = await connect(api);
  const { tools } = await mcp.client.listTools();
  deepStrictEqual(tools.map(({ name }) => name), ["query", "call_function"]);
  await rejects(mcp.call("list_relations"), /Unknown tool/);
});

limited.test("a call counts for the policies of its own resource", async (api) => {
  await using mcp = await connect(api);
  const texts = [];
  for (let call = 0; call < 3; call++) texts.push(textOf(await mcp.call("query", query)));
  match(texts[1]!, /1 row/);
  match(texts[2]!, /SVC136.*Too many requests.*Retry-After: \d+ s/s);
});

limited.test("a message above 120 a minute is refused", async (api) => {
  using _clock = stopClock();
  const body = { jsonrpc: "2.0", method: "notifications/initialized" };
  const headers = { Accept: "application/json, text/event-stream" };
  const as = { role: "agent", sub: "flood" };
  let admitted = 0;
  let last = await api("POST /mcp", { as, headers, body });
  while (last.status === 202 && admitted++ < 120) {
    last = await api("POST /mcp", { as, headers, body });
  }
  strictEqual(admitted, 120);
  strictEqual(last.status, 429);
  match(last.headers.get("Retry-After")!, /^\d+$/);
  match(await last.text(), /SVC136/);
});

Deno.test("withMcp() gives a handler the endpoint and its options", async () => {
  const database = await engines.pg({ name: "mcp", roles: options.roles });
  const made = { dbUri: database.uri, dbSchemas, dbAnonRole: "anon" } as const;
  const handler = withMcp(createHandler({ ...made, mcpMaxRows: 1 }), {
    mcpPath: "/agents",
    mcpMaxRows: 2,
  });
  try {
    const url = "http://localhost/agents";
    const args = { relation: "film", select: "id" };
    const result = await callMcp(handler, ["query", args, { url }]);
    deepStrictEqual(result.structuredContent.rows, [{ id: 1 }, { id: 2 }]);
    throws(() => withMcp(handler), /^Error: withMcp: the handler has started$/);
    const invalid = () => withMcp(createHandler(made), { mcpPath: "mcp" });
    throws(invalid, /^Error: mcpPath: expected a path/);
    const other = Object.assign(() => Promise.resolve(new Response()), handler, {
      [Symbol.for("svc.mcp")]: undefined,
    });
    throws(() => withMcp(other), /^Error: withMcp: expected a handler of createHandler$/);
  } finally {
    await handler.close();
    await database.remove();
  }
});

const off = serviceSuite("mcp", { dbSchemas, dbAnonRole: "anon" }, {
  ...options,
  title: "mcp is off",
});

off.answers("without mcp-path")`
  POST /mcp with {} | 404 SVC205 | Could not find the table 'api.mcp' in the schema cache
  GET /mcp/llms.txt | 404 SVC125 | Invalid path specified in request URL
`;
