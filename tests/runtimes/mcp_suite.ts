/** The endpoint for agents in every runtime that serves: the official client, over a connection.
 * @module */
import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { connectMcp, type McpClient, resultText } from "../support/clients/mcp_client.ts";
import type { Report } from "./suite.ts";

/** Path of the endpoint. */
export const suiteMcpPath = "/mcp";

type Run = (mcp: McpClient) => Promise<void>;

const runs: Readonly<Record<string, Run>> = {
  "tools/list": async ({ client }) => {
    const { tools } = await client.listTools();
    ok(tools.some(({ name }) => name === "query"));
    ok(!tools.some(({ name }) => name === "delete_rows"));
  },
  "query": async (mcp) => {
    const args = { relation: "orders", select: "id,customers(name)", where: { id: "eq.3" } };
    const { structuredContent } = await mcp.call("query", args);
    deepStrictEqual(structuredContent.rows, [{ id: 3, customers: { name: "Böhm" } }]);
  },
  "call_function": async (mcp) => {
    const args = { function: "add", arguments: { a: 2, b: 3 } };
    deepStrictEqual((await mcp.call("call_function", args)).structuredContent, { result: 5 });
  },
  "an unknown column": async (mcp) => {
    const result = await mcp.call("query", { relation: "orders", where: { nothing: "eq.1" } });
    strictEqual(result.isError, true);
    match(resultText(result), /42703/);
  },
  "wrong arguments": async (mcp) => {
    await rejects(mcp.call("query", { relation: "orders", limit: "5" }), { code: -32602 });
  },
  "a resource": async ({ client }) => {
    const { contents } = await client.readResource({ uri: "svc://guide" });
    match(JSON.stringify(contents), /list_relations/);
  },
};

/** Runs the suite against the endpoint at a URL, with both generations of the protocol. */
export async function runMcpSuite(url: string): Promise<Report> {
  const failed: string[] = [];
  let passed = 0;
  for (const era of ["auto", "legacy"] as const) {
    await using mcp = await connectMcp((request) => fetch(request), { url, era });
    for (const [name, run] of Object.entries(runs)) {
      try {
        await run(mcp);
        passed++;
      } catch (error) {
        failed.push(`mcp ${era} ${name}: ${error}`);
      }
    }
  }
  return { passed, failed, skipped: [] };
}

/** Adds the results of two suites. */
export function bothReports(one: Report, other: Report): Report {
  return {
    passed: one.passed + other.passed,
    failed: [...one.failed, ...other.failed],
    skipped: [...one.skipped, ...other.skipped],
  };
}
