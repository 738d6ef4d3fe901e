import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Transaction } from "../../../../src/database/transaction.ts";
import type { PoolOptions } from "../../../../src/database/pool/pool_options.ts";
import {
  bindComplete,
  complete,
  failure,
  join,
  longRow,
  ready,
  terminated,
} from "../../../support/database/fake_backend.ts";
import { outcomesOf } from "../../../support/database/fake_connection.ts";
import { FakePool, reading, writing } from "../../../support/database/fake_pool.ts";

/** Opens a pool with all its connections idle. */
async function open(options: Partial<PoolOptions> = {}): Promise<FakePool> {
  const fake = new FakePool(options);
  await fake.openAll();
  return fake;
}

/** Has all of some transactions wait for the one connection, then serves them. Returns the later writes. */
async function writesOf(
  fake: FakePool,
  transactions: readonly Transaction[],
  ms = 0,
): Promise<readonly number[]> {
  const { pool } = fake;
  const before = fake.writes[0]!.length;
  const all = [reading, ...transactions].map((transaction) => pool.transaction(transaction));
  await fake.serveAll(ms);
  deepStrictEqual(await outcomesOf(all), all.map(() => "1"));
  return fake.writes[0]!.slice(before + 1);
}

Deno.test("Pool pipelines short transactions that wait, and settles them in order", async () => {
  const fake = await open();
  const kind = await fake.learnKind();
  const order: number[] = [];
  const all = [0, 1, 2, 3].map((number) =>
    fake.pool.transaction({ ...reading, kind }).then(() => void order.push(number))
  );
  await fake.serveAll();
  await Promise.all(all);
  deepStrictEqual(order, [0, 1, 2, 3]);
  deepStrictEqual(fake.writes[0]!.slice(-2), [1, 3]);
  await fake.close();
});

interface WritesRow {
  readonly name: string;
  /** Service time of the kind. */
  readonly ms?: number;
  readonly transactions: (kind: object) => readonly Transaction[];
  readonly writes: readonly number[];
  readonly prepare?: boolean;
}

function four(transaction: Transaction): (kind: object) => readonly Transaction[] {
  return (kind) => Array.from({ length: 4 }, () => ({ ...transaction, kind }));
}

const writesRows: readonly WritesRow[] = [
  { name: "pipelines short reads", transactions: four(reading), writes: [4] },
  { name: "pipelines short writes", transactions: four(writing), writes: [4] },
  {
    name: "pipelines no writes with reads",
    transactions: (kind) =>
      [writing, writing, reading, writing].map((transaction) => ({ ...transaction, kind })),
    writes: [2, 1, 1],
  },
  {
    name: "pipelines different kinds",
    transactions: (kind) => [{ ...reading, kind }, { ...reading, planContext: "other", kind }],
    writes: [2],
  },
  {
    name: "pipelines at most 4 writes",
    transactions: (kind) => Array.from({ length: 10 }, () => ({ ...writing, kind })),
    writes: [4, 4, 2],
  },
  {
    name: "pipelines at most 16 reads",
    transactions: (kind) => Array.from({ length: 20 }, () => ({ ...reading, kind })),
    writes: [16, 4],
  },
  { name: "pipelines at most a millisecond", ms: 0.4, transactions: four(reading), writes: [3, 1] },
  {
    name: "pipelines no kind that was not measured",
    transactions: () => four(reading)({}),
    writes: [1, 1, 2],
  },
  {
    name: "pipelines nothing without prepared statements, where all transactions are blocks",
    transactions: four(reading),
    prepare: false,
    writes: [1, 1, 1, 1],
  },
];

for (const { name, ms = 0, transactions, writes, prepare = true } of writesRows) {
  Deno.test(`Pool ${name}`, async () => {
    const fake = await open({ prepare });
    const kind = await fake.learnKind(ms);
    deepStrictEqual(await writesOf(fake, transactions(kind), ms), writes);
    await fake.close();
  });
}

