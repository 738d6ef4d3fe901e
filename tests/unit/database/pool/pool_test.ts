import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { PoolEvent } from "../../../../src/database/database.ts";
import type { PoolConfiguration } from "../../../../src/database/pool/pool_options.ts";
import type { Transport } from "../../../../src/database/transport.ts";
import { type FakeTransport, row } from "../../../support/database/fake_backend.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import { outcomesOf } from "../../../support/database/fake_connection.ts";
import { FakePool, reading, writing } from "../../../support/database/fake_pool.ts";

Deno.test("Pool executes waiting transactions in the order in which they came", async () => {
  const fake = new FakePool({ max: 2 });
  const { pool, transports } = fake;
  const order: number[] = [];
  const all = [0, 1, 2, 3, 4].map((number) =>
    pool.transaction(reading).then(() => void order.push(number))
  );
  await settled();
  deepStrictEqual(pool.counts(), { max: 2, open: 2, inUse: 2, waiting: 3, timeouts: 0 });
  await fake.serveAll();
  await Promise.all(all);
  deepStrictEqual(order, [0, 1, 2, 3, 4]);
  strictEqual(transports.length, 2);
  await fake.close();
});

Deno.test("Pool rejects with 003 what waits too long, and executes the next", async () => {
  const fake = new FakePool({ acquisitionTimeoutMs: 1000 });
  const { pool, clock } = fake;
  const first = pool.transaction(reading);
  await clock.pass(400);
  const late = [pool.transaction(reading), pool.transaction(writing)];
  await clock.pass(999);
  deepStrictEqual(await outcomesOf(late), ["waits", "waits"]);
  await clock.pass(1);
  deepStrictEqual(await outcomesOf(late), ["003", "003"]);
  strictEqual(pool.counts().timeouts, 2);
  await fake.serve();
  await first;
  const next = pool.transaction(reading);
  await fake.serve();
  deepStrictEqual(await outcomesOf([next]), ["1"]);
  await fake.close();
});

Deno.test("Pool rejects all that wait when no connection can be opened, and tries again later", async () => {
  let isUp = false;
  const fake: FakePool = new FakePool({
    connect: () => isUp ? Promise.resolve(fake.connect()) : Promise.reject(new Error("refused")),
  });
  const refused = [1, 2, 3].map(() => fake.pool.transaction(reading));
  deepStrictEqual(await outcomesOf(refused), ["000", "000", "000"]);
  isUp = true;
  const next = fake.pool.transaction(reading);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([next]), ["1"]);
  await fake.close();
});

Deno.test("Pool makes do with fewer connections than it may open", async () => {
  let grants = 1;
  let attempts = 0;
  const fake: FakePool = new FakePool({
    max: 3,
    connect: async () => {
      attempts++;
      if (grants-- <= 0) throw new Error("too many connections");
      // The refusals come first.
      await settled();
      return fake.connect();
    },
  });
  const run = async (count: number) => {
    const all = Array.from({ length: count }, () => fake.pool.transaction(reading));
    await settled();
    await fake.serveAll();
    deepStrictEqual(await outcomesOf(all), all.map(() => "1"));
  };
  await run(4);
  strictEqual(attempts, 3);
  await run(2);
  strictEqual(attempts, 3, "it waits after a refusal");
  await fake.clock.pass(1000);
  grants = 2;
  await run(3);
  strictEqual(attempts, 5);
  strictEqual(fake.pool.counts().open, 3);
  await fake.close();
});

Deno.test("Pool tries again for a transaction that waits a second after a refusal", async () => {
  let grants = 1;
  const fake: FakePool = new FakePool({
    max: 2,
    connect: () =>
      grants-- > 0 ? Promise.resolve(fake.connect()) : Promise.reject(new Error("too many")),
  });
  const long = fake.pool.transaction(writing);
  const waiting = fake.pool.transaction(writing);
  await settled();
  deepStrictEqual(fake.pool.counts().open, 1);
  grants = 1;
  await fake.clock.pass(2000);
  deepStrictEqual(fake.pool.counts().open, 2);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([long, waiting]), ["1", "1"]);
  await fake.close();
});

Deno.test("Pool replaces a connection that was lost", async () => {
  const fake = new FakePool();
  const { pool, transports } = fake;
  const first = pool.transaction(reading);
  await settled();
  const second = pool.transaction(reading);
  transports[0]!.lose("reset");
  deepStrictEqual(await outcomesOf([first, second]), ["001", "waits"]);
  strictEqual(transports.length, 2);
  // The reply of the lost connection comes too late.
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([second]), ["1"]);
  await fake.close();
});

