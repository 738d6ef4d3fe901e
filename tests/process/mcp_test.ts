/** The endpoint for agents over a real connection: the official client, the log, metrics, memory. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { connectMcp, resultText } from "../support/clients/mcp_client.ts";
import type { FileConfig } from "../support/server/process.ts";
import { signToken } from "../support/handler/token.ts";
import { startTodos } from "../support/server/todos.ts";

const config: FileConfig = {
  "db-tx-end": "commit-allow-override",
  "log-level": "info",
  "mcp-path": "/mcp",
  "mcp-write": "todos",
  "rate-limits": "mcp: 100000/1m by token on /mcp",
};

Deno.test("the official client works over a connection, and leaves traces", async () => {
  await using service = await startTodos(config);
  const send = (request: Request) => fetch(request);
  const url = `${service.origin}/mcp`;
  const as = { role: "todo_user", sub: "ann" };
  for (const era of ["auto", "legacy"] as const) {
    await using mcp = await connectMcp(send, { url, era, as });
    const { tools } = await mcp.client.listTools();
    ok(tools.some(({ name }) => name === "insert_rows"));
    const rows = [{ task: `learn by ${era}` }];
    const args = { relation: "todos", rows, select: "task,owner" };
    const inserted = await mcp.call("insert_rows", args);
    strictEqual(inserted.isError, false, resultText(inserted));
    deepStrictEqual(inserted.structuredContent.rows, [{ task: `learn by ${era}`, owner: "ann" }]);
  }
  await using anonymous = await connectMcp(send, { url });
  const refused = await anonymous.call("insert_rows", { relation: "todos", rows: [{ task: "x" }] });
  match(resultText(refused), /42501/);
  await service.stderr.waitFor(
    /Agent as todo_user: insert_rows POST \/todos\?select=task%2Cowner 201 1 rows/,
  );
  await service.stderr.waitFor(/Agent as web_anon: insert_rows POST \/todos 401$/);
  const token = await signToken(as);
  ok([service.stderr, service.stdout].every(({ all }) => !all.join().includes(token)));
  const metrics = await (await service.fetchAdmin("GET /metrics")).text();
  match(metrics, /^svc_mcp_calls_total\{tool="insert_rows",outcome="success"\} 2\.0$/m);
  match(metrics, /^svc_mcp_calls_total\{tool="insert_rows",outcome="error"\} 1\.0$/m);
  match(metrics, /http_route="_mcp"/);
});
