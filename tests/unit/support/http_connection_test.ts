import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { CutError, HttpConnection, requestBytes } from "../../support/clients/http_connection.ts";

/** What a server sends before it closes the connection, and what that is for the client. */
const cases: readonly (readonly [name: string, sent: string, expected: string])[] = [
  ["a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 abc"],
  ["characters of several bytes", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\né!", "200 é!"],
  [
    "chunks",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
    "200 abc",
  ],
  ["no body", "HTTP/1.1 204 No Content\r\n\r\n", "204 "],
  ["nothing", "", "cut after 0"],
  ["half a head", "HTTP/1.1 200", "cut after 12"],
  ["half a body", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "cut after 40"],
  [
    "chunks without their end",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    "cut after 54",
  ],
];

for (const [name, sent, expected] of cases) {
  Deno.test(`HttpConnection.exchange tells whole answers from cut ones: ${name}`, async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const serving = (async () => {
      using conn = await listener.accept();
      await conn.read(new Uint8Array(1024));
      await conn.write(new TextEncoder().encode(sent));
    })();
    using connection = await HttpConnection.connect(listener.addr.port);
    const told = await connection.exchange(requestBytes("GET /"), "GET").then(
      ({ status, body }) => `${status} ${body}`,
      (error) => {
        if (error instanceof CutError) return `cut after ${error.received}`;
        throw error;
      },
    );
    strictEqual(told, expected);
    await serving;
  });
}

Deno.test("requestBytes tells the length of a body in bytes", () => {
  const text = new TextDecoder().decode(requestBytes("POST /a", { body: "é" }));
  deepStrictEqual(text.split("\r\n"), [
    "POST /a HTTP/1.1",
    "Host: localhost",
    "Content-Type: application/json",
    "Content-Length: 4",
    "",
    '"é"',
  ]);
});
