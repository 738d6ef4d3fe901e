import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Batch } from "../../../src/database/database.ts";
import { Pace } from "../../../src/database/pace.ts";
import type { PoolOptions } from "../../../src/database/pool.ts";
import { ServiceError } from "../../../src/errors/service_error.ts";
import { failure, join, ready } from "../../support/fake_backend.ts";
import { openFakePool } from "../../support/fake_pool.ts";

/** A kind of batch that is known to be short. */
function quick(): Pace {
  const pace = new Pace();
  pace.note(0.01, "alone");
  pace.note(0.01, "alone");
  return pace;
}

const plain: Batch = {
  access: "read only",
  isolation: "read committed",
  statements: [{ text: "select main", params: [], use: "answer" }],
  end: "commit",
  stream: true,
  block: "implicit",
};

function open(options: Partial<PoolOptions> = {}) {
  const opened = openFakePool(options);
  /** How many batches each write of the first connection had. */
  const writes = () =>
    opened.transports.map((transport) =>
      transport.writes.map((bytes) => bytes.filter((_, at) => isSync(bytes, at)).length)
    );
  return { ...opened, writes };
}

function isSync(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x53 && bytes[at + 4] === 4 && bytes[at + 1] === 0 && bytes[at + 2] === 0;
}

function settle(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sends three short reads in one write, which is not answered. */
async function sendThreeTogether({ pool, replies }: ReturnType<typeof open>) {
  const pace = quick();
  const first = pool.transaction(plain);
  await settle();
  const short = [0, 1, 2].map(() => pool.transaction({ ...plain, pace }));
  replies.shift()?.();
  await first;
  await settle();
  return short;
}

async function serveAll({ serve, replies }: ReturnType<typeof open>): Promise<void> {
  await settle();
  while (replies.length > 0) {
    serve();
    await settle();
  }
}

async function close(opened: ReturnType<typeof open>): Promise<void> {
  const closed = opened.pool.close();
  await serveAll(opened);
  await closed;
}

Deno.test("short reads that wait are sent in one write, and answered in order", async () => {
  const opened = open();
  const { pool, writes } = opened;
  const pace = quick();
  const order: number[] = [];
  const all = [0, 1, 2, 3].map((number) =>
    pool.transaction({ ...plain, pace }).then(() => void order.push(number))
  );
  await serveAll(opened);
  await Promise.all(all);
  deepStrictEqual(order, [0, 1, 2, 3]);
  strictEqual(writes()[0]!.reduce((sum, batches) => sum + batches), 4);
  ok(writes()[0]!.length < 4, "some shared a write");
  await close(opened);
});

const alone: [string, () => Partial<Batch>][] = [
  ["of kinds that nothing is known of", () => ({ pace: new Pace() })],
  ["whose time is not measured", () => ({})],
  ["that must not be repeated", () => ({ pace: quick(), once: true })],
];
for (const [name, more] of alone) {
  Deno.test(`batches ${name} share no write`, async () => {
    const opened = open();
    const all = [0, 1, 2, 3].map(() => opened.pool.transaction({ ...plain, ...more() }));
    await serveAll(opened);
    await Promise.all(all);
    deepStrictEqual(opened.writes(), [[1, 1, 1, 1]]);
    await close(opened);
  });
}

Deno.test("a batch that may not share waits for no lane while a connection is free", async () => {
  const opened = open({ max: 6 });
  const { pool, transports } = opened;
  const six = Array.from({ length: 6 }, () => pool.transaction(plain));
  await serveAll(opened);
  await Promise.all(six);
  strictEqual(transports.length, 6);
  const pace = quick();
  const short = Array.from({ length: 3 }, () => pool.transaction({ ...plain, pace }));
  strictEqual(pool.counts().inUse, 2);
  strictEqual(pool.counts().waiting, 1);
  const other = pool.transaction(plain);
  strictEqual(pool.counts().inUse, 3);
  await serveAll(opened);
  await Promise.all([...short, other]);
  await close(opened);
});

/** A kind of write whose answer comes after so many milliseconds. */
function write(ms: number): Batch {
  const pace = quick();
  pace.noteWhole(ms);
  return { ...plain, pace, once: true };
}

/** Opens a pool, all of whose connections are open and idle. */
async function openIdle(max: number, options: Partial<PoolOptions> = {}) {
  const opened = open({ ...options, max });
  const all = Array.from({ length: max }, () => opened.pool.transaction(plain));
  await serveAll(opened);
  await Promise.all(all);
  return opened;
}

const atATime: readonly (readonly [name: string, ms: number, connections: number])[] = [
  ["which are over at once, wait for two connections", 0.05, 2],
  ["that take longer use more connections", 0.25, 5],
  ["that wait for a disk use all connections", 0.9, 6],
];
for (const [name, ms, connections] of atATime) {
  Deno.test(`short writes ${name}`, async () => {
    const opened = await openIdle(6);
    const { pool } = opened;
    const batch = write(ms);
    const all = Array.from({ length: 8 }, () => pool.transaction(batch));
    deepStrictEqual(pool.counts(), {
      max: 6,
      open: 6,
      inUse: connections,
      waiting: 8 - connections,
      timeouts: 0,
    });
    await serveAll(opened);
    await Promise.all(all);
    await close(opened);
  });
}

const lanes: readonly (readonly [name: string, cost: number, way: number, connections: number])[] =
  [
    ["that keep the server busy for less than they keep this side have one connection", 0.02, 0, 1],
    ["that keep it busy for longer have two", 0.06, 0, 2],
    ["that keep it busy for long have more", 0.45, 0, 4],
    ["that have some way to go have more, as they are on their way together", 0.02, 1, 5],
    ["that have a long way to go have all", 0.02, 20, 6],
  ];
for (const [name, cost, way, connections] of lanes) {
  Deno.test(`short reads ${name}`, async () => {
    let time = 0;
    const opened = await openIdle(6, { clock: () => time += way });
    const { pool } = opened;
    // Nothing else says how long the way is.
    const measured = pool.transaction({ ...plain, pace: quick() });
    await serveAll(opened);
    await measured;
    const pace = quick();
    for (let turn = 0; turn < 2; turn++) pace.note(cost, "shared");
    const all = Array.from({ length: 8 }, () => pool.transaction({ ...plain, pace }));
    strictEqual(pool.counts().inUse, connections);
    strictEqual(pool.counts().waiting, 8 - connections);
    await serveAll(opened);
    await Promise.all(all);
    await close(opened);
  });
}

Deno.test("short reads have two connections for a while after one that took long", async () => {
  const opened = await openIdle(6);
  const { pool } = opened;
  const pace = quick();
  for (let turn = 0; turn < 2; turn++) pace.note(0.02, "shared");
  const read = () => pool.transaction({ ...plain, pace });
  const slow = read();
  await settle(40);
  await serveAll(opened);
  await slow;
  const all = Array.from({ length: 8 }, read);
  strictEqual(pool.counts().inUse, 2);
  await serveAll(opened);
  await Promise.all(all);
  for (let turn = 0; turn < 1000; turn++) {
    const one = read();
    await Promise.resolve();
    opened.serve();
    await one;
  }
  const later = Array.from({ length: 8 }, read);
  strictEqual(pool.counts().inUse, 1);
  await serveAll(opened);
  await Promise.all(later);
  await close(opened);
});

Deno.test("short batches of all kinds go in the order in which they came", async () => {
  const opened = await openIdle(6);
  const { pool, serve } = opened;
  const longer = write(0.9);
  const order: string[] = [];
  const ask = (name: string, batch: Batch) =>
    pool.transaction(batch).then(() => void order.push(name));
  const all = Array.from({ length: 4 }, () => ask("first", longer));
  // Half of the connections would be taken up by it alone.
  all.push(ask("read", { ...plain, pace: quick() }));
  all.push(ask("behind", longer), ask("behind", longer), ask("behind", longer));
  strictEqual(pool.counts().waiting, 3);
  for (let served = 0; served < 5; served++) {
    serve();
    await settle();
  }
  strictEqual(order.indexOf("read"), 4);
  await serveAll(opened);
  await Promise.all(all);
  await close(opened);
});

Deno.test("what is to be sent once more waits for nothing that takes long", async () => {
  const opened = await openIdle(2);
  const { pool, replies, transports } = opened;
  const holds = [pool.transaction(plain), pool.transaction(plain)];
  await settle();
  const [one, other] = [0, 1, 2, 3].map(() => pool.transaction({ ...plain, pace: quick() }));
  // The connection that was used last is free again and gets two of the four.
  replies.shift()?.();
  await holds[0];
  await settle();
  const [, slow] = replies.splice(1, 2);
  transports[1]!.tell(join(failure("26000", "gone"), ready("I")));
  await serveAll(opened);
  await settle(100);
  await serveAll(opened);
  strictEqual((await one!).head[0], "1");
  slow?.();
  await other;
  await close(opened);
});

Deno.test("a short write that takes long after all holds nobody up", async () => {
  const opened = await openIdle(3);
  const { pool, replies } = opened;
  const batch = write(0.05);
  const [held, alsoHeld, next] = [0, 1, 2].map(() => pool.transaction(batch));
  strictEqual(pool.counts().waiting, 1);
  await settle(40);
  strictEqual(pool.counts().waiting, 0);
  replies.pop()?.();
  await next;
  await serveAll(opened);
  await Promise.all([held, alsoHeld]);
  await close(opened);
});

Deno.test("who needs no lane is served before those who wait for one", async () => {
  const opened = await openIdle(3);
  const { pool, replies } = opened;
  const batch = write(0.05);
  const busy = pool.transaction(plain);
  const writes = Array.from({ length: 4 }, () => pool.transaction(batch));
  const other = pool.transaction(plain);
  strictEqual(pool.counts().waiting, 3);
  replies.shift()?.();
  await busy;
  deepStrictEqual([pool.counts().inUse, pool.counts().waiting], [3, 2]);
  replies.pop()?.();
  await other;
  await serveAll(opened);
  await Promise.all(writes);
  await close(opened);
});

Deno.test("what is sent behind one that takes long is run again elsewhere, and alone", async () => {
  const opened = open({ max: 2 });
  const { pool, replies, writes } = opened;
  const pace = quick();
  const first = pool.transaction(plain);
  const second = pool.transaction(plain);
  await settle();
  const short = [0, 1, 2, 3].map(() => pool.transaction({ ...plain, pace }));
  // The first connection takes some of those that wait; its answer does not come.
  replies.shift()?.();
  await first;
  await settle();
  const shared = writes()[0]!.at(-1)!;
  ok(shared > 1, "some share a write");
  const held = replies.splice(1, shared);
  await settle(150);
  // The second connection serves all the others.
  for (let round = 0; round < 10; round++) {
    replies.shift()?.();
    await settle();
  }
  await second;
  const answered = await Promise.all(
    short.map((promise) => Promise.race([promise.then(() => true), settle(20).then(() => false)])),
  );
  deepStrictEqual(answered, [false, true, true, true]);
  for (const reply of held) reply();
  await Promise.all(short);
  await close(opened);
});

Deno.test("what is sent behind one whose connection is lost is run on another", async () => {
  const opened = open();
  const { transports, replies } = opened;
  const short = await sendThreeTogether(opened);
  replies.splice(0);
  transports[0]!.lose("reset");
  const outcomes = Promise.allSettled(short);
  await serveAll(opened);
  const [head, ...rest] = await outcomes;
  ok(head?.status === "rejected" && head.reason instanceof ServiceError);
  strictEqual(head.reason.facts.code, "001");
  deepStrictEqual(rest.map(({ status }) => status), ["fulfilled", "fulfilled"]);
  strictEqual(transports.length, 2);
  await close(opened);
});

Deno.test("one that fails among several that share a write fails alone", async () => {
  const opened = open();
  const { transports, replies } = opened;
  const short = await sendThreeTogether(opened);
  const outcomes = Promise.allSettled(short);
  replies.shift();
  transports[0]!.tell(join(failure("22P02", "no number"), ready("I")));
  await serveAll(opened);
  deepStrictEqual((await outcomes).map(({ status }) => status), [
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
  await close(opened);
});

Deno.test("who leaves while waiting for a lane is not served", async () => {
  const opened = open();
  const { pool, replies, writes } = opened;
  const pace = quick();
  const first = pool.transaction(plain);
  await settle();
  const client = new AbortController();
  const left = pool.transaction({ ...plain, pace, signal: () => client.signal });
  const stays = pool.transaction({ ...plain, pace });
  // It is looked who leaves when something takes long.
  await settle(100);
  client.abort(new Error("left"));
  const outcome = left.then(() => "served", (error: Error) => error.message);
  replies.shift()?.();
  await first;
  await serveAll(opened);
  await stays;
  strictEqual(await outcome, "left");
  deepStrictEqual(writes(), [[1, 1]]);
  await close(opened);
});

Deno.test("a short read that takes long after all is cancelled when its client leaves", async () => {
  const opened = open();
  const { pool, transports } = opened;
  const first = pool.transaction(plain);
  await serveAll(opened);
  await first;
  const client = new AbortController();
  const slow = pool.transaction({ ...plain, pace: quick(), signal: () => client.signal });
  await settle(150);
  client.abort();
  deepStrictEqual(transports[0]!.log, ["cancel"]);
  await serveAll(opened);
  await slow;
  deepStrictEqual(transports[0]!.log, ["cancel", "end"]);
  await close(opened);
});

Deno.test("what is handed back waits no longer than others, although nobody waited meanwhile", async () => {
  const acquisitionTimeout = 200;
  const opened = open({ acquisitionTimeout });
  const { pool, serve } = opened;
  const pace = quick();
  const first = pool.transaction(plain);
  await settle();
  const began = performance.now();
  const slow = pool.transaction({ ...plain, pace });
  await settle(acquisitionTimeout / 2);
  const behind = [0, 1].map(() => pool.transaction({ ...plain, pace }));
  // They are sent just before it is looked who has waited too long, which finds nobody.
  busyUntil(began + acquisitionTimeout - 5);
  serve();
  busyUntil(began + acquisitionTimeout + 50);
  for (const each of behind) {
    await each.then(
      () => ok(false, "nobody answered it"),
      (error) => strictEqual(error instanceof ServiceError && error.facts.status, 504),
    );
  }
  await first;
  const closed = close(opened);
  await slow;
  await closed;
});

function busyUntil(time: number): void {
  while (performance.now() < time);
}

Deno.test("what is answered together and takes long is run again elsewhere, and cancelled", async () => {
  const opened = open({ max: 2 });
  const { pool, replies, transports, writes } = opened;
  const first = pool.transaction(plain);
  const second = pool.transaction(plain);
  await settle();
  const inBlock = () => ({ text: "set in block", params: [], use: "none" }) as const;
  const all = [0, 1, 2, 3].map(() => pool.transaction({ ...plain, pace: quick(), inBlock }));
  replies.shift()?.();
  await first;
  await settle();
  // The first connection takes two of them, and answers once.
  deepStrictEqual(writes()[0], [1, 1]);
  const [held] = replies.splice(1, 1);
  await settle(150);
  for (let round = 0; round < 10; round++) {
    replies.shift()?.();
    await settle();
  }
  await second;
  deepStrictEqual((await Promise.all(all)).map(({ head }) => head), [["1"], ["1"], ["1"], ["1"]]);
  // Short locks cost no connection.
  deepStrictEqual(transports.map(({ log }) => log), [[], []]);
  await settle(300);
  deepStrictEqual(transports.map(({ log }) => log), [["cancel"], []]);
  held!();
  deepStrictEqual(transports.map(({ log }) => log), [["cancel", "end"], []]);
  await close(opened);
});

/** A kind of write that may give way to others. */
const undoable = (pace = quick()) => ({ ...plain, pace, once: true, undoable: true }) as const;

Deno.test("short writes that may give way share a write, but none with reads", async () => {
  const opened = open();
  const { pool, writes } = opened;
  const first = pool.transaction(plain);
  await settle();
  const write = undoable();
  const all = [write, write, { ...plain, pace: quick() }, write, write].map((batch) =>
    pool.transaction(batch)
  );
  await serveAll(opened);
  await Promise.all([first, ...all]);
  deepStrictEqual(writes(), [[1, 2, 1, 2]]);
  await close(opened);
});

Deno.test("writes that wait for a disk share none", async () => {
  const opened = open();
  const { pool, writes } = opened;
  const pace = quick();
  for (let time = 0; time < 2; time++) pace.note(0.5, "shared");
  const all = [0, 1, 2, 3].map(() => pool.transaction(undoable(pace)));
  await serveAll(opened);
  await Promise.all(all);
  deepStrictEqual(writes(), [[1, 1, 1, 1]]);
  await close(opened);
});

Deno.test("a write that gives way to others is run again elsewhere, and alone", async () => {
  const opened = open({ max: 2 });
  const { pool, replies, transports, writes } = opened;
  const first = pool.transaction(plain);
  const second = pool.transaction(plain);
  await settle();
  const all = [0, 1, 2, 3].map(() => pool.transaction(undoable()));
  replies.shift()?.();
  await first;
  await settle();
  deepStrictEqual(writes()[0], [1, 2]);
  // Both wait for something, and nobody cancels them.
  replies.splice(1, 2);
  await settle(400);
  deepStrictEqual(transports[0]!.log, []);
  const gaveWay = join(failure("55P03", "locked"), ready("I"));
  transports[0]!.tell(join(gaveWay, gaveWay));
  await serveAll(opened);
  await Promise.all([second, ...all]);
  const later = writes().flatMap((counts, at) => counts.slice(at === 0 ? 2 : 1));
  deepStrictEqual(later, [1, 1, 1, 1]);
  await close(opened);
});
