/** The owner of workers that a test plays. */
import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { loadConfig } from "../../../src/config/load.ts";
import { noRoleSettings } from "../../../src/config/in_database.ts";
import { svcDialect } from "../../../src/dialect.ts";
import { MetricRegistry } from "../../../src/observe/metric_registry.ts";
import { type OwnerService, ServerWorkers } from "../../../src/server/workers/server_workers.ts";
import type { OwnerMessage, WorkerMessage } from "../../../src/server/workers/messages.ts";
import type { ThreadEvents } from "../../../src/server/workers/worker_slot.ts";
import { fakeClock, settled } from "../../support/timing/fake_clock.ts";

/** A thread whose messages a test sends. */
interface PlayedThread extends ThreadEvents {
  readonly received: OwnerMessage[];
  isTerminated: boolean;
}

const noPool = { max: 0, open: 0, inUse: 0, waiting: 0, timeouts: 0 };

function owned(workers = 2) {
  const clock = fakeClock();
  const threads: PlayedThread[] = [];
  const seen: string[] = [];
  const state = {
    config: loadConfig({
      file: null,
      environment: { SVC_DB_URI: "postgres:///shop", SVC_DB_SCHEMAS: "api" },
      readFile: () => new Uint8Array(),
    }),
    roles: noRoleSettings,
    serverVersion: null,
    usesBlocks: false,
    schema: null,
    keys: new Map(),
    revocations: null,
  };
  const registry = new MetricRegistry();
  const service = {
    dialect: svcDialect,
    get followed() {
      return { ...state };
    },
    metricRegistry: registry,
    metrics: () => ({
      build: { version: "1", dialect: "svc", postgres: "" },
      schemaCacheQuerySeconds: null,
      schemaCacheLoads: { success: 1, fail: 0 },
      pool: noPool,
      queueSeconds: null,
      jwtCache: { lookups: 0, hits: 0, evictions: 0 },
    }),
    missName: () => void seen.push("missName"),
    observe: (event) => {
      if (event.kind === "worker-failed") {
        seen.push(`${event.worker} ${event.reason} ${event.seconds}`);
      }
    },
    recover: () => void seen.push("recover"),
    isReady: () => {
      state.roles = { ...noRoleSettings };
      return Promise.resolve(true);
    },
    requestMetrics: null,
    retryAfter: () => 8,
  } as Partial<OwnerService> as OwnerService;
  const owner = new ServerWorkers({
    workers,
    service,
    task: { call: { program: "svc", source: "svc.conf" }, file: null, isQuick: false, port: 3000 },
    startThread: (events) => {
      const thread: PlayedThread = { ...events, received: [], isTerminated: false };
      threads.push(thread);
      return {
        post: (message) => void thread.received.push(structuredClone(message)),
        terminate: () => void (thread.isTerminated = true),
      };
    },
    addLines: ({ diagnostics }) => void seen.push(diagnostics),
    onFatal: () => void seen.push("fatal"),
    now: clock.now,
    schedule: clock.schedule,
  });
  const send = async (index: number, message: WorkerMessage) => {
    threads[index]!.onMessage(message);
    await settled();
  };
  const listens = async (index: number) => {
    await send(index, { kind: "loaded" });
    await send(index, { kind: "listening", address: "127.0.0.1:3000" });
  };
  const kinds = (index: number) => threads[index]!.received.map(({ kind }) => kind);
  /** Replies to the last query of each thread. */
  const replyAll = async (value: (index: number) => unknown) => {
    for (const [index, { received, isTerminated }] of threads.entries()) {
      const last = received.at(-1);
      if (isTerminated || last?.kind !== "query") continue;
      await send(index, { kind: "reply", id: last.id, value: value(index) });
    }
  };
  return { owner, clock, threads, seen, state, registry, send, listens, kinds, replyAll };
}

