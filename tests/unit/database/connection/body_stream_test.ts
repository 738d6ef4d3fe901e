import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { BodyStream } from "../../../../src/database/connection/body_stream.ts";

function open(freesChunks = false) {
  const log: string[] = [];
  const body = new BodyStream({
    spool: null,
    onFull: () => log.push("full"),
    onRoom: () => log.push("room"),
    onCancelled: () => log.push("cancelled"),
    evictionError: () => new Error("evicted"),
    now: () => 0,
    freesChunks,
  });
  return { body, log, reader: body.stream.getReader() };
}

function chunk(length: number, value = 1): Uint8Array {
  return new Uint8Array(length).fill(value);
}

Deno.test("BodyStream says when too much waits, and when there is room again", async () => {
  const { body, log, reader } = open();
  for (let count = 0; count < 3; count++) body.add(chunk(100_000));
  deepStrictEqual(log, ["full"]);
  await reader.read();
  deepStrictEqual(log, ["full", "room"]);
});

Deno.test("BodyStream frees a chunk's memory when the reader pulls the next one, if it may", async () => {
  for (const freesChunks of [true, false]) {
    const { body, reader } = open(freesChunks);
    body.add(chunk(10));
    body.add(chunk(10));
    const first = (await reader.read()).value!;
    strictEqual(first.length, 10);
    await reader.read();
    strictEqual(first.length, freesChunks ? 0 : 10);
  }
});

Deno.test("BodyStream keeps memory that is not the chunk's alone", async () => {
  const { body, reader } = open(true);
  const whole = chunk(20);
  body.add(whole.subarray(0, 10));
  body.add(chunk(10));
  await reader.read();
  await reader.read();
  strictEqual(whole.length, 20);
});
