import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type ChunkReader, chunkReader } from "../../../../src/base/lib/chunk_reader.ts";
import { settled } from "../../../support/timing/fake_clock.ts";

/** A socket as Deno reads it: 128 times per turn, and before each read, which returns one chunk. */
class FakeRuntime {
  readonly #chunkBytes: number;
  #left: number;
  #stored = 0;
  #chunkLeft: number;
  #socketReads = 0;
  maxStored = 0;

  constructor(bodyBytes: number, chunkBytes: number) {
    this.#left = bodyBytes;
    this.#chunkBytes = this.#chunkLeft = chunkBytes;
  }

  beginTurn() {
    this.#socketReads = 0;
  }

  read(view: Uint8Array) {
    // A read without bytes to return waits for the next turn.
    if (this.#stored === 0 && this.#socketReads >= 128) this.beginTurn();
    if (this.#socketReads++ < 128) {
      const received = Math.min(view.length, this.#left);
      this.#left -= received;
      this.#stored += received;
    }
    if (this.#stored === 0) return Promise.resolve({ done: true, value: undefined });
    const length = Math.min(view.length, this.#stored, this.#chunkLeft);
    this.#stored -= length;
    this.#chunkLeft = this.#chunkLeft - length || this.#chunkBytes;
    this.maxStored = Math.max(this.maxStored, this.#stored);
    return Promise.resolve({ done: false, value: new Uint8Array(view.buffer, 0, length) });
  }
}

function joinedBy(byob: object, pause: () => Promise<void>): ChunkReader {
  return chunkReader({ getReader: () => byob } as never, { kind: "joined", pause });
}

/** The runtime returns each chunk at once: no other work has a turn during a read. */
const neverIdle = () => new Promise<void>(() => {});

for (const chunkBytes of [16, 100, 460, 600, 2000, 4096, 5000, 65_536]) {
  Deno.test(`chunkReader() keeps short what the runtime stores: chunks of ${chunkBytes} bytes`, async () => {
    const bodyBytes = 4_000_000;
    const runtime = new FakeRuntime(bodyBytes, chunkBytes);
    const reader = joinedBy({ read: (view: Uint8Array) => runtime.read(view) }, neverIdle);
    let bytes = 0;
    for (;;) {
      runtime.beginTurn();
      const { done, value } = await reader.next();
      if (done) break;
      bytes += value.length;
    }
    strictEqual(bytes, bodyBytes);
    ok(runtime.maxStored <= 2 * 128 * 4112, `${runtime.maxStored}`);
  });
}

/** A stream whose chunks the test sends. */
function sentStream() {
  let controller: ReadableByteStreamController | null = null;
  const stream = new ReadableStream<Uint8Array>({
    type: "bytes",
    start: (started) => void (controller = started as ReadableByteStreamController),
  });
  const byob = stream.getReader({ mode: "byob" });
  let idle = () => {};
  const pause = () => new Promise<void>((resolve) => idle = resolve);
  return {
    reader: joinedBy(byob, pause),
    stream,
    send: (text: string) => controller!.enqueue(new TextEncoder().encode(text)),
    close: () => {
      controller!.close();
      controller!.byobRequest?.respond(0);
    },
    passTurn: async () => {
      await settled();
      idle();
      await settled();
    },
  };
}

async function textOf(next: Promise<ReadableStreamReadResult<Uint8Array>>) {
  const { value } = await next;
  return value === undefined ? null : new TextDecoder().decode(value);
}

Deno.test("chunkReader() joins the chunks that are there, and returns the last before the end", async () => {
  const { reader, send, close, passTurn } = sentStream();
  for (const text of ["a", "bc", "d"]) send(text);
  const first = textOf(reader.next());
  await passTurn();
  strictEqual(await first, "abcd");
  const second = textOf(reader.next());
  send("e");
  await settled();
  close();
  strictEqual(await second, "e");
  strictEqual(await textOf(reader.next()), null);
  strictEqual(await textOf(reader.next()), null);
});

Deno.test("chunkReader() waits for a client that is silent", async () => {
  const { reader, send, passTurn } = sentStream();
  const first = textOf(reader.next());
  await passTurn();
  send("a");
  await passTurn();
  strictEqual(await first, "a");
});

Deno.test("chunkReader() leaves what it has not returned to the next reader", async () => {
  const { reader, stream, send, passTurn } = sentStream();
  send("a");
  const first = textOf(reader.next());
  await passTurn();
  strictEqual(await first, "a");
  reader.release();
  const other = stream.getReader();
  send("b");
  deepStrictEqual((await other.read()).value, new TextEncoder().encode("b"));
});
