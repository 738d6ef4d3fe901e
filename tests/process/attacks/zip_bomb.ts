/** Compressed bodies that decode to a thousand times their length. */
import { requestBytes } from "../../support/clients/http_connection.ts";
import type { Attack } from "./attack.ts";
import { requestAttack } from "./requests.ts";

const decodedBytes = 200 * 1024 * 1024;

export const zipBomb: Attack = {
  name: "zip bomb",
  guards: { "server-max-body-size": "1m" },
  start: async ({ port }) => {
    const body = await compressed();
    const head = requestBytes("POST /marks", {
      headers: {
        "Content-Type": "application/json",
        "Content-Encoding": "gzip",
        "Content-Length": String(body.length),
      },
    });
    const request = new Uint8Array([...head, ...body]);
    return requestAttack({ port, clients: 4, request, method: "POST" });
  },
};

async function compressed(): Promise<Uint8Array> {
  const blanks = new Uint8Array(1024 * 1024).fill(0x20);
  let left = decodedBytes;
  const plain = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (left === 0) return controller.close();
      controller.enqueue(blanks);
      left -= blanks.length;
    },
  });
  const stream = plain.pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
