import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { BodyStream } from "../../../../src/database/connection/body_stream.ts";

function open(freesChunks = false) {
  const log: string[] = [];
  const body = new BodyStream({
    onFull: () => log.push("full"),
    onRoom: () => log.push("room"),
    onCancelled: () => log.push("cancelled"),
    evictionError: () => new Error("evicted"),
    now: () => 0,
    freesChunks,
  });
  return { body, log, reader: body.stream.getReader() };
}

function piece(length: number, value = 1): Uint8Array {
  return new Uint8Array(length).fill(value);
}

Deno.test("BodyStream gives the chunks in order, also those that arrive while the reader waits", async () => {
  const { body, reader } = open();
  body.add(piece(1, 1));
  body.add(piece(1, 2));
  deepStrictEqual((await reader.read()).value, piece(1, 1));
  deepStrictEqual((await reader.read()).value, piece(1, 2));
  const waiting = reader.read();
  body.add(piece(1, 3));
  deepStrictEqual((await waiting).value, piece(1, 3));
  const last = reader.read();
  body.end();
  strictEqual((await last).done, true);
});

Deno.test("BodyStream ends after the pieces that wait", async () => {
  const { body, reader } = open();
  body.add(piece(1, 1));
  body.add(piece(1, 2));
  body.end();
  strictEqual((await reader.read()).done, false);
  strictEqual((await reader.read()).done, false);
  strictEqual((await reader.read()).done, true);
});

Deno.test("BodyStream says when too much waits, and when there is room again", async () => {
  const { body, log, reader } = open();
  for (let count = 0; count < 3; count++) body.add(piece(100_000));
  deepStrictEqual(log, ["full"]);
  await reader.read();
  deepStrictEqual(log, ["full", "room"]);
});

Deno.test("BodyStream breaks at once, whatever waits", async () => {
  const { body, reader } = open();
  body.add(piece(1));
  body.fail(new Error("lost"));
  await rejects(reader.read(), /lost/);
  const other = open();
  const waiting = other.reader.read();
  other.body.fail(new Error("lost"));
  await rejects(waiting, /lost/);
});

Deno.test("BodyStream tells that its reader left", async () => {
  const { body, log, reader } = open();
  body.add(piece(1));
  await reader.cancel();
  deepStrictEqual(log, ["cancelled"]);
});

Deno.test("BodyStream frees a chunk's memory when the reader pulls the next one, if it may", async () => {
  for (const freesChunks of [true, false]) {
    const { body, reader } = open(freesChunks);
    body.add(piece(10));
    body.add(piece(10));
    const first = (await reader.read()).value!;
    strictEqual(first.length, 10);
    await reader.read();
    strictEqual(first.length, freesChunks ? 0 : 10);
  }
});

Deno.test("BodyStream keeps memory that is not the piece's alone", async () => {
  const { body, reader } = open(true);
  const whole = piece(20);
  body.add(whole.subarray(0, 10));
  body.add(piece(10));
  await reader.read();
  await reader.read();
  strictEqual(whole.length, 20);
});