Deno.test("ServerWorkers listens when all workers do, each with its part and the whole state", async () => {
  const { owner, threads, listens } = owned(3);
  const listening = owner.listening();
  strictEqual(owner.isOpen(), false);
  for (const index of [0, 1, 2]) await listens(index);
  strictEqual(await listening, "127.0.0.1:3000");
  strictEqual(owner.isOpen(), true);
  const parts = threads.map(({ received: [first] }) => {
    ok(first?.kind === "serve");
    deepStrictEqual(first.task.state.config?.dbSchemas, ["api"]);
    return first.task.part;
  });
  deepStrictEqual(parts, [1, 2, 3].map((number) => ({ number, workers: 3 })));
});

Deno.test("ServerWorkers rejects if a worker fails before it listens", async () => {
  const { owner, send } = owned();
  const listening = rejects(owner.listening(), { message: "cannot listen on 0.0.0.0:80" });
  await send(0, { kind: "failed", reason: "cannot listen on 0.0.0.0:80", metrics: "" });
  await listening;
});

Deno.test("ServerWorkers sends each change once, and the whole state to a later worker", async () => {
  const { owner, threads, listens, state, kinds } = owned();
  await listens(0);
  state.roles = { ...noRoleSettings, loginSetsTimeout: true };
  owner.publish();
  owner.publish();
  await settled();
  deepStrictEqual(kinds(0), ["serve", "change"]);
  const change = threads[0]!.received.at(-1);
  ok(change?.kind === "change");
  deepStrictEqual(change.change, { roles: state.roles, generation: 1 });
  await listens(1);
  const [task] = threads[1]!.received.filter(({ kind }) => kind === "serve");
  ok(task?.kind === "serve");
  strictEqual(task.task.state.roles?.loginSetsTimeout, true);
  strictEqual(task.task.state.generation, 1);
});

Deno.test("ServerWorkers sends what a query has loaded before its reply", async () => {
  const { threads, listens, send, kinds } = owned();
  await listens(0);
  await send(0, { kind: "query", id: 7, name: "isReady" });
  deepStrictEqual(kinds(0), ["serve", "change", "reply"]);
  deepStrictEqual(threads[0]!.received.at(-1), { kind: "reply", id: 7, value: true });
});

Deno.test("ServerWorkers passes on what workers notice", async () => {
  const { owner, listens, send, seen, threads } = owned();
  await listens(0);
  await send(0, { kind: "log", lines: { access: "", diagnostics: "a line" } });
  await send(0, { kind: "connection-lost" });
  await send(0, { kind: "name-missed" });
  await send(0, { kind: "fatal" });
  deepStrictEqual(seen, ["a line", "recover", "missName", "fatal"]);
  owner.publishRetry();
  deepStrictEqual(threads[0]!.received.at(-1), { kind: "retrying", seconds: 8 });
});

Deno.test("ServerWorkers starts a failed worker again, later each time, while others serve", async () => {
  const { owner, clock, threads, seen, listens, send } = owned();
  await listens(0);
  await listens(1);
  await send(0, { kind: "failed", reason: null, metrics: "" });
  ok(threads[0]!.isTerminated);
  ok(owner.isOpen());
  strictEqual(threads.length, 2);
  const delays: (number | null)[] = [];
  for (let failures = 1; failures < 8; failures++) {
    delays.push(clock.next());
    await clock.pass(clock.next()!);
    threads.at(-1)!.onError("out of luck");
  }
  deepStrictEqual(delays, [100, 200, 400, 800, 1600, 3200, 5000]);
  strictEqual(seen[0], "1 null 0.1");
  strictEqual(seen.at(-1), "1 out of luck 5");
  await clock.pass(5000);
  await listens(threads.length - 1);
  await clock.pass(6000);
  await send(threads.length - 1, { kind: "failed", reason: "late", metrics: "" });
  strictEqual(clock.next(), 100, "a worker that has served begins anew");
});

