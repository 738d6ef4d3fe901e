import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { pausable } from "../../../../src/database/adapters/socket_transport.ts";
import { settled } from "../../../support/timing/fake_clock.ts";

Deno.test("pausable leaves a socket alone that can pause", () => {
  const socket = { _cfReader: { read: () => Promise.resolve(1) }, pause() {}, resume() {} };
  const { pause } = socket;
  strictEqual(pausable(socket), socket);
  strictEqual(socket.pause, pause);
});

Deno.test("pausable holds the next read back until the socket is resumed", async () => {
  const reads: number[] = [];
  const looped = { _cfReader: { read: () => Promise.resolve(reads.push(reads.length)) } };
  const socket: typeof looped & { pause?(): void; resume?(): void } = pausable(looped);
  ok(socket.pause && socket.resume);
  await socket._cfReader.read();
  socket.pause();
  const next = socket._cfReader.read();
  await settled();
  deepStrictEqual(reads, [0]);
  socket.resume();
  await next;
  deepStrictEqual(reads, [0, 1]);
});
