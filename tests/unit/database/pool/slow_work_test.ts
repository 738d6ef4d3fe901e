import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Transaction, TransactionResult } from "../../../../src/database/transaction.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import { outcomesOf } from "../../../support/database/fake_connection.ts";
import {
  type FakeCaller,
  fakeCaller,
  FakePool,
  reading,
  writing,
} from "../../../support/database/fake_pool.ts";

/**
 * Opens a pool of two connections. The first has four short transactions in one write, whose replies are
 * returned; the second is busy with a transaction of its own, whose reply is the first of the pool's replies.
 */
async function openSlow(transaction: Transaction, caller: FakeCaller | null) {
  const fake = new FakePool({ max: 2 });
  await fake.openAll();
  const kind = await fake.learnKind();
  const { pool, replies } = fake;
  const first = pool.transaction(writing);
  const second = pool.transaction(writing);
  const short = [0, 1, 2, 3].map((number) =>
    pool.transaction({ ...transaction, kind }, ...(number === 0 && caller !== null ? [caller] : []))
  );
  await fake.serve();
  await first;
  const held = replies.splice(1, 4);
  strictEqual(held.length, 4);
  const slowIndex = fake.writes.findIndex((writes) => writes.at(-1) === 4);
  const slow = fake.transports[slowIndex]!;
  return { fake, kind, second, short, held, slow, otherIndex: 1 - slowIndex };
}

Deno.test("Pool executes elsewhere, alone, the safe reads behind one that takes 50 ms", async () => {
  const { fake, second, short, held, slow, otherIndex } = await openSlow(reading, fakeCaller());
  await fake.clock.pass(40);
  strictEqual(fake.pool.counts().waiting, 0);
  await fake.clock.pass(20);
  strictEqual(fake.pool.counts().waiting, 3);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([second, ...short]), ["1", "waits", "1", "1", "1"]);
  deepStrictEqual(fake.writes[otherIndex]!.slice(-3), [1, 1, 1]);
  for (const reply of held) reply();
  deepStrictEqual(await outcomesOf(short), ["1", "1", "1", "1"]);
  deepStrictEqual(slow.log, []);
  await fake.close();
});

Deno.test("Pool leaves writes behind a slow write, and cancels none", async () => {
  const caller = fakeCaller();
  const { fake, kind, short, held, slow } = await openSlow(writing, caller);
  await fake.clock.pass(60);
  caller.leave();
  await fake.clock.pass(1000);
  strictEqual(fake.pool.counts().waiting, 0);
  deepStrictEqual(slow.log, []);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf(short), ["waits", "waits", "waits", "waits"]);
  for (const reply of held) reply();
  deepStrictEqual(await outcomesOf(short), ["1", "1", "1", "1"]);
  // The kind has held up others: it is not pipelined for a while.
  const later = Array.from({ length: 6 }, () => fake.pool.transaction({ ...writing, kind }));
  await fake.serveAll();
  await Promise.all(later);
  deepStrictEqual(fake.writes.flatMap((writes) => writes.slice(-3)), [1, 1, 1, 1, 1, 1]);
  await fake.close();
});

const callers: readonly (readonly [name: string, caller: FakeCaller | null])[] = [
  ["a transaction without a caller", null],
  ["a transaction whose caller stayed", fakeCaller()],
];

for (const [name, caller] of callers) {
  Deno.test(`Pool cancels after 250 ms what no result is awaited of, behind ${name}`, async () => {
    const { fake, short, held, slow } = await openSlow(reading, caller);
    await fake.clock.pass(60);
    await fake.serveAll();
    // The slow one is finished; the next one, which was executed elsewhere, is slow as well.
    held.shift()!();
    deepStrictEqual(await outcomesOf(short), ["1", "1", "1", "1"]);
    await fake.clock.pass(180);
    deepStrictEqual(slow.log, []);
    await fake.clock.pass(20);
    deepStrictEqual(slow.log, ["cancel"]);
    for (const reply of held) reply();
    await settled();
    deepStrictEqual(slow.log, ["cancel", "end"]);
    await fake.close();
  });
}