const tooLong = {
  get binary(): Uint8Array {
    throw new RangeError("Array buffer allocation failed");
  },
};
const block = { isolation: "read committed", end: "commit" } as const;

for (
  const [label, transaction] of [
    ["a read", reading],
    ["a read in a block", { ...reading, transaction: block }],
    ["a write", writing],
    ["a write in a block", { ...writing, transaction: block }],
  ] as const
) {
  Deno.test(`Pool rejects ${label} that cannot be encoded, and replaces its connection`, async () => {
    const fake = new FakePool();
    await fake.openAll();
    const statements = [{ ...transaction.statements[0]!, params: [tooLong] }];
    const failed = fake.pool.transaction({ ...transaction, statements });
    deepStrictEqual(await outcomesOf([failed]), ["001"]);
    strictEqual(fake.pool.counts().open, 0);
    await fake.openAll();
    strictEqual(fake.transports.length, 2);
    await fake.close();
  });
}

Deno.test("Pool replaces a connection whose transaction throws before it is written", async () => {
  const fake = new FakePool();
  const { signal } = new AbortController();
  const begun = () => {
    throw new TypeError("begun is not a function");
  };
  const failed = fake.pool.transaction(reading, { signal, events: { begun, held: () => {} } });
  deepStrictEqual(await outcomesOf([failed]), ["001"]);
  strictEqual(fake.pool.counts().open, 0);
  await fake.close();
});

Deno.test("Pool opens one connection for a transaction where connections fail as soon as they are open", async () => {
  const fake: FakePool = new FakePool({
    max: 10,
    connect: () => {
      const transport = fake.connect();
      transport.listen = () => {
        throw new TypeError("listen is not a function");
      };
      return Promise.resolve(transport);
    },
  });
  for (const attempts of [1, 2, 3, 4]) {
    deepStrictEqual(await outcomesOf([fake.pool.transaction(reading)]), ["000"]);
    strictEqual(fake.transports.length, attempts);
    strictEqual(fake.transports.every(({ log }) => log.includes("destroy")), true);
  }
  await fake.close();
});

Deno.test("Pool pauses a second behind an attempt to connect that throws at once", async () => {
  let attempts = 0;
  const fake: FakePool = new FakePool({
    max: 2,
    connect: () => {
      attempts++;
      if (attempts === 1) return Promise.resolve(fake.connect());
      // A pool without a pause would never end.
      if (attempts > 10) return Promise.reject(new Error("refused"));
      throw new TypeError("connect is not a function");
    },
  });
  const running = fake.pool.transaction(reading);
  await settled();
  const waiting = fake.pool.transaction(reading);
  strictEqual(attempts, 2);
  await fake.clock.pass(999);
  strictEqual(attempts, 2);
  await fake.clock.pass(1);
  strictEqual(attempts, 3);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([running, waiting]), ["1", "1"]);
  await fake.close();
});

Deno.test("Pool forgets a connection that is lost while it is idle", async () => {
  const fake = new FakePool();
  await fake.openAll();
  fake.transports[0]!.lose("reset");
  strictEqual(fake.pool.counts().open, 0);
  await fake.openAll();
  strictEqual(fake.transports.length, 2);
  await fake.close();
});

Deno.test("Pool.flush() replaces idle connections now and busy ones when they come back", async () => {
  const fake = new FakePool({ max: 2 });
  const { pool, transports } = fake;
  const idle = pool.transaction(reading);
  const busy = pool.transaction(reading);
  await settled();
  await fake.serve();
  await idle;
  pool.flush();
  strictEqual(pool.counts().open, 1);
  await fake.serve();
  await busy;
  strictEqual(pool.counts().open, 0);
  deepStrictEqual(transports.map(({ log }) => log), [["end"], ["end"]]);
  await fake.openAll();
  strictEqual(transports.length, 4);
  await fake.close();
});

Deno.test("Pool.configure() replaces connections when preparing is switched", async () => {
  const fake = new FakePool();
  const { pool, transports } = fake;
  const run = async () => {
    const done = pool.transaction(reading);
    await fake.serveAll();
    await done;
  };
  pool.configure({ prepare: true });
  await run();
  pool.configure({ prepare: true });
  await run();
  strictEqual(transports.length, 1);
  pool.configure({ prepare: false });
  deepStrictEqual(transports[0]!.log, ["end"]);
  await run();
  const names = ({ sent }: FakeTransport) =>
    sent.flat().flatMap(({ type, name = "" }) => type === "P" ? [name] : []);
  deepStrictEqual(transports.map(names), [["s1"], ["", "", ""]]);
  await fake.close();
});

