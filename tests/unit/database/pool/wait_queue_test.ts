import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Transaction } from "../../../../src/database/transaction.ts";
import { ServiceTime } from "../../../../src/database/pool/concurrency_limiter.ts";
import {
  pipelineOf,
  type QueuedTransaction,
  WaitQueue,
} from "../../../../src/database/pool/wait_queue.ts";
import { reading, writing } from "../../../support/database/fake_pool.ts";

/** The service time of a kind after two transactions that took so long. */
function measured(ms: number): ServiceTime {
  const time = new ServiceTime();
  for (let turn = 0; turn < 2; turn++) time.record(ms);
  return time;
}

const short = measured(0.01);

function queue(
  transaction: Transaction = reading,
  parts: Partial<QueuedTransaction> = {},
): QueuedTransaction {
  return {
    transaction,
    resolve: () => {},
    reject: () => {},
    caller: null,
    timing: null,
    deadline: null,
    serviceTime: short,
    expectsLargeBody: false,
    since: 0,
    isRequeued: false,
    stopListening: null,
    list: null,
    previous: null,
    next: null,
    ...parts,
  };
}

const block = { isolation: "read committed", end: "commit" } as const;

const classes: readonly (readonly [
  name: string,
  queued: QueuedTransaction,
  pipeline: "reads" | "writes" | null,
])[] = [
  ["short reads", queue(), "reads"],
  ["short writes", queue(writing), "writes"],
  ["reads of unknown kinds", queue(reading, { serviceTime: null }), null],
  ["reads that were not measured", queue(reading, { serviceTime: new ServiceTime() }), null],
  ["reads that take long", queue(reading, { serviceTime: measured(5) }), null],
  ["reads that must not run twice", queue({ ...reading, retry: "never" }), null],
  ["reads in blocks", queue({ ...reading, block }), null],
  ["reads that were requeued", queue(reading, { isRequeued: true }), null],
  ["writes in blocks", queue({ ...writing, block }), null],
  ["writes of 0.5 ms", queue(writing, { serviceTime: measured(0.5) }), "writes"],
  ["writes that wait for the disk", queue(writing, { serviceTime: measured(0.51) }), null],
  ["writes that were requeued", queue(writing, { isRequeued: true }), null],
];

for (const [name, queued, pipeline] of classes) {
  Deno.test(`pipelineOf() returns ${pipeline} for ${name}`, () =>
    strictEqual(pipelineOf(queued), pipeline));
}

function filled(...all: readonly QueuedTransaction[]): WaitQueue {
  const waiting = new WaitQueue();
  for (const queued of all) waiting.add(queued);
  return waiting;
}

Deno.test("WaitQueue.take() takes those directly behind the first that share its write", () => {
  const transactions = [queue(), queue(), queue(writing), queue(), queue(writing), queue(writing)];
  const waiting = filled(...transactions);
  const sizes: number[] = [];
  for (let taken; (taken = waiting.take(() => true, () => 10)).length > 0;) {
    sizes.push(taken.length);
  }
  deepStrictEqual(sizes, [2, 1, 1, 2]);
  strictEqual(waiting.size, 0);
});

Deno.test("WaitQueue.take() takes no more than the limit", () => {
  const waiting = filled(queue(), queue(), queue());
  strictEqual(waiting.take(() => true, () => 2).length, 2);
  strictEqual(waiting.size, 1);
});

Deno.test("WaitQueue.take() passes over transactions that may not start, up to 100", () => {
  const last = queue(writing);
  const waiting = filled(...Array.from({ length: 99 }, () => queue()), last);
  deepStrictEqual(waiting.take((queued) => queued === last, () => 10), [last]);
  waiting.add(queue());
  waiting.add(last);
  deepStrictEqual(waiting.take((queued) => queued === last, () => 10), []);
});

const large = { serviceTime: null, expectsLargeBody: true };

Deno.test("WaitQueue.take() passes over any number of transactions with large bodies", () => {
  const waiting = filled(...Array.from({ length: 1000 }, () => queue(reading, large)));
  const other = queue(reading, { since: 1 });
  waiting.add(other);
  strictEqual(waiting.size, 1001);
  const mayStart = ({ expectsLargeBody }: QueuedTransaction) => !expectsLargeBody;
  deepStrictEqual(waiting.take(mayStart, () => 10), [other]);
  deepStrictEqual(waiting.take(mayStart, () => 10), []);
  strictEqual(waiting.size, 1000);
});

Deno.test("WaitQueue.take() takes the transaction that has waited longest, large or not", () => {
  const other = { serviceTime: null };
  const transactions = [
    queue(reading, { ...other, since: 1 }),
    queue(reading, { ...large, since: 2 }),
    queue(reading, { ...other, since: 3 }),
    queue(reading, { ...large, since: 4 }),
  ];
  const waiting = filled(...transactions);
  const taken = transactions.map(() => waiting.take(() => true, () => 10)[0]);
  deepStrictEqual(taken, transactions);
});

Deno.test("WaitQueue.putBack() puts large transactions before large ones, and others before others", () => {
  const [first, second, third, fourth] = [
    queue(reading, large),
    queue(),
    queue(reading, large),
    queue(),
  ];
  const waiting = filled(third, fourth);
  waiting.putBack([first, second]);
  deepStrictEqual([...waiting], [first, third, second, fourth]);
});

Deno.test("WaitQueue.putBack() puts transactions before all others, in their order", () => {
  const [first, second, third] = [queue(), queue(), queue()];
  const waiting = filled(third);
  waiting.putBack([first, second]);
  deepStrictEqual([...waiting], [first, second, third]);
  const empty = filled();
  empty.putBack([second]);
  empty.add(first);
  deepStrictEqual([...empty], [second, first]);
});

Deno.test("WaitQueue.remove() removes any transaction once, and ends listening for its caller", () => {
  let ended = 0;
  const parts = { stopListening: () => void ended++ };
  const [first, second, third] = [queue(reading, parts), queue(), queue()];
  const waiting = filled(first, second, third);
  for (let turn = 0; turn < 2; turn++) waiting.remove(second);
  deepStrictEqual([...waiting], [first, third]);
  waiting.remove(third);
  waiting.remove(first);
  strictEqual(ended, 1);
  strictEqual(waiting.size, 0);
  waiting.add(second);
  deepStrictEqual([...waiting], [second]);
});

Deno.test("WaitQueue can be iterated while each transaction is removed in its turn", () => {
  const waiting = filled(queue(), queue(), queue());
  for (const queued of waiting) waiting.remove(queued);
  strictEqual(waiting.size, 0);
});
