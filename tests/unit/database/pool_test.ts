import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { Batch, BatchReply, Database } from "../../../src/database/database.ts";
import type { PoolOptions } from "../../../src/database/pool.ts";
import { ServiceError } from "../../../src/errors/service_error.ts";
import {
  bindComplete,
  complete,
  FakeTransport,
  int32,
  join,
  parseComplete,
  row,
  wellBehaved,
} from "../../support/fake_backend.ts";
import { openFakePool } from "../../support/fake_pool.ts";

const batch: Batch = {
  access: "read only",
  isolation: "read committed",
  statements: [{ text: "select main", params: [], use: "answer" }],
  end: "commit",
  stream: true,
};

function open(options: Partial<PoolOptions> = {}) {
  return openFakePool({ max: 2, ...options });
}

/** Lets everything that is due happen. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => null, (error: unknown) => error);
  ok(error instanceof ServiceError);
  return error.facts.code;
}

async function closeNow(pool: Database, serve: () => void): Promise<void> {
  const closed = pool.close();
  for (let round = 0; round < 10; round++) {
    serve();
    await settle();
  }
  await closed;
}

Deno.test("a pool serves those who wait in the order in which they came", async () => {
  const { pool, serve, transports } = open();
  const order: number[] = [];
  const all = [0, 1, 2, 3, 4].map((number) =>
    pool.transaction(batch).then(() => void order.push(number))
  );
  await settle();
  deepStrictEqual(pool.counts(), { max: 2, open: 2, inUse: 2, waiting: 3, timeouts: 0 });
  for (let round = 0; round < 5; round++) {
    serve();
    await settle();
  }
  await Promise.all(all);
  deepStrictEqual(order, [0, 1, 2, 3, 4]);
  strictEqual(transports.length, 2);
  await closeNow(pool, serve);
});

Deno.test("a pool answers 003 to who waits too long, and serves the next all the same", async () => {
  const { pool, serve } = open({ max: 1, acquisitionTimeout: 30 });
  const first = pool.transaction(batch);
  strictEqual(await codeOf(pool.transaction(batch)), "003");
  strictEqual(pool.counts().timeouts, 1);
  serve();
  await first;
  const next = pool.transaction(batch);
  await settle();
  serve();
  strictEqual((await next).head[0], "1");
  await closeNow(pool, serve);
});

Deno.test("a pool tells all who wait when no connection can be made, and tries again later", async () => {
  let up = false;
  const transport = new FakeTransport();
  transport.reply = wellBehaved(row("1", "x"), (sql) => sql === "select main");
  const { pool: flaky } = open({
    connect: () => up ? Promise.resolve(transport) : Promise.reject(new Error("refused")),
  });
  const codes = await Promise.all([1, 2, 3].map(() => codeOf(flaky.transaction(batch))));
  deepStrictEqual(codes, ["000", "000", "000"]);
  up = true;
  strictEqual((await flaky.transaction(batch)).head[0], "1");
  await flaky.close();
});

Deno.test("a pool makes do with fewer connections than it may open", async () => {
  const clock = { ms: 0 };
  const limit = { connections: 1 };
  const attempts: string[] = [];
  const waiting: (() => void)[] = [];
  const { pool } = open({
    max: 3,
    now: () => clock.ms,
    connect: async () => {
      const granted = limit.connections-- > 0;
      attempts.push(granted ? "granted" : "refused");
      // Those that are refused are told first.
      if (!granted) throw new Error("too many connections");
      await settle();
      const transport = new FakeTransport();
      const behaved = wellBehaved(row("1", "x"), (sql) => sql === "select main");
      transport.reply = (sent) => {
        const reply = behaved(sent);
        waiting.push(() => transport.tell(reply));
        return null;
      };
      return transport;
    },
  });
  const serve = () => waiting.shift()?.();
  const send = () => pool.transaction(batch);
  const serveAll = async (all: readonly Promise<unknown>[]) => {
    for (let round = 0; round < 20; round++) {
      await settle();
      serve();
    }
    await Promise.all(all);
  };
  await serveAll([send(), send(), send(), send()]);
  deepStrictEqual(attempts, ["granted", "refused", "refused"]);
  await serveAll([send(), send()]);
  strictEqual(attempts.length, 3, "it asked again at once");
  clock.ms = 1000;
  limit.connections = 1;
  await serveAll([send(), send(), send()]);
  ok(attempts.length > 3, "it never asked again");
  await closeNow(pool, serve);
});

Deno.test("a pool replaces a connection that was lost", async () => {
  const { pool, serve, transports } = open({ max: 1 });
  const first = pool.transaction(batch);
  await settle();
  const second = pool.transaction(batch);
  transports[0]!.lose("reset");
  strictEqual(await codeOf(first), "001");
  await settle();
  strictEqual(transports.length, 2);
  // What the lost connection would have answered comes too late for anyone.
  serve();
  serve();
  strictEqual((await second).head[0], "1");
  await closeNow(pool, serve);
});

Deno.test("a pool forgets a connection that is lost while nobody uses it", async () => {
  const { pool, serve, transports } = open({ max: 1 });
  const first = pool.transaction(batch);
  await settle();
  serve();
  await first;
  transports[0]!.lose("reset");
  strictEqual(pool.counts().open, 0);
  const second = pool.transaction(batch);
  await settle();
  serve();
  await second;
  strictEqual(transports.length, 2);
  await closeNow(pool, serve);
});

Deno.test("flush replaces idle connections now and busy ones when they come back", async () => {
  const { pool, serve, transports } = open();
  const idle = pool.transaction(batch);
  const busy = pool.transaction(batch);
  await settle();
  serve();
  await idle;
  await settle();
  pool.flush();
  strictEqual(pool.counts().open, 1);
  serve();
  await busy;
  await settle();
  strictEqual(pool.counts().open, 0);
  deepStrictEqual(transports.map(({ log }) => log), [["end"], ["end"]]);
  await closeNow(pool, serve);
});

Deno.test("close waits for uses in progress and refuses new ones", async () => {
  const { pool, serve } = open({ max: 1 });
  const running = pool.transaction(batch);
  await settle();
  const waiting = pool.transaction(batch);
  const closed = pool.close();
  strictEqual(await codeOf(waiting), "000");
  strictEqual(await codeOf(pool.transaction(batch)), "000");
  serve();
  strictEqual((await running).head[0], "1");
  await closed;
});

Deno.test("aborting leaves the queue, and cancels what runs", async () => {
  const { pool, serve, transports } = open({ max: 1 });
  const running = new AbortController();
  const first = pool.transaction({ ...batch, signal: () => running.signal });
  await settle();
  const waiting = new AbortController();
  const second = pool.transaction({ ...batch, signal: () => waiting.signal });
  waiting.abort(new Error("left"));
  await rejects(second, /left/);
  strictEqual(pool.counts().waiting, 0);
  running.abort();
  deepStrictEqual(transports[0]!.log, ["cancel"]);
  serve();
  await first;
  // The cancellation may reach the server late: nobody else gets this connection.
  await settle();
  deepStrictEqual(transports[0]!.log, ["cancel", "end"]);
  strictEqual(pool.counts().open, 0);
  await closeNow(pool, serve);
});

Deno.test("a pool closes connections that are idle or old", async () => {
  let now = 0;
  const { pool, serve, transports } = open({ now: () => now, maxIdleTime: 100, maxLifetime: 1e6 });
  const first = pool.transaction(batch);
  await settle();
  serve();
  await first;
  now = 201;
  await new Promise((resolve) => setTimeout(resolve, 250));
  strictEqual(pool.counts().open, 0);
  deepStrictEqual(transports[0]!.log, ["end"]);
  const second: Promise<BatchReply> = pool.transaction(batch);
  await settle();
  now = 2e6;
  serve();
  await second;
  await settle();
  strictEqual(pool.counts().open, 0);
  await closeNow(pool, serve);
});

Deno.test("close does not wait for a server that never answers", async () => {
  const { pool } = open({ connect: () => new Promise(() => {}) });
  const code = codeOf(pool.transaction(batch));
  await settle();
  const began = performance.now();
  await pool.close();
  ok(performance.now() - began < 2000);
  strictEqual(await code, "000");
});

Deno.test("a body that is read in drips gives way to who has waited for long", async () => {
  let now = 0;
  const transports: FakeTransport[] = [];
  const { pool, serve } = open({
    max: 1,
    acquisitionTimeout: 4000,
    now: () => now,
    connect: () => {
      const transport = new FakeTransport();
      if (transports.push(transport) > 1) {
        transport.reply = wellBehaved(row("1", "x"), (sql) => sql === "select main");
      }
      return Promise.resolve(transport);
    },
  });
  const long = pool.transaction(batch);
  await settle();
  const size = 100_000_000;
  const step = join(parseComplete, bindComplete);
  const head = new Uint8Array([0x44, ...int32(10 + size), 0, 1, ...int32(size)]);
  transports[0]!.tell(join(step, complete("BEGIN"), step, head));
  const reader = ((await long).body.content as ReadableStream<Uint8Array>).getReader();
  const waiting = pool.transaction(batch);
  const drip = setInterval(() => {
    transports[0]!.tell(new Uint8Array(1_000_000));
    now += 400;
    reader.read().catch(() => {});
  }, 100);
  strictEqual((await waiting).head[0], "1");
  clearInterval(drip);
  await rejects(reader.closed);
  await closeNow(pool, serve);
});