const sessions: readonly (readonly [
  name: string,
  configuration: Pick<PoolConfiguration, "sharesSession" | "usesBlocks">,
  statements: readonly string[],
])[] = [
  ["own sessions", {}, ["select main"]],
  [
    "sessions that others share",
    { sharesSession: true },
    ["begin isolation level read committed read only", "select main", "commit"],
  ],
  [
    "a pooler that ends implicit transactions",
    { usesBlocks: true },
    ["begin isolation level read committed read only", "select main", "commit"],
  ],
];

for (const [name, configuration, statements] of sessions) {
  Deno.test(`Pool.configure() prepares statements of the right form with ${name}`, async () => {
    const fake = new FakePool();
    fake.pool.configure({ prepare: true, ...configuration });
    const done = fake.pool.transaction(reading);
    await fake.serveAll();
    await done;
    const parsed = fake.transports[0]!.sent.flat().filter(({ type }) => type === "P");
    deepStrictEqual(parsed.map(({ text }) => text), statements);
    strictEqual(parsed.every(({ name }) => name !== ""), true);
    await fake.close();
  });
}

Deno.test("Pool.close() waits for transactions in progress and refuses new ones", async () => {
  const fake = new FakePool();
  const { pool, transports } = fake;
  const running = pool.transaction(reading);
  await settled();
  const waiting = pool.transaction(reading);
  let isClosed = false;
  const closed = pool.close().then(() => isClosed = true);
  deepStrictEqual(await outcomesOf([waiting, pool.transaction(reading)]), ["000", "000"]);
  strictEqual(isClosed, false);
  await fake.serve();
  deepStrictEqual(await outcomesOf([running]), ["1"]);
  await closed;
  deepStrictEqual(transports[0]!.log, ["end"]);
  strictEqual(fake.clock.next(), null);
  await pool.close();
});

Deno.test("Pool.close() waits half a second for connections that are being opened", async () => {
  const opening = Promise.withResolvers<Transport>();
  const fake = new FakePool({ connect: () => opening.promise });
  const waiting = fake.pool.transaction(reading);
  await settled();
  let isClosed = false;
  const closed = fake.pool.close().then(() => isClosed = true);
  deepStrictEqual(await outcomesOf([waiting]), ["000"]);
  await fake.clock.pass(499);
  strictEqual(isClosed, false);
  await fake.clock.pass(1);
  await closed;
  strictEqual(fake.clock.next(), null);
  // A connection that opens later is closed at once.
  opening.resolve(fake.connect());
  await settled();
  deepStrictEqual(fake.transports[0]!.log, ["end"]);
  strictEqual(fake.pool.counts().open, 0);
});

Deno.test("Pool.close() waits half a second for them after the last transaction", async () => {
  const opening = Promise.withResolvers<Transport>();
  let opened = 0;
  const fake: FakePool = new FakePool({
    max: 2,
    connect: () => opened++ === 0 ? Promise.resolve(fake.connect()) : opening.promise,
  });
  const running = fake.pool.transaction(reading);
  const waiting = fake.pool.transaction(reading);
  await settled();
  let isClosed = false;
  const closed = fake.pool.close().then(() => isClosed = true);
  deepStrictEqual(await outcomesOf([running, waiting]), ["waits", "000"]);
  await fake.clock.pass(2000);
  await fake.serve();
  deepStrictEqual(await outcomesOf([running]), ["1"]);
  await fake.clock.pass(499);
  strictEqual(isClosed, false);
  await fake.clock.pass(1);
  await closed;
  strictEqual(fake.clock.next(), null);
});

Deno.test("Pool.close() rejects what a lost connection gives back", async () => {
  const fake = new FakePool();
  const { pool, transports } = fake;
  await fake.openAll();
  const kind = await fake.learnKind();
  const first = pool.transaction(reading);
  const behind = [0, 1, 2].map(() => pool.transaction({ ...reading, kind }));
  await fake.serve();
  await first;
  deepStrictEqual(fake.writes[0]!.at(-1), 3);
  const closed = pool.close();
  transports[0]!.lose("reset");
  deepStrictEqual(await outcomesOf(behind), ["001", "001", "001"]);
  await closed;
});