Deno.test("Pool releases the share of the limit of a short transaction that takes 10 ms", async () => {
  const fake = new FakePool({ max: 3 });
  await fake.openAll();
  const kind = await fake.learnKind(0.06);
  const { pool, replies } = fake;
  const [one, other, next] = [0, 1, 2].map(() => pool.transaction({ ...writing, kind }));
  strictEqual(pool.counts().waiting, 1);
  await fake.clock.pass(9);
  strictEqual(pool.counts().waiting, 1);
  await fake.clock.pass(11);
  strictEqual(pool.counts().waiting, 0);
  replies.pop()!();
  deepStrictEqual(await outcomesOf([one!, other!, next!]), ["waits", "waits", "1"]);
  // The limit is whole again, and no more than that.
  await fake.serveAll();
  const later = Array.from({ length: 8 }, () => pool.transaction({ ...reading, kind }));
  strictEqual(pool.counts().inUse, 2);
  await fake.serveAll();
  await Promise.all(later);
  await fake.close();
});

Deno.test("Pool pipelines a kind again after 1000 transactions since it held up others", async () => {
  const fake = new FakePool();
  await fake.openAll();
  const kind = await fake.learnKind();
  const slow = fake.pool.transaction({ ...reading, kind });
  await fake.clock.pass(60);
  await fake.serveAll();
  await slow;
  const run = async (count: number) => {
    const all = Array.from({ length: count }, () => fake.pool.transaction({ ...reading, kind }));
    await fake.serveAll();
    await Promise.all(all);
  };
  await run(996);
  await run(3);
  deepStrictEqual(fake.writes[0]!.slice(-3), [1, 1, 1]);
  await run(4);
  deepStrictEqual(fake.writes[0]!.slice(-2), [1, 3]);
  await fake.close();
});

Deno.test("Pool rejects with 003 what was requeued and waits too long in all", async () => {
  const fake = new FakePool({ acquisitionTimeoutMs: 100 });
  await fake.openAll();
  const kind = await fake.learnKind();
  const first = fake.pool.transaction(writing);
  await fake.clock.pass(10);
  const short = [0, 1, 2].map(() => fake.pool.transaction({ ...reading, kind }));
  await fake.clock.pass(60);
  await fake.serve();
  await first;
  strictEqual(fake.writes[0]!.at(-1), 3);
  await fake.clock.pass(30);
  deepStrictEqual(await outcomesOf(short), ["waits", "waits", "waits"]);
  // The slow one is at 50 ms; those behind have waited for 120 ms.
  await fake.clock.pass(30);
  deepStrictEqual(await outcomesOf(short), ["waits", "003", "003"]);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf(short), ["1", "003", "003"]);
  await fake.close();
});

Deno.test("Pool rejects in time what waits behind transactions that were requeued later", async () => {
  const fake = new FakePool({ max: 2, acquisitionTimeoutMs: 200 });
  await fake.openAll();
  const kinds = [await fake.learnKind(), await fake.learnKind()];
  const holds = [fake.pool.transaction(writing), fake.pool.transaction(writing)];
  await fake.clock.pass(10);
  const groups: Promise<TransactionResult>[][] = [];
  for (const kind of kinds) {
    groups.push([0, 1].map(() => fake.pool.transaction({ ...reading, kind })));
    await fake.serve();
    await fake.clock.pass(30);
  }
  await Promise.all(holds);
  deepStrictEqual(fake.writes.map((writes) => writes.at(-1)), [2, 2]);
  // Each group has one behind its slow one; that of the later group is first in the queue.
  await fake.clock.pass(30);
  strictEqual(fake.pool.counts().waiting, 2);
  const outcomes = () => outcomesOf([groups[0]![1]!, groups[1]![1]!]);
  await fake.clock.pass(109);
  deepStrictEqual(await outcomes(), ["waits", "waits"]);
  await fake.clock.pass(1);
  deepStrictEqual(await outcomes(), ["003", "waits"]);
  await fake.clock.pass(30);
  deepStrictEqual(await outcomes(), ["003", "003"]);
  await fake.serveAll();
  await fake.close();
});
