/** `server-max-body-size`: how much of a body that is too long is read, and kept. */
import { match, ok, strictEqual } from "node:assert/strict";
import { memoryOf, resetPeak } from "../support/server/process_memory.ts";
import { startTodos } from "../support/server/todos.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const megabyte = 1_000_000;
const declaredBytes = 300 * megabyte;
/** Far above the limit, and above what sockets on both sides hold. */
const sentBytes = 256 * megabyte;
/** Growth of memory while bodies are refused: less than a third of one body. */
const allowedGrowth = 80 * megabyte;

const piece = new Uint8Array(megabyte).fill(0x20);

/** Sends a long body until the response arrives. Returns the response and the number of bytes sent. */
async function sendUntilAnswered(
  port: number,
  header: string,
  frame: (piece: Uint8Array) => readonly Uint8Array[],
): Promise<{ readonly response: string; readonly sent: number }> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = `POST /todos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `${header}\r\n\r\n`;
  let response: string | null = null;
  const reading = readResponse(connection).then((text) => response = text);
  let sent = 0;
  await write(connection, encoder.encode(head));
  while (response === null && sent < sentBytes) {
    for (const bytes of frame(piece)) await write(connection, bytes);
    sent += piece.length;
  }
  return { response: await reading, sent };
}

async function write(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Reads up to the end of the error, which is a JSON object. */
async function readResponse(connection: Deno.Conn): Promise<string> {
  const buffer = new Uint8Array(16 * 1024);
  let text = "";
  while (!text.endsWith("}")) {
    const read = await connection.read(buffer);
    if (read === null) break;
    text += decoder.decode(buffer.subarray(0, read));
  }
  return text;
}

Deno.test({
  name: "a body above server-max-body-size is refused, and never held in memory",
  ignore: Deno.build.os !== "linux",
  async fn(t) {
    await using service = await startTodos({
      "db-anon-role": "todo_user",
      "server-max-body-size": "10m",
    });
    const port = Number(new URL(service.origin).port);
    const hexLength = encoder.encode(`${piece.length.toString(16)}\r\n`);
    const lineEnd = encoder.encode("\r\n");
    const before = await memoryOf(service.pid, "VmRSS");
    await resetPeak(service.pid);

    await t.step(
      "its length is enough to refuse it and to say that the connection ends",
      async () => {
        const header = `Content-Length: ${declaredBytes}`;
        const { response, sent } = await sendUntilAnswered(port, header, (bytes) => [bytes]);
        match(response, /^HTTP\/1\.1 413 /);
        match(response, /^connection: close\r$/im);
        match(response, /"details":"The body has 300000000 bytes; at most 10485760 are accepted"/);
        ok(sent < sentBytes, `${sent} bytes sent`);
      },
    );

    await t.step("chunks are counted", async () => {
      const { response } = await sendUntilAnswered(
        port,
        "Transfer-Encoding: chunked",
        (bytes) => [hexLength, bytes, lineEnd],
      );
      match(response, /^HTTP\/1\.1 413 /);
      match(response, /"details":"At most 10485760 bytes are accepted"/);
    });

    const grown = await memoryOf(service.pid, "VmHWM") - before;
    ok(grown < allowedGrowth, `${grown} bytes more`);
    strictEqual((await service.fetch("GET /todos?limit=1")).status, 200);
  },
});
