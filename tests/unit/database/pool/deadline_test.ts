import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Caller } from "../../../../src/database/database.ts";
import { Deadline } from "../../../../src/base/lib/time_limits.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import { outcomesOf } from "../../../support/database/fake_connection.ts";
import { FakePool, reading, writing } from "../../../support/database/fake_pool.ts";

const overdue = "134";

/** A caller whose time ends after so many milliseconds of the pool's clock. */
function limited({ clock }: FakePool, milliseconds: number): Caller {
  const { signal } = new AbortController();
  const deadline = new Deadline(milliseconds, clock);
  deadline.begin();
  return { signal, deadline };
}

for (const [name, transaction] of [["read", reading], ["write", writing]] as const) {
  Deno.test(`Pool cancels a running ${name} whose time is over, and returns its result`, async () => {
    const fake = new FakePool();
    const slow = fake.pool.transaction(transaction, limited(fake, 1000));
    await fake.clock.pass(999);
    deepStrictEqual(fake.transports[0]!.log, []);
    await fake.clock.pass(1);
    deepStrictEqual(fake.transports[0]!.log, ["cancel"]);
    deepStrictEqual(await outcomesOf([slow]), ["waits"]);
    // PostgreSQL had finished it before the cancel arrived.
    await fake.serve();
    deepStrictEqual(await outcomesOf([slow]), ["1"]);
    deepStrictEqual(fake.transports[0]!.log, ["cancel", "end"]);
    await fake.close();
  });

  Deno.test(`Pool never executes a queued ${name} whose time is over`, async () => {
    const fake = new FakePool();
    const first = fake.pool.transaction(writing);
    await settled();
    const second = fake.pool.transaction(transaction, limited(fake, 1000));
    second.catch(() => {});
    const patient = limited(fake, 5000);
    const third = fake.pool.transaction(transaction, patient);
    await fake.clock.pass(1000);
    deepStrictEqual(await outcomesOf([first, second, third]), ["waits", overdue, "waits"]);
    strictEqual(fake.pool.counts().waiting, 1);
    await fake.serveAll();
    deepStrictEqual(await outcomesOf([first, third]), ["1", "1"]);
    deepStrictEqual(fake.writes, [[1, 1]]);
    patient.deadline!.clear();
    await fake.close();
  });
}

Deno.test("Pool repeats a cancel that the server loses, until the transaction ends", async () => {
  const fake = new FakePool();
  const slow = fake.pool.transaction(reading, limited(fake, 1000));
  await fake.clock.pass(1099);
  deepStrictEqual(fake.transports[0]!.log, ["cancel"]);
  await fake.clock.pass(1);
  deepStrictEqual(fake.transports[0]!.log, ["cancel", "cancel"]);
  await fake.serve();
  deepStrictEqual(await outcomesOf([slow]), ["1"]);
  await fake.clock.pass(10_000);
  deepStrictEqual(fake.transports[0]!.log, ["cancel", "cancel", "end"]);
  await fake.close();
});

Deno.test("Pool closes a connection that does not end a canceled transaction within 5 s", async () => {
  const fake = new FakePool();
  const slow = fake.pool.transaction(writing, limited(fake, 1000));
  await fake.clock.pass(5999);
  deepStrictEqual(fake.transports[0]!.log, ["cancel", "cancel", "cancel"]);
  deepStrictEqual(await outcomesOf([slow]), ["waits"]);
  await fake.clock.pass(1);
  deepStrictEqual(fake.transports[0]!.log.slice(3), ["cancel", "destroy"]);
  deepStrictEqual(await outcomesOf([slow]), ["001"]);
  await fake.close();
});

Deno.test("Pool executes nothing for a caller whose time is over before", async () => {
  const fake = new FakePool();
  const caller = limited(fake, 10);
  await fake.clock.pass(10);
  deepStrictEqual(await outcomesOf([fake.pool.transaction(writing, caller)]), [overdue]);
  strictEqual(fake.transports.length, 0);
  await fake.close();
});

Deno.test("Pool cancels nothing after the end of a deadline's request", async () => {
  const fake = new FakePool();
  const caller = limited(fake, 1000);
  const first = fake.pool.transaction(reading, caller);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([first]), ["1"]);
  const other = fake.pool.transaction(reading);
  await settled();
  await fake.clock.pass(2000);
  deepStrictEqual(fake.transports[0]!.log, []);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([other]), ["1"]);
  await fake.close();
});
