import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { readBody } from "../../../src/request/body.ts";
import { rejectionOf } from "../../support/refusal.ts";

/** Bytes that differ, so that none can be in another's place unnoticed. */
function bytesOf(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 255);
}

interface Sent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pieces: number;
  /** `Content-Length`; null for none. */
  readonly length: number | null;
  readonly type: "bytes" | undefined;
  /** Breaks off after so many pieces. */
  readonly broken?: number;
}

function request({ bytes, pieces, length, type, broken }: Sent): Request {
  const size = Math.ceil(bytes.length / pieces);
  let at = 0;
  let sent = 0;
  const source = {
    type,
    pull(controller: ReadableStreamDefaultController | ReadableByteStreamController) {
      if (sent++ === broken) return controller.error(new Error("gone"));
      if (at >= bytes.length) {
        controller.close();
        if ("byobRequest" in controller) controller.byobRequest?.respond(0);
        return;
      }
      controller.enqueue(bytes.slice(at, at += size));
    },
  };
  const headers: Record<string, string> = length === null ? {} : { "Content-Length": `${length}` };
  const body = new ReadableStream(source as UnderlyingByteSource);
  return new Request("http://x/", { method: "POST", body, headers });
}

const types = ["bytes", undefined] as const;

Deno.test("readBody gathers a body, however it comes", async () => {
  for (const type of types) {
    for (const size of [1, 1000, 70_000, 1_500_000]) {
      for (const pieces of [1, 3, 40]) {
        const bytes = bytesOf(size);
        // Too small or too large a length is not believed.
        for (const length of [null, size, size + 100_000, 65_537]) {
          const body = await readBody(request({ bytes, pieces, length, type }));
          strictEqual(body.length, size);
          deepStrictEqual(body, bytes, `${type} ${size} ${pieces} ${length}`);
        }
      }
    }
  }
});

Deno.test("readBody gives nothing where there is no body", async () => {
  strictEqual((await readBody(new Request("http://x/", { method: "POST" }))).length, 0);
});

Deno.test("readBody refuses a body that breaks off", async () => {
  for (const type of types) {
    for (const length of [10, 100_000, null]) {
      for (const broken of [0, 2]) {
        const sent = { bytes: bytesOf(100_000), pieces: 5, length, type, broken };
        deepStrictEqual(await rejectionOf(() => readBody(request(sent))), {
          code: "102",
          status: 400,
          message: "The body ended early",
        });
      }
    }
  }
});