Deno.test("Pool divides short transactions that wait among the connections", async () => {
  const fake = await open({ max: 2 });
  const kind = await fake.learnKind(0.06);
  const holds = [reading, reading].map((transaction) => fake.pool.transaction(transaction));
  const all = Array.from({ length: 6 }, () => fake.pool.transaction({ ...reading, kind }));
  await fake.serveAll();
  await Promise.all([...holds, ...all]);
  deepStrictEqual(fake.writes.map((writes) => writes.at(-1)), [3, 3]);
  await fake.close();
});

const connections: readonly (readonly [
  name: string,
  transaction: Transaction,
  ms: number,
  roundTripMs: number,
  connections: number,
])[] = [
  ["reads that the server needs less time for than this process", reading, 0.02, 0, 1],
  ["writes of 0.06 ms", writing, 0.06, 0, 2],
  ["reads to a server a millisecond away", reading, 0, 1, 5],
  ["writes that wait for the disk", writing, 0.9, 0, 6],
];

for (const [name, transaction, ms, roundTripMs, inUse] of connections) {
  Deno.test(`Pool uses ${inUse} of 6 connections for ${name}`, async () => {
    const fake = new FakePool({ max: 6 });
    await fake.openAll(roundTripMs);
    const kind = await fake.learnKind(ms + roundTripMs);
    const all = Array.from({ length: 8 }, () => fake.pool.transaction({ ...transaction, kind }));
    deepStrictEqual(fake.pool.counts(), {
      max: 6,
      open: 6,
      inUse,
      waiting: 8 - inUse,
      timeouts: 0,
    });
    await fake.serveAll();
    deepStrictEqual(await outcomesOf(all), all.map(() => "1"));
    await fake.close();
  });
}

Deno.test("Pool starts a transaction that is not short while short ones wait beside an idle connection", async () => {
  const fake = await open({ max: 3 });
  const kind = await fake.learnKind(0.06);
  const { pool } = fake;
  const short = Array.from({ length: 3 }, () => pool.transaction({ ...reading, kind }));
  deepStrictEqual([pool.counts().inUse, pool.counts().waiting], [2, 1]);
  const other = pool.transaction(reading);
  deepStrictEqual([pool.counts().inUse, pool.counts().waiting], [3, 1]);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([...short, other]), ["1", "1", "1", "1"]);
  await fake.close();
});

Deno.test("Pool starts a transaction that is not short before short ones that wait for the limit", async () => {
  const fake = await open({ max: 3 });
  const kind = await fake.learnKind(0.06);
  const { pool } = fake;
  const busy = pool.transaction(reading);
  const short = Array.from({ length: 4 }, () => pool.transaction({ ...writing, kind }));
  const other = pool.transaction(reading);
  strictEqual(pool.counts().waiting, 3);
  await fake.serve();
  await busy;
  deepStrictEqual([pool.counts().inUse, pool.counts().waiting], [3, 2]);
  fake.replies.pop()!();
  deepStrictEqual(await outcomesOf([other]), ["1"]);
  await fake.serveAll();
  await Promise.all(short);
  await fake.close();
});

Deno.test("Pool executes short transactions of all kinds in the order in which they came", async () => {
  const fake = await open({ max: 6 });
  const [longer, shorter] = [await fake.learnKind(0.9), await fake.learnKind(0.06)];
  const { pool } = fake;
  const order: string[] = [];
  const start = (name: string, transaction: Transaction) =>
    pool.transaction(transaction).then(() => void order.push(name));
  const all = Array.from({ length: 6 }, () => start("first", { ...writing, kind: longer }));
  // Alone it would need half of the limit.
  all.push(start("read", { ...reading, kind: shorter }));
  for (let turn = 0; turn < 3; turn++) all.push(start("behind", { ...writing, kind: longer }));
  strictEqual(pool.counts().waiting, 4);
  for (let turn = 0; turn < 7; turn++) await fake.serve();
  strictEqual(order.indexOf("read"), 6);
  await fake.serveAll();
  await Promise.all(all);
  await fake.close();
});

