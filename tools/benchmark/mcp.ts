/**
 * Measures the endpoint for agents beside the plain request of the same rows: the rate, the list of
 * tools of a thousand tables, and the memory over ten thousand calls. Run: `deno task bench:mcp`.
 *
 * @module
 */
import { createHandler } from "../../mod.ts";
import { withClient } from "../../tests/support/postgres_client.ts";
import { startPostgres } from "../../tests/support/postgres_server.ts";
import { tablesSql } from "./fixture.ts";
import { markdownTable } from "./table.ts";

const sql = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  create table api.film (id int primary key, title text, length int);
  insert into api.film select n, 'Film ' || n, n % 200 from generate_series(1, 1000) n;
`;

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Returns a message of the revision 2026-07-28. */
function message(method: string, params: Readonly<Record<string, unknown>> = {}): Request {
  const { name } = params;
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(typeof name === "string" ? { "Mcp-Name": name } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
}

const call = () =>
  message("tools/call", { name: "query", arguments: { relation: "film", limit: 10, order: "id" } });
const plain = () => new Request("http://localhost/film?order=id&limit=11");

type Send = (request: Request) => Promise<Response>;

async function textOf(send: Send, request: Request): Promise<string> {
  const response = await send(request);
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return text;
}

/** Requests per second, one after the other. */
async function rate(send: Send, make: () => Request, count: number): Promise<number> {
  const began = performance.now();
  for (let sent = 0; sent < count; sent++) await textOf(send, make());
  return count / (performance.now() - began) * 1000;
}

function heapBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return Deno.memoryUsage().heapUsed;
}

await using server = await startPostgres();
await withClient(server.uri(), async (client) => {
  await client.query(sql);
  await client.query(tablesSql("api", 1000));
  await client.query("grant usage on schema api to anon");
  await client.query("grant select on all tables in schema api to anon");
});
const handler = createHandler({
  dbUri: server.uri({ user: "authenticator", password: "p" }),
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  mcpPath: "/mcp",
  rateLimits: "mcp: 100000/1s by all on /mcp",
});
await handler.ready();
await rate(handler, plain, 500);
await rate(handler, call, 500);
const rounds = [];
for (let round = 0; round < 5; round++) {
  rounds.push({ plain: await rate(handler, plain, 400), call: await rate(handler, call, 400) });
}
const best = (values: readonly number[]) => Math.max(...values);
const plainRate = best(rounds.map((round) => round.plain));
const callRate = best(rounds.map((round) => round.call));
const list = await textOf(handler, message("tools/list"));
await rate(handler, call, 1000);
const before = heapBytes();
await rate(handler, call, 10_000);
const grown = heapBytes() - before;
console.log(markdownTable(["measure", "value"], [
  ["plain requests per second", plainRate.toFixed(0)],
  ["calls per second", callRate.toFixed(0)],
  ["ratio", (callRate / plainRate).toFixed(2)],
  ["tools/list of 1,000 tables, bytes", String(list.length)],
  ["heap after 10,000 calls, growth in kB", (grown / 1000).toFixed(0)],
]));
await handler.close();
