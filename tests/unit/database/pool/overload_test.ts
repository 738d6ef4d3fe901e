import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { OverloadControl } from "../../../../src/database/pool/concurrency_limiter.ts";
import type { Batch } from "../../../../src/database/batch.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import { outcomesOf } from "../../../support/database/fake_connection.ts";
import { FakePool, reading, writing } from "../../../support/database/fake_pool.ts";

const targetMs = 50;

function overloadable(target = targetMs): FakePool {
  const fake = new FakePool();
  fake.pool.configure({ prepare: true, queueTargetMs: target });
  return fake;
}

/** Settled batches must not end the test before it looks at them. */
function send({ pool }: FakePool, batch: Batch = reading) {
  const result = pool.transaction(batch);
  result.catch(() => {});
  return result;
}

Deno.test("Pool lets a burst wait for longer than the target", async () => {
  const fake = overloadable();
  const burst = Array.from({ length: 5 }, () => send(fake));
  await fake.clock.pass(95);
  deepStrictEqual(await outcomesOf(burst), Array(5).fill("waits"));
  await fake.serveAll();
  deepStrictEqual(await outcomesOf(burst), Array(5).fill("1"));
  await fake.close();
});

for (const [name, batch] of [["reads", reading], ["writes", writing]] as const) {
  Deno.test(`Pool sheds ${name} of a queue that does not empty, and executes none of them`, async () => {
    const fake = overloadable();
    const running = send(fake, batch);
    await settled();
    const early = [send(fake, batch), send(fake, batch)];
    await fake.clock.pass(100);
    const late = send(fake, batch);
    await fake.clock.pass(20);
    deepStrictEqual(await outcomesOf([running, ...early, late]), ["waits", "135", "135", "waits"]);
    strictEqual(fake.pool.counts().waiting, 1);
    await fake.serveAll();
    deepStrictEqual(await outcomesOf([running, late]), ["1", "1"]);
    deepStrictEqual(fake.writes, [[1, 1]]);
    await fake.close();
  });
}

Deno.test("Pool executes the newest batch of an overloaded queue first", async () => {
  const fake = overloadable(200);
  const running = send(fake);
  await settled();
  const waiting = Array.from({ length: 3 }, () => send(fake));
  await fake.clock.pass(120);
  await fake.serve();
  deepStrictEqual(await outcomesOf([running, ...waiting]), ["1", "waits", "waits", "waits"]);
  await fake.serve();
  deepStrictEqual(await outcomesOf(waiting), ["waits", "waits", "1"]);
  await fake.serve();
  deepStrictEqual(await outcomesOf(waiting), ["waits", "1", "1"]);
  await fake.serveAll();
  // The queue was empty: a burst is served in its order again.
  const again = [send(fake), send(fake), send(fake)];
  await fake.clock.pass(10);
  await fake.serve();
  await fake.serve();
  deepStrictEqual(await outcomesOf(again), ["1", "1", "waits"]);
  await fake.serveAll();
  await fake.close();
});

Deno.test("Pool without a target lets all wait for the acquisition timeout", async () => {
  const fake = overloadable(0);
  const all = [send(fake), send(fake), send(fake)];
  await fake.clock.pass(9990);
  deepStrictEqual(await outcomesOf(all), ["waits", "waits", "waits"]);
  await fake.clock.pass(20);
  deepStrictEqual(await outcomesOf(all), ["waits", "003", "003"]);
  await fake.serveAll();
  await fake.close();
});

/** Sends a batch every 2 ms to a pool that executes one in 10 ms. Returns the waits of those served. */
async function overloadFor(milliseconds: number, target: number): Promise<readonly number[]> {
  const fake = overloadable(target);
  const waits: number[] = [];
  let pending = 0;
  for (let now = 0; now < milliseconds; now += 2) {
    const since = fake.clock.now();
    pending++;
    fake.pool.transaction(reading).then(
      () => waits.push(fake.clock.now() - since),
      () => {},
    ).finally(() => pending--);
    if (now % 10 === 8) await fake.serve();
    await fake.clock.pass(2);
  }
  while (pending > 0) await fake.serveAll();
  await fake.close();
  return waits;
}

Deno.test("Pool answers as many under five times the load, within the target", async () => {
  const milliseconds = 4000;
  const waits = (await overloadFor(milliseconds, targetMs)).toSorted((one, other) => one - other);
  const capacity = milliseconds / 10;
  ok(waits.length >= 0.85 * capacity, `${waits.length} of ${capacity}`);
  const p99 = waits[Math.floor(waits.length * 0.99)]!;
  ok(p99 <= 100 + targetMs, `p99 ${p99} ms`);
  // Without a target, all wait for longer and longer.
  const unlimited = await overloadFor(milliseconds, 0);
  ok(Math.max(...unlimited) > milliseconds / 2);
});

Deno.test("OverloadControl.retryAfter() estimates when the queue is short", () => {
  const control = new OverloadControl();
  strictEqual(control.retryAfter(1000, 10), 1);
  for (let count = 0; count < 200; count++) control.recordService(400, 4);
  strictEqual(control.retryAfter(1, 10), 1);
  strictEqual(control.retryAfter(500, 10), 5);
  strictEqual(control.retryAfter(1_000_000, 10), 30);
});

Deno.test("OverloadControl.isOverloaded() is false without a target, and after a short wait", () => {
  const control = new OverloadControl();
  control.recordEmpty(1000);
  strictEqual(control.isOverloaded(5000), false);
  control.configure(50);
  deepStrictEqual([control.isOverloaded(1100), control.isOverloaded(1101)], [false, true]);
  control.recordWait(49, 1090);
  strictEqual(control.isOverloaded(1101), false);
  control.recordWait(50, 1180);
  strictEqual(control.isOverloaded(1200), true);
  // The newest batch waits for a short time under overload.
  control.recordWait(1, 1200);
  strictEqual(control.isOverloaded(1200), true);
  control.recordEmpty(1200);
  strictEqual(control.isOverloaded(1200), false);
});