Deno.test("Pool starts transactions on all idle connections when a share of the limit is released", async () => {
  const fake = await open({ max: 6 });
  const [fast, slow] = [await fake.learnKind(0), await fake.learnKind(0.9)];
  const { pool } = fake;
  // Its limit is one connection.
  const first = pool.transaction({ ...reading, kind: fast });
  const all = Array.from({ length: 6 }, () => pool.transaction({ ...reading, kind: slow }));
  deepStrictEqual([pool.counts().inUse, pool.counts().waiting], [1, 6]);
  await fake.serve();
  await first;
  deepStrictEqual([pool.counts().inUse, pool.counts().waiting], [6, 0]);
  await fake.serveAll();
  await Promise.all(all);
  await fake.close();
});

Deno.test("Pool starts transactions on idle connections when the one that held the limit is lost", async () => {
  const fake = await open({ max: 3 });
  const kind = await fake.learnKind(0);
  const { pool, transports } = fake;
  const all = [0, 1].map(() => pool.transaction({ ...reading, kind }));
  deepStrictEqual([pool.counts().inUse, pool.counts().waiting], [1, 1]);
  const outcomes = outcomesOf(all);
  transports.find(({ sent }) => sent.length === 4)!.lose("reset");
  deepStrictEqual(await outcomes, ["001", "waits"]);
  deepStrictEqual([pool.counts().open, pool.counts().waiting], [2, 0]);
  fake.replies.shift();
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([all[1]!]), ["1"]);
  strictEqual(transports.length, 3);
  await fake.close();
});

/** Has three short transactions share a write of the one connection; nothing replies to it. */
async function pipelineThree(fake: FakePool, transaction: Transaction) {
  const kind = await fake.learnKind();
  const first = fake.pool.transaction(reading);
  const three = [0, 1, 2].map(() => fake.pool.transaction({ ...transaction, kind }));
  for (const each of three) each.catch(() => {});
  await fake.serve();
  await first;
  strictEqual(fake.writes[0]!.at(-1), 3);
  fake.replies.splice(0);
  return three;
}

Deno.test("Pool executes elsewhere, alone, all writes that a terminated connection has not begun", async () => {
  const fake = await open();
  const three = await pipelineThree(fake, writing);
  fake.transports[0]!.tell(terminated);
  fake.transports[0]!.lose("reset");
  await fake.serveAll();
  deepStrictEqual(await outcomesOf(three), ["1", "1", "1"]);
  deepStrictEqual(fake.writes[1], [1, 1, 1]);
  await fake.close();
});

Deno.test("Pool moves what is to be retried from behind a slow transaction", async () => {
  const fake = await open({ max: 2 });
  const kind = await fake.learnKind(0.06);
  const { pool, replies } = fake;
  const holds = [pool.transaction(reading), pool.transaction(reading)];
  const all = [0, 1, 2, 3].map(() => pool.transaction({ ...writing, kind }));
  // The first connection takes two of the four.
  await fake.serve();
  await holds[0];
  const [, second] = replies.splice(-2);
  const busy = fake.transports[fake.writes.findIndex((writes) => writes.at(-1) === 2)]!;
  busy.tell(join(failure("26000", "gone"), ready("I")));
  await fake.serveAll();
  await fake.clock.pass(60);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf(all), ["1", "waits", "1", "1"]);
  second!();
  deepStrictEqual(await outcomesOf(all), ["1", "1", "1", "1"]);
  await fake.close();
});

Deno.test("Pool executes alone a kind whose bodies are large", async () => {
  const fake = await open();
  const kind = await fake.learnKind();
  const large = fake.pool.transaction({ ...reading, kind });
  fake.replies.splice(0);
  fake.transports[0]!.tell(join(bindComplete, longRow(200_000)));
  const { body } = await large;
  fake.transports[0]!.tell(new Uint8Array(200_000));
  fake.transports[0]!.tell(join(complete("SELECT 1"), ready("I")));
  await new Response(body.content as ReadableStream<Uint8Array>).bytes();
  deepStrictEqual(await writesOf(fake, four(reading)(kind)), [1, 1, 1, 1]);
  await fake.close();
});
