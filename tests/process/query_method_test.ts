/** QUERY by each server: Deno's, the one with limits of connections, and Node's. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { type FileConfig } from "../support/server/process.ts";
import { startTodos } from "../support/server/todos.ts";

const modes: Readonly<Record<string, FileConfig>> = {
  "Deno.serve": {},
  "own connections": { "server-header-timeout": 30, "server-idle-timeout": 30 },
};

const form = { "Content-Type": "application/x-www-form-urlencoded" };

for (const [mode, limits] of Object.entries(modes)) {
  Deno.test(`the process takes QUERY: ${mode}`, async (t) => {
    await using service = await startTodos({
      "server-query-method": true,
      "log-level": "info",
      ...limits,
    });
    const { port } = new URL(service.origin);

    await t.step("with a body of a known length", async () => {
      const response = await service.fetch("QUERY /todos", {
        headers: form,
        body: "select=id&id=in.(1,3)&order=id",
      });
      strictEqual(response.status, 200);
      strictEqual(response.headers.get("Location"), "/todos?id=in.%281%2C3%29&order=id&select=id");
      deepStrictEqual(await response.json(), [{ id: 1 }, { id: 3 }]);
    });

    await t.step("with chunks, and then on the same connection without a body", async () => {
      using connection = await HttpConnection.connect(Number(port));
      const chunked = { ...form, "Transfer-Encoding": "chunked" };
      const head = requestBytes("QUERY /todos", { headers: chunked });
      const chunks = new TextEncoder().encode("9\r\nselect=id\r\n8\r\n&limit=1\r\n0\r\n\r\n");
      const first = await connection.exchange(Uint8Array.from([...head, ...chunks]), "QUERY");
      deepStrictEqual([first.status, first.body], [200, '[{"id":1}]']);
      const empty = requestBytes("QUERY /todos?select=id&limit=1", { headers: form });
      const second = await connection.exchange(empty, "QUERY");
      deepStrictEqual([second.status, second.body], [200, '[{"id":1}]']);
    });

    await t.step("and POST to $query", async () => {
      const response = await service.fetch("POST /todos/$query", {
        headers: form,
        body: `select=id&id=in.(1,${"2,".repeat(100_000)}3)&order=id.desc&limit=1`,
      });
      deepStrictEqual(await response.json(), [{ id: 3 }]);
    });

    await t.step("and logs no body", async () => {
      const line = await service.stdout.waitFor(/"POST \/todos\/\$query HTTP/);
      match(line, / 200 /);
      match(service.stdout.all.join("\n"), /"QUERY \/todos HTTP/);
      strictEqual(service.stdout.all.join("\n").includes("in.("), false);
    });
  });
}
