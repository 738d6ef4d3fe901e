import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { BodySpool } from "../../../../src/base/lib/body_spool.ts";
import { SpoolSpace, type TemporaryFile } from "../../../../src/base/lib/spool_file.ts";
import { ChunkQueue } from "../../../../src/database/connection/chunk_queue.ts";

const megabyte = 1024 * 1024;

/** A file in memory that is full after so many bytes. */
class FakeFile implements TemporaryFile {
  readonly #bytes: Uint8Array;
  isClosed = false;

  constructor(size: number) {
    this.#bytes = new Uint8Array(size);
  }

  write(bytes: Uint8Array, position: number): void {
    if (position + bytes.length > this.#bytes.length) throw new Error("ENOSPC");
    this.#bytes.set(bytes, position);
  }

  read(buffer: Uint8Array, position: number): void {
    buffer.set(this.#bytes.subarray(position, position + buffer.length));
  }

  close(): void {
    this.isClosed = true;
  }
}

/** `disk` is null where no file can be opened. */
function open(
  { disk = 40 * megabyte, maxFileBytes = 1024 * megabyte }: {
    readonly disk?: number | null;
    readonly maxFileBytes?: number;
  } = {},
) {
  const files: FakeFile[] = [];
  const spool = new BodySpool({
    space: new SpoolSpace(),
    maxFileBytes,
    openFile: () => {
      if (disk === null) throw new Error("EACCES");
      const file = new FakeFile(disk);
      files.push(file);
      return file;
    },
  });
  const state = { now: 0, evicted: 0 };
  const queue = () =>
    new ChunkQueue({ spool, now: () => state.now, onEvicted: () => void state.evicted++ });
  return { spool, files, state, queue };
}

/** A chunk of one MiB that begins with its number. */
function chunk(number: number): Uint8Array {
  const bytes = new Uint8Array(megabyte).fill(number & 255);
  new DataView(bytes.buffer).setUint32(0, number);
  return bytes;
}

function drain(queue: ChunkQueue): Uint8Array {
  const chunks: Uint8Array[] = [];
  while (!queue.isEmpty) chunks.push(queue.shift());
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of chunks) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function checkOrder(bytes: Uint8Array, first: number, count: number): void {
  strictEqual(bytes.length, count * megabyte);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < count; index++) {
    strictEqual(view.getUint32(index * megabyte), first + index);
    strictEqual(bytes[(index + 1) * megabyte - 1], (first + index) & 255);
  }
}

Deno.test("ChunkQueue is full at 256 KiB without a spool", () => {
  const queue = open().queue();
  queue.push(new Uint8Array(255 * 1024));
  strictEqual(queue.isFull, false);
  queue.push(new Uint8Array(1024));
  strictEqual(queue.isFull, true);
});

Deno.test("ChunkQueue keeps 8 MiB in memory, then a file, and returns all in order", () => {
  const { spool, files, queue: create } = open();
  const queue = create();
  queue.push(chunk(0));
  queue.spool(Infinity);
  for (let number = 1; number < 8; number++) queue.push(chunk(number));
  strictEqual(files.length, 0);
  for (let number = 8; number < 30; number++) queue.push(chunk(number));
  strictEqual(queue.isFull, false);
  deepStrictEqual(spool.taken, { memoryBytes: 8 * megabyte, fileBytes: 22 * megabyte });
  checkOrder(drain(queue), 0, 30);
  deepStrictEqual(spool.taken, { memoryBytes: 0, fileBytes: 0 });
  for (let number = 30; number < 45; number++) queue.push(chunk(number));
  checkOrder(drain(queue), 30, 15);
  queue.close();
  deepStrictEqual(files.map(({ isClosed }) => isClosed), [true]);
});

Deno.test("ChunkQueue is full when the spool has the bytes that it was to take", () => {
  const { queue: create } = open();
  const queue = create();
  queue.push(chunk(0));
  deepStrictEqual([queue.isFull, queue.isSpooled], [true, false]);
  for (let number = 1; number < 20; number++) {
    queue.spool(megabyte);
    deepStrictEqual([queue.isFull, queue.isSpooled], [false, true]);
    queue.push(chunk(number));
    strictEqual(queue.isFull, true);
  }
  queue.shift();
  strictEqual(queue.isFull, false);
  checkOrder(drain(queue), 1, 19);
  queue.close();
});

for (const [place, count] of [["memory", 1], ["a file", 10], ["its overflow", 16]] as const) {
  Deno.test(`ChunkQueue copies bytes to ${place}, which may change afterwards`, () => {
    const { queue: create } = open({ disk: 5 * megabyte });
    const queue = create();
    queue.spool(Infinity);
    const received = new Uint8Array(megabyte);
    for (let number = 0; number < count; number++) {
      received.set(chunk(number));
      queue.push(received);
    }
    received.fill(255);
    checkOrder(drain(queue), 0, count);
    queue.close();
  });
}

const limits: readonly (readonly [name: string, options: Parameters<typeof open>[0]])[] = [
  ["all files are full", { maxFileBytes: 5 * megabyte }],
  ["the disk is full", { disk: 5 * megabyte }],
  ["files are off", { maxFileBytes: 0 }],
  ["no file can be opened", { maxFileBytes: megabyte, disk: null }],
];

for (const [name, options] of limits) {
  Deno.test(`ChunkQueue is full when ${name}, until its reader has caught up`, () => {
    const { spool, queue: create } = open(options);
    const queue = create();
    queue.spool(Infinity);
    let count = 0;
    while (!queue.isFull) queue.push(chunk(count++));
    strictEqual(count, name.endsWith("full") ? 14 : 9);
    queue.push(chunk(count++));
    checkOrder(drain(queue), 0, count);
    strictEqual(queue.isFull, false);
    queue.close();
    deepStrictEqual(spool.taken, { memoryBytes: 0, fileBytes: 0 });
  });
}

Deno.test("BodySpool bounds the memory of all queues, and evicts readers that take nothing", () => {
  const { spool, state, queue } = open({ maxFileBytes: 0 });
  const queues = Array.from({ length: 9 }, queue);
  for (const one of queues) {
    one.spool(Infinity);
    for (let number = 0; number < 8; number++) one.push(chunk(number));
  }
  deepStrictEqual(queues.map(({ isFull }) => isFull), [...Array(8).fill(false), true]);
  strictEqual(spool.taken.memoryBytes, 64 * megabyte);
  strictEqual(state.evicted, 0);
  state.now = 30_001;
  queues[1]!.shift();
  queues[1]!.push(chunk(8));
  queues[1]!.push(chunk(9));
  strictEqual(state.evicted, 8);
  for (const one of queues) one.close();
  deepStrictEqual(spool.taken, { memoryBytes: 0, fileBytes: 0 });
});

Deno.test("ChunkQueue.close() discards the chunks", () => {
  const queue = open().queue();
  queue.push(chunk(0));
  queue.close();
  strictEqual(queue.isEmpty, true);
  throws(() => queue.shift().length);
});
