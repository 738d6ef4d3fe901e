import { match, ok, strictEqual } from "node:assert/strict";
import { startTodos } from "../support/server/todos.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Sends bytes as they are and gives the status line of the answer, or "" when there is none. */
async function raw(port: number, text: string): Promise<string> {
  using connection = await Deno.connect({ port });
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  } catch {
    // The server has heard enough.
  }
  const buffer = new Uint8Array(4096);
  try {
    const read = await connection.read(buffer);
    return read === null ? "" : decoder.decode(buffer.subarray(0, read)).split("\r\n")[0]!;
  } catch {
    return "";
  }
}

const end = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

const requests: readonly [string, string, RegExp][] = [
  [
    "a URL of 10 MB",
    `GET /todos?task=eq.${"a".repeat(10_000_000)}${end}`,
    /^(HTTP\/1\.1 4\d\d.*)?$/,
  ],
  ["a URL of 60 kB", `GET /todos?task=eq.${"a".repeat(60_000)}${end}`, / 200 /],
  ["a URL of 100 kB", `GET /todos?task=eq.${"a".repeat(100_000)}${end}`, / 400 /],
  ["parentheses 10,000 deep", `GET /todos?or=(${"and(".repeat(10_000)}${end}`, / 400 /],
  ["5,000 filters", `GET /todos?${"id=gt.0&".repeat(5_000)}limit=1${end}`, / 200 /],
  ["NUL in the path", `GET /%00${end}`, / 404 /],
  ["NUL in a value", `GET /todos?task=eq.%00${end}`, / 400 /],
  ["broken percent escapes", `GET /todos?task=eq.%zz&%=%${end}`, / 400 /],
  ["a raw NUL", `GET /\0${end}`, / 400 /],
  ["no HTTP", "nonsense\r\n\r\n", / 400 /],
  [
    "a path in Host",
    "GET /todos HTTP/1.1\r\nHost: x/rpc/remaining?a=b#\r\nConnection: close\r\n\r\n",
    / 400 /,
  ],
  [
    "a body that is no JSON",
    `POST /todos HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{]`,
    / 400 /,
  ],
  [
    "an empty token",
    "GET /todos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \r\nConnection: close\r\n\r\n",
    / 401 /,
  ],
];

Deno.test("what cannot be understood gets its answer, and the next request works", async (t) => {
  await using service = await startTodos();
  const port = Number(new URL(service.origin).port);
  for (const [name, text, status] of requests) {
    await t.step(name, async () => {
      match(await raw(port, text), status);
      const next = await service.fetch("GET /todos?limit=1");
      strictEqual(next.status, 200);
      await next.body?.cancel();
    });
  }
  await service.stop();
  ok(!/Unexpected error/.test(service.stderr.all.join("\n")), service.stderr.all.join("\n"));
});
