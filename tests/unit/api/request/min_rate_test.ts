import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { MinRate } from "../../../../src/base/lib/time_limits.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import type { BodyDecoder } from "../../../../src/api/request/body/body_decoder.ts";
import { divideBody, type JsonPayload } from "../../../../src/api/request/body/divided_body.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";
import { rejectionOf } from "../../../support/handler/refusal.ts";

/** A source whose chunks the test sends. */
function source() {
  const waiting: ((result: IteratorResult<Uint8Array>) => void)[] = [];
  const chunks = (async function* () {
    for (;;) {
      const result = await new Promise<IteratorResult<Uint8Array>>((resolve) =>
        waiting.push(resolve)
      );
      if (result.done) return;
      yield result.value;
    }
  })();
  const send = async (bytes: number) => {
    waiting.shift()!({ done: false, value: new Uint8Array(bytes) });
    await settled();
  };
  return { chunks, send };
}

function watched() {
  const clock = fakeClock();
  const rate = new MinRate(clock, errors);
  const { chunks, send } = source();
  return { clock, rate, send, watching: rate.watch(chunks) };
}

Deno.test("MinRate.watch() throws 133 when a body comes too slowly", async () => {
  const { clock, rate, send, watching } = watched();
  rate.start();
  const first = watching.next();
  await settled();
  await clock.pass(4000);
  await send(128 * 1024);
  strictEqual((await first).value!.length, 128 * 1024);
  // 5 s at the start and 2 s for the bytes, of which 4 s have passed.
  const second = watching.next().catch((error) => error);
  await clock.pass(2990);
  let isSettled = false;
  second.then(() => isSettled = true);
  await settled();
  strictEqual(isSettled, false);
  await clock.pass(20);
  strictEqual(
    (await rejectionOf(async () => {
      throw await second;
    })).code,
    "133",
  );
});

Deno.test("MinRate.watch() does not count the time between reads", async () => {
  const { clock, rate, send, watching } = watched();
  rate.start();
  for (let at = 0; at < 3; at++) {
    const next = watching.next();
    await settled();
    await send(1);
    strictEqual((await next).done, false);
    await clock.pass(60_000);
  }
});

Deno.test("divideBody() throws 133 and closes the file when a stored body comes too slowly", async () => {
  const { clock, rate, send, watching } = watched();
  const stored: number[] = [];
  const spool = {
    append: (bytes: Uint8Array) => void stored.push(bytes.length),
    endChunk: () => {},
    *chunks(): Generator<Uint8Array> {},
    close: () => void stored.push(-1),
  };
  const payload: JsonPayload = {
    kind: "json",
    shape: "array",
    text: new Uint8Array(),
    keys: null,
    moreKeys: 0,
    source: "json",
  };
  rate.start();
  const start = { bytes: new Uint8Array(), rowEnd: -1 };
  const cuts = { lastRowEnd: -1, areKeysKnown: true, isMixed: false, problem: null };
  const decoder = { cuts } as unknown as BodyDecoder;
  const failure = rejectionOf(() => divideBody(payload, start, { rest: watching, decoder, spool }));
  await settled();
  await send(64 * 1024);
  await clock.pass(5990);
  deepStrictEqual(stored, [0, 64 * 1024]);
  await clock.pass(20);
  strictEqual((await failure).code, "133");
  deepStrictEqual(stored, [0, 64 * 1024, -1]);
});

Deno.test("MinRate.watch() waits for ever before it is started", async () => {
  const { clock, send, watching } = watched();
  const next = watching.next();
  await settled();
  await clock.pass(3_600_000);
  await send(1);
  strictEqual((await next).value!.length, 1);
});