const ages: readonly (readonly [
  name: string,
  options: { readonly maxIdleTimeMs?: number; readonly maxLifetimeMs?: number },
  ms: number,
])[] = [
  ["idle for too long", { maxIdleTimeMs: 1000 }, 1500],
  ["too old", { maxLifetimeMs: 1000 }, 1500],
  ["idle for too long and not yet old", { maxIdleTimeMs: 1000, maxLifetimeMs: 100_000 }, 1500],
];

for (const [name, options, ms] of ages) {
  Deno.test(`Pool closes connections that are ${name}`, async () => {
    const fake = new FakePool({ max: 2, ...options });
    await fake.openAll();
    await fake.clock.pass(1000);
    strictEqual(fake.pool.counts().open, 2);
    await fake.clock.pass(ms - 1000);
    strictEqual(fake.pool.counts().open, 0);
    strictEqual(fake.clock.next(), null);
    await fake.close();
  });
}

Deno.test("Pool closes a connection that is too old when it comes back", async () => {
  const fake = new FakePool({ maxLifetimeMs: 1000 });
  const slow = fake.pool.transaction(writing);
  await settled();
  await fake.clock.pass(1001);
  strictEqual(fake.pool.counts().open, 1);
  await fake.serve();
  await slow;
  deepStrictEqual(fake.transports[0]!.log, ["end"]);
  await fake.close();
});

Deno.test("Pool uses the connection that was used last, so that others can age", async () => {
  const fake = new FakePool({ max: 3, maxIdleTimeMs: 1000 });
  await fake.openAll();
  for (let turn = 0; turn < 4; turn++) {
    const one = fake.pool.transaction(reading);
    await fake.serve();
    await one;
    await fake.clock.pass(500);
  }
  strictEqual(fake.pool.counts().open, 1);
  await fake.close();
});

Deno.test("Pool.version() returns the row of the last statement", async () => {
  const fake = new FakePool({}, {
    rowsOf: (sql) => sql === "select version()" ? row("PostgreSQL 18") : null,
  });
  const version = fake.pool.version();
  await fake.serveAll();
  strictEqual(await version, "PostgreSQL 18");
  await fake.close();
});

Deno.test("Pool emits the steps of its connections while a receiver traces them", async () => {
  const fake = new FakePool();
  const steps: string[] = [];
  fake.pool.configure({
    prepare: true,
    trace: (event: PoolEvent) =>
      void steps.push(event.kind === "pool-connection" ? event.step : event.kind),
  });
  const done = fake.pool.transaction(writing);
  await fake.serveAll();
  await done;
  fake.pool.flush();
  deepStrictEqual(steps, [
    "pool-acquiring",
    "being established",
    "available: connection establishment",
    "used",
    "available: session success",
    "pool-acquired",
    "pool-flushed",
    "terminated: release",
  ]);
  await fake.close();
});

Deno.test("Pool emits no events for a transaction that is not traced, nor for its connection", async () => {
  const fake = new FakePool({ max: 2 });
  const events: PoolEvent[] = [];
  fake.pool.configure({ prepare: true, trace: (event) => void events.push(event) });
  const untraced = fake.pool.transaction({ ...reading, isTraced: false });
  await fake.serveAll();
  await untraced;
  strictEqual(events.length, 0);
  const traced = fake.pool.transaction(reading);
  await fake.serveAll();
  await traced;
  deepStrictEqual(
    events.map((event) => event.kind === "pool-connection" ? event.step : event.kind),
    ["pool-acquiring", "used", "available: session success", "pool-acquired"],
  );
  await fake.close();
});

Deno.test("Pool.ask() asks over an idle connection, and keeps the time since it was used", async () => {
  const fake = new FakePool({ maxIdleTimeMs: 1500 });
  strictEqual(fake.pool.ask!(), null);
  await fake.openAll();
  await fake.clock.pass(1000);
  const asked = fake.pool.ask!();
  strictEqual(fake.pool.ask!(), null);
  await fake.serveAll();
  await asked;
  deepStrictEqual(fake.transports[0]!.log, []);
  await fake.clock.pass(1500);
  strictEqual(fake.pool.counts().open, 0);
  await fake.close();
});

Deno.test("Pool.suspect() closes the idle connections that do not answer within 1 s", async () => {
  const fake = new FakePool({ max: 2 });
  await fake.openAll();
  fake.pool.suspect();
  await settled();
  const next = fake.pool.transaction(reading);
  await settled();
  deepStrictEqual(fake.pool.counts().waiting, 1);
  await fake.serve();
  await fake.clock.pass(1000);
  deepStrictEqual(fake.transports.flatMap(({ log }) => log), ["destroy"]);
  fake.replies.splice(0, 1);
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([next]), ["1"]);
  await fake.close();
});
