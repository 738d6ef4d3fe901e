import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { receiveBody } from "../../../../src/api/request/body/body.ts";
import { RawDecoder } from "../../../../src/api/request/body/decoders.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";
import { rejectionOf } from "../../../support/handler/refusal.ts";

const milliseconds = 60_000;
const tooSlow = { code: "133", status: 408, message: "Request body was not received in time" };

/** A request whose chunks the test sends, and what its receiver returns. */
function sending(length: number | null) {
  const clock = fakeClock();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own) });
  const headers: HeadersInit = length === null
    ? { "Transfer-Encoding": "chunked" }
    : { "Content-Length": `${length}` };
  const request = new Request("http://x/", { method: "POST", body, headers });
  const timeout = { milliseconds, schedule: clock.schedule };
  let pauses = 0;
  const received = receiveBody(request, () => new RawDecoder("bytea"), {
    timeout,
    pause: async () => void (pauses++, await settled()),
  });
  received.catch(() => {});
  return {
    clock,
    received,
    send: async (bytes: number) => {
      controller.enqueue(new Uint8Array(bytes));
      await settled();
    },
    end: () => controller.close(),
  };
}

for (const length of [1_000_000, null]) {
  const framing = length === null ? "in chunks" : "of known length";
  Deno.test(`receiveBody() throws 133 when a body ${framing} stalls`, async () => {
    const { clock, received, send } = sending(length);
    await send(1000);
    await clock.pass(milliseconds - 1);
    await send(1000);
    await clock.pass(milliseconds - 1);
    await send(1);
    strictEqual(clock.next(), milliseconds);
    await clock.pass(milliseconds);
    deepStrictEqual(await rejectionOf(() => received), tooSlow);
    strictEqual(clock.next(), null);
  });

  Deno.test(`receiveBody() sets no limit to the whole of a body ${framing}`, async () => {
    const { clock, received, send, end } = sending(length);
    for (let chunk = 0; chunk < 100; chunk++) {
      await send(1000);
      await clock.pass(milliseconds - 1);
    }
    end();
    const payload = await received;
    deepStrictEqual(payload.kind === "raw" && payload.bytes.length, 100_000);
    strictEqual(clock.next(), null);
  });
}

Deno.test("receiveBody() throws 133 unless the whole of a short body arrives in time", async () => {
  const { clock, received, send } = sending(100);
  await send(10);
  await clock.pass(milliseconds / 2);
  await send(10);
  await clock.pass(milliseconds / 2);
  deepStrictEqual(await rejectionOf(() => received), tooSlow);
});

Deno.test("receiveBody() counts the time between the chunks of a body of more than 4 KiB", async () => {
  const { clock, received, send, end } = sending(4097);
  for (const bytes of [4000, 96, 1]) {
    await clock.pass(milliseconds - 1);
    await send(bytes);
  }
  end();
  const payload = await received;
  deepStrictEqual(payload.kind === "raw" && payload.bytes.length, 4097);
  strictEqual(clock.next(), null);
  const stalled = sending(4097);
  await stalled.send(4096);
  await stalled.clock.pass(milliseconds);
  deepStrictEqual(await rejectionOf(() => stalled.received), tooSlow);
});

Deno.test("receiveBody() schedules nothing without a timeout", async () => {
  const clock = fakeClock();
  const timeout = { milliseconds: 0, schedule: clock.schedule };
  let next: number | null = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      next = clock.next();
      controller.enqueue(new Uint8Array(100_000));
      controller.close();
    },
  }, { highWaterMark: 0 });
  const request = new Request("http://x/", { method: "POST", body });
  await receiveBody(request, () => new RawDecoder("bytea"), { timeout });
  strictEqual(next, null);
});
