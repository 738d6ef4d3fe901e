import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { settled } from "../../../support/timing/fake_clock.ts";
import { outcomesOf } from "../../../support/database/fake_connection.ts";
import { fakeCaller, FakePool, reading, writing } from "../../../support/database/fake_pool.ts";

Deno.test("Pool cancels a running read whose caller leaves, and then closes the connection", async () => {
  const fake = new FakePool();
  const { pool, clock, transports } = fake;
  const caller = fakeCaller();
  const slow = pool.transaction(reading, caller);
  const waiting = pool.transaction(reading);
  await clock.pass(60);
  deepStrictEqual(transports[0]!.log, []);
  caller.leave();
  deepStrictEqual(transports[0]!.log, ["cancel"]);
  await fake.serve();
  deepStrictEqual(await outcomesOf([slow]), ["1"]);
  // The cancel may arrive late: the next transaction has another connection.
  deepStrictEqual(transports[0]!.log, ["cancel", "end"]);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([waiting]), ["1"]);
  strictEqual(transports.length, 2);
  await fake.close();
});

Deno.test("Pool cancels a slow read whose caller has left before", async () => {
  const fake = new FakePool();
  const caller = fakeCaller();
  fake.pool.transaction(reading, caller);
  await settled();
  caller.leave();
  await fake.clock.pass(40);
  deepStrictEqual(fake.transports[0]!.log, []);
  await fake.clock.pass(20);
  deepStrictEqual(fake.transports[0]!.log, ["cancel"]);
  await fake.close();
});

Deno.test("Pool removes a waiting read whose caller leaves, and no write", async () => {
  const fake = new FakePool();
  const { pool, clock } = fake;
  const first = pool.transaction(writing);
  await settled();
  const callers = [fakeCaller(), fakeCaller()];
  const read = pool.transaction(reading, callers[0]);
  const write = pool.transaction(writing, callers[1]);
  await clock.pass(60);
  for (const caller of callers) caller.leave();
  deepStrictEqual(await outcomesOf([read, write]), ["left", "waits"]);
  strictEqual(pool.counts().waiting, 1);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([first, write]), ["1", "1"]);
  await fake.close();
});

Deno.test("Pool never cancels a write whose caller leaves", async () => {
  const fake = new FakePool();
  const caller = fakeCaller();
  const write = fake.pool.transaction(writing, caller);
  await fake.clock.pass(60);
  caller.leave();
  await fake.clock.pass(5000);
  deepStrictEqual(fake.transports[0]!.log, []);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([write]), ["1"]);
  await fake.close();
});
