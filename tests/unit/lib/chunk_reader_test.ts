import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { chunkReader, ShortChunksError } from "../../../src/lib/chunk_reader.ts";
import { settled } from "../../support/timing/fake_clock.ts";

/** A socket as Deno reads it: 128 times per turn, and before each piece. A piece ends with its chunk. */
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

function readerOf(source: { read(view: Uint8Array): Promise<unknown> }): ReadableStreamBYOBReader {
  return { ...source, read: (view: Uint8Array) => source.read(view) } as never;
}

/** The runtime returns each piece at once: no other work has a turn during a read. */
const neverIdle = () => new Promise<void>(() => {});

for (const chunkBytes of [100, 130, 460, 600, 1000, 4096, 5000, 16_384, 65_536]) {
  Deno.test(`chunkReader() keeps short what the runtime stores: chunks of ${chunkBytes} bytes`, async () => {
    const bodyBytes = 8_000_000;
    const runtime = new FakeRuntime(bodyBytes, chunkBytes);
    const reader = chunkReader(readerOf(runtime), { pause: neverIdle });
    let bytes = 0;
    for (;;) {
      runtime.beginTurn();
      const { done, value } = await reader.next();
      if (done) break;
      bytes += value.length;
    }
    strictEqual(bytes, bodyBytes);
    // A piece takes two turns at most.
    ok(runtime.maxStored <= 2 * 128 * 4112, `${runtime.maxStored}`);
  });
}

Deno.test("chunkReader() rejects chunks that are too short to keep up with", async () => {
  const runtime = new FakeRuntime(8_000_000, 1);
  const reader = chunkReader(readerOf(runtime), { pause: neverIdle, maxStoredBytes: 1_000_000 });
  await rejects(async () => {
    for (let piece = await reader.next(); !piece.done; piece = await reader.next()) {
      runtime.beginTurn();
    }
  }, ShortChunksError);
});

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
    reader: chunkReader(byob, { pause }),
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

Deno.test("chunkReader() cuts chunks that are longer than a piece", async () => {
  const runtime = new FakeRuntime(2_000_000, 2_000_000);
  const reader = chunkReader(readerOf(runtime), { pause: neverIdle });
  const lengths: number[] = [];
  for (let piece = await reader.next(); !piece.done; piece = await reader.next()) {
    runtime.beginTurn();
    lengths.push(piece.value.length);
  }
  strictEqual(lengths.reduce((sum, length) => sum + length), 2_000_000);
  ok(lengths.every((length) => length <= 655_360), `${lengths}`);
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
