/** Clients that send a whole body before they read a response that does not need it. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { type FileConfig, startService } from "../support/server/process.ts";

const encoder = new TextEncoder();
/** More than the socket's buffers hold: the client waits until the server reads. */
const lines = "b\n".repeat(4_000_000);

/** `server-max-body-size`. */
const maxBytes = 16 * 1024 * 1024;

/** Request line, headers, beginning of the body, status. */
const rows: readonly (readonly [
  line: string,
  headers: Readonly<Record<string, string>>,
  start: string,
  status: number,
])[] = [
  ["POST /nothing", { "Content-Type": "text/csv" }, "a\n", 404],
  ["POST /texts", { "Content-Type": "text/csv" }, "x\n", 400],
  ["POST /texts", {}, "{", 400],
  ["POST /texts", { "Content-Encoding": "gzip" }, "{}", 400],
  ["POST /texts", { "Content-Type": "image/png" }, "", 415],
  ["POST /texts", { Authorization: "Bearer x" }, "", 401],
  ["LINK /texts", {}, "", 405],
  ["DELETE /texts?a=eq.1", {}, "", 204],
  ["POST /texts", {}, `{"a":"${"x".repeat(maxBytes)}`, 413],
  ["QUERY /texts", { "Content-Type": "application/x-www-form-urlencoded" }, "a=eq.", 413],
  ["QUERY /texts", { "Content-Type": "text/csv" }, "", 415],
  ["POST /rpc/limited", {}, "", 429],
];

interface Framed {
  readonly header: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

const framings: Readonly<Record<string, (text: string) => Framed>> = {
  length: (text) => {
    const bytes = encoder.encode(text);
    return { header: { "Content-Length": `${bytes.length}` }, bytes };
  },
  chunks: (text) => {
    const bytes = encoder.encode(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`);
    return { header: { "Transfer-Encoding": "chunked" }, bytes };
  },
};

const modes: Readonly<Record<string, FileConfig>> = {
  "Deno.serve": {},
  "own connections": { "server-header-timeout": 30, "server-idle-timeout": 30 },
};

for (const [mode, limits] of Object.entries(modes)) {
  Deno.test(`a client that sends its whole body first gets a response that needs none of it: ${mode}`, async (t) => {
    await using resources = new AsyncDisposableStack();
    const database = await engines.pg({ name: "long_bodies", roles: ["anon", "writer"] });
    resources.defer(() => database.remove());
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "anon",
      "jwt-secret": "a secret of at least thirty-two characters",
      "server-max-body-size": maxBytes,
      "server-query-method": true,
      "rate-limits": "few: 1/1h by ip on POST /rpc/limited",
      ...limits,
    });
    await service.listening();
    strictEqual((await service.fetch("POST /rpc/limited")).status, 404);
    for (const [line, headers, start, status] of rows) {
      for (const [framing, frame] of Object.entries(framings)) {
        await t.step(`${line} ${JSON.stringify(headers)}, framed by ${framing}`, async () => {
          const { header, bytes } = frame(start + lines);
          const head = requestBytes(line, { headers: { ...headers, ...header } });
          using connection = await HttpConnection.connect(Number(new URL(service.origin).port));
          const request = new Uint8Array(head.length + bytes.length);
          request.set(head);
          request.set(bytes, head.length);
          const answer = await connection.exchange(request, line.split(" ")[0]!);
          strictEqual(answer.status, status, answer.body);
        });
      }
    }
    deepStrictEqual(await (await service.fetch("GET /numbers")).json(), [{ n: 1 }]);
  });
}
