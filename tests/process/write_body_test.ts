import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";

const encoder = new TextEncoder();

/** Sends raw bytes and returns the response, or disconnects without reading it. */
async function sendRaw(service: ServiceProcess, text: string, next: "read" | "disconnect") {
  const { hostname, port } = new URL(service.origin);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(encoder.encode(text));
  if (next === "disconnect") return "";
  return await new Response(connection.readable).text();
}

function post(headers: readonly string[], body: string): string {
  const head = ["POST /makers HTTP/1.1", "Host: x", "Connection: close", ...headers];
  return `${head.join("\r\n")}\r\nContent-Type: application/json\r\n\r\n${body}`;
}

async function idsOf(service: ServiceProcess): Promise<unknown> {
  return await (await service.fetch("GET /makers?id=gte.50&select=id&order=id")).json();
}

Deno.test("the server accepts chunked bodies and discards truncated ones", async (t) => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "writes", roles: ["anon", "writer"] });
  resources.defer(() => database.remove());
  await using service = await startService({
    "db-uri": database.uri,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "log-level": "info",
  });
  await service.listening();
  await t.step("a chunked body is a body", async () => {
    const chunks = ['[{"id":50,', '"name":"x"}]']
      .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    const answer = await sendRaw(
      service,
      post(["Transfer-Encoding: chunked"], `${chunks.join("")}0\r\n\r\n`),
      "read",
    );
    ok(answer.startsWith("HTTP/1.1 201 "), answer);
    deepStrictEqual(await idsOf(service), [{ id: 50 }]);
  });
  await t.step("an empty answer is framed as such", async () => {
    const body = '{"id":51,"name":"aaa"}';
    const answer = await sendRaw(service, post([`Content-Length: ${body.length}`], body), "read");
    ok(answer.startsWith("HTTP/1.1 201 "), answer);
    ok(/^content-length: 0\r$/im.test(answer), answer);
    ok(!/^content-type:/im.test(answer), answer);
    const request = `DELETE /makers?id=eq.51 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const deleted = await sendRaw(service, request, "read");
    ok(deleted.startsWith("HTTP/1.1 204 "), deleted);
    ok(!/^(content-length|content-type|transfer-encoding):/im.test(deleted), deleted);
  });
  await t.step("a client that leaves in the middle writes nothing", async () => {
    const before = await idsOf(service);
    for (const length of [40, 1_000_000]) {
      const half = `{"id":60,"name":"${"x".repeat(length / 2)}`;
      await sendRaw(service, post([`Content-Length: ${length}`], half), "disconnect");
      await sendRaw(service, post(["Transfer-Encoding: chunked"], `20\r\n{"id":`), "disconnect");
    }
    deepStrictEqual(await idsOf(service), before);
    strictEqual((await service.fetch("POST /makers", { body: { id: 61, name: "x" } })).status, 201);
  });
  strictEqual((await service.stop()).code, 0);
  const told = service.stderr.all.join("\n");
  ok(!/unexpected/i.test(told), told);
  ok(!service.stdout.all.some((line) => / 500 /.test(line)), service.stdout.all.join("\n"));
});