Deno.test("ServerWorkers ignores the messages of a worker that has failed", async () => {
  const { threads, seen, listens, send, clock } = owned();
  await listens(0);
  await send(0, { kind: "failed", reason: "one", metrics: "" });
  threads[0]!.onError("two");
  await send(0, { kind: "fatal" });
  deepStrictEqual(seen, ["1 one 0.1"]);
  await clock.pass(100);
  strictEqual(threads.length, 3);
});

Deno.test("ServerWorkers.metrics() adds up all threads, also those that have ended", async () => {
  const { owner, listens, send, replyAll, clock, registry } = owned();
  await listens(0);
  await listens(1);
  registry.counter({ name: "a_total", help: "A" }).add(1);
  const counts = (value: number) =>
    `# HELP svc_a_total A\n# TYPE svc_a_total counter\nsvc_a_total ${value}.0\n` +
    `# HELP svc_b B\n# TYPE svc_b gauge\nsvc_b 1.0\n`;
  const read = async () => {
    const metrics = owner.metrics();
    await settled();
    await replyAll((index) => counts([10, 100, 1000][index]!));
    const text = await metrics;
    return [/^svc_a_total (.*)$/m.exec(text)?.[1], /^svc_b (.*)$/m.exec(text)?.[1]];
  };
  deepStrictEqual(await read(), ["111.0", "2.0"]);
  await send(0, { kind: "failed", reason: null, metrics: counts(20) });
  deepStrictEqual(await read(), ["121.0", "1.0"]);
  await clock.pass(100);
  await listens(2);
  deepStrictEqual(await read(), ["1121.0", "2.0"]);
});

Deno.test("ServerWorkers.shutdown() takes each step in all workers before the next one", async () => {
  const { owner, listens, send, kinds, replyAll, threads } = owned();
  await listens(0);
  await listens(1);
  const shutdown = owner.shutdown();
  await settled();
  // A request arrives in the second round, and none in the third.
  for (const [step, count] of [["hold", 3], ["hold", 4], ["hold", 4], ["closeSocket"]] as const) {
    const queried = [threads[0]!, threads[1]!].map(({ received }) => received.at(-1));
    deepStrictEqual(queried.map((query) => query?.kind === "query" && query.name), [step, step]);
    await replyAll(() => count);
    await settled();
  }
  deepStrictEqual([kinds(0).at(-1), kinds(1).at(-1)], ["stop", "stop"]);
  ok(owner.isRunning);
  await send(0, { kind: "stopped" });
  await send(1, { kind: "failed", reason: "at the end", metrics: "" });
  await shutdown;
  strictEqual(owner.isRunning, false);
});

Deno.test("ServerWorkers.shutdown() starts no worker any more", async () => {
  const { owner, listens, send, clock, threads, replyAll } = owned();
  await listens(0);
  await listens(1);
  await send(0, { kind: "failed", reason: "one", metrics: "" });
  const shutdown = owner.shutdown();
  await settled();
  for (const _step of ["hold", "closeSocket"]) {
    await replyAll(() => undefined);
    await settled();
  }
  await send(1, { kind: "stopped" });
  await shutdown;
  strictEqual(clock.next(), null);
  strictEqual(threads.length, 2);
});

Deno.test("ServerWorkers.record() adds the requests of all workers once a second", async () => {
  const { owner, listens, clock, replyAll, send, threads } = owned();
  await listens(0);
  await listens(1);
  const added: unknown[] = [];
  owner.record({ isWatched: true, add: (requests) => void added.push(...requests) });
  await clock.pass(1000);
  await replyAll((index) => ({
    requests: `of ${index}`,
    metrics: {
      pool: { ...noPool, open: index + 1 },
      jwtCache: { lookups: 2, hits: 1, evictions: 0 },
    },
  }));
  deepStrictEqual(added, ["of 0", "of 1"]);
  strictEqual(owner.recordedMetrics().pool.open, 3);
  strictEqual(owner.recordedMetrics().jwtCache.lookups, 4);
  match(JSON.stringify(threads[0]!.received), /recorded/);
  await send(0, { kind: "stopped" });
});
