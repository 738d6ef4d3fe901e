/** Measures features beside plain requests of the same rows: pages by cursors and by offset, and
 * calls of agents' tools. @module */
import { type Bench, runSql } from "./bench.ts";
import { type ConfigGroup, measureGroups } from "./config_contest.ts";

const prices = `
  create table api.prices (id int primary key, name text not null, price int);
  insert into api.prices
    select n, 'item ' || n, case when n % 10 > 0 then n % 20000 end
    from generate_series(1, 200000) n;
  create index on api.prices (price, id);
  analyze api.prices;
`;

const pageLength = 100;
const farPage = 1000;

function pagesBy(order: string): ConfigGroup {
  const line = `GET /prices?order=${order}&limit=${pageLength}`;
  const cursor = { line: `${line}&after=` };
  return {
    name: `page of ${pageLength} by ${order}`,
    request: { line },
    cases: [
      { name: "page 1", config: {} },
      { name: "page 1, after=", config: {}, request: cursor },
      { name: `page ${farPage} by cursor`, config: {}, request: cursor, follow: farPage - 1 },
      {
        name: `page ${farPage} by offset`,
        config: {},
        request: { line: `${line}&offset=${(farPage - 1) * pageLength}` },
      },
    ],
  };
}

const protocol = "2026-07-28";
const call = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name: "query",
    arguments: { relation: "items", limit: 10, order: "id" },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": protocol,
      "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};

const agents: ConfigGroup = {
  name: "10 rows for an agent",
  request: { line: "GET /items?order=id&limit=11" },
  cases: [
    { name: "plain request", config: {} },
    {
      name: "call of the tool query",
      config: { "mcp-path": "/mcp", "rate-limits": "mcp: 90000/1s by all on /mcp" },
      request: {
        line: "POST /mcp",
        headers: {
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
          "MCP-Protocol-Version": protocol,
          "Mcp-Method": call.method,
          "Mcp-Name": call.params.name,
        },
        body: JSON.stringify(call),
      },
    },
  ],
};

/** Returns a table for each request that the options select. */
export async function measureFeatures(bench: Bench): Promise<string> {
  await runSql(bench, prices);
  return await measureGroups([pagesBy("id"), pagesBy("price"), agents], bench);
}
