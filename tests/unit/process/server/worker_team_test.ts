/** The leader of workers whose threads a test plays. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { noRoleSettings } from "../../../../src/state/config/in_database.ts";
import { loadConfig } from "../../../../src/state/config/load.ts";
import { svcDialect } from "../../../../src/base/dialect.ts";
import { MetricRegistry } from "../../../../src/base/observe/metric_registry.ts";
import {
  type CallMessage,
  type LeaderFunctions,
  ThreadCalls,
  type WorkerFunctions,
  type WorkerTask,
} from "../../../../src/process/server/workers/calls.ts";
import {
  type StartThread,
  WorkerTeam,
} from "../../../../src/process/server/workers/worker_team.ts";
import type { AppState } from "../../../../src/state/app_state/app_state.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";
import type { FollowedParts } from "../../../../src/state/app_state/state_change.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

const noPool = { max: 0, open: 0, inUse: 0, waiting: 0, timeouts: 0 };

/** Plays a worker, whose results are in `results`. */
class PlayedThread {
  readonly names: string[] = [];
  readonly results: Partial<Record<keyof WorkerFunctions, unknown>> = {};
  readonly leader: ThreadCalls<WorkerFunctions, LeaderFunctions>;
  task: WorkerTask | null = null;
  isTerminated = false;

  constructor(post: (message: CallMessage) => void, readonly fail: (reason: string) => void) {
    const play = (name: keyof WorkerFunctions) => (...args: readonly unknown[]) => {
      this.names.push(name);
      if (name === "serve") this.task = args[0] as WorkerTask;
      return this.results[name];
    };
    const names = ["serve", "apply", "setRetry", "metrics", "recorded", "hold"] as const;
    const functions = [...names, "closeConnections", "closeSocket", "stop"] as const;
    const own = Object.fromEntries(functions.map((name) => [name, play(name)]));
    this.leader = new ThreadCalls(post, own as unknown as WorkerFunctions);
  }
}

function owned(count = 2, results: PlayedThread["results"] = { serve: "127.0.0.1:3000" }) {
  const clock = fakeClock();
  const threads: PlayedThread[] = [];
  const seen: string[] = [];
  const config = loadConfig({
    wingOptions,
    file: null,
    environment: {
      SVC_DB_URI: "postgres:///shop",
      SVC_DB_SCHEMAS: "api",
      SVC_SERVER_PORT: "1",
      SVC_SERVER_REUSEPORT: "1",
    },
    readFile: () => new Uint8Array(),
  });
  const state: FollowedParts = {
    config,
    roles: noRoleSettings,
    serverVersion: null,
    usesBlocks: false,
    schema: null,
    revocations: null,
  };
  const registry = new MetricRegistry();
  const service = {
    dialect: svcDialect,
    followed: state,
    metricRegistry: registry,
    missName: () => void seen.push("missName"),
    observe: (event) => void seen.push(event.kind),
    recover: () => void seen.push("recover"),
    isReady: () => Promise.resolve(true),
    requestMetrics: null,
    retryAfter: () => 8,
  } as { -readonly [Name in keyof AppState]?: AppState[Name] } as AppState;
  const start: StartThread = ({ onMessage, onError }) => {
    const thread = new PlayedThread((message) => onMessage(structuredClone(message)), onError);
    Object.assign(thread.results, results);
    threads.push(thread);
    return {
      post: (message) => void thread.leader.receive(structuredClone(message)),
      terminate: () => void (thread.isTerminated = true),
    };
  };
  const team = new WorkerTeam(count, start, clock.schedule);
  const added: unknown[] = [];
  const listen = () =>
    team.listen(service, {
      config,
      call: { program: "svc", source: "svc.conf" },
      file: null,
      isQuick: false,
      log: { addLines: ({ diagnostics }) => void seen.push(diagnostics) },
      adminConsole: { isWatched: true, add: (requests) => void added.push(...requests) },
      onFatal: () => void seen.push("fatal"),
    });
  return { team, clock, threads, seen, service, registry, listen, added };
}

Deno.test("WorkerTeam.listen() starts all workers, each with its part and the whole state", async () => {
  const { team, threads, listen, seen } = owned(3);
  strictEqual(team.isOpen(), false);
  await listen();
  strictEqual(team.isOpen(), true);
  deepStrictEqual(seen, ["listening"]);
  deepStrictEqual(
    threads.map(({ task }) => [task?.part, task?.state.roles]),
    [1, 2, 3].map((number) => [{ number, workers: 3 }, noRoleSettings]),
  );
});

Deno.test("WorkerTeam.listen() rejects if a worker cannot listen", async () => {
  const { threads, listen } = owned(2, { serve: new Promise(() => {}) });
  const listening = rejects(listen(), { message: "cannot listen on 0.0.0.0:80" });
  await settled();
  threads[0]!.leader.send("refuse", "cannot listen on 0.0.0.0:80");
  await listening;
});

Deno.test("WorkerTeam ends the process if a function that a worker calls fails", async () => {
  const { threads, listen, seen, service } = owned(1);
  await listen();
  const fail = () => {
    throw new Error("wrong");
  };
  Object.assign(service, { missName: fail, isReady: () => Promise.reject(new Error("lost")) });
  threads[0]!.leader.send("missName");
  void threads[0]!.leader.ask("isReady");
  await settled();
  const ends = ["unexpected-error", "fatal"];
  deepStrictEqual(seen, ["listening", ...ends, ...ends]);
});

Deno.test("WorkerTeam sends the parts that changed, once", async () => {
  const { team, threads, listen, service } = owned();
  await listen();
  const apply: unknown[] = [];
  threads[0]!.leader.receive = (message) => Promise.resolve(void apply.push(message));
  const roles = { ...noRoleSettings, loginSetsTimeout: true };
  Object.assign(service, { followed: { ...service.followed, roles } });
  team.serviceOptions.onFollowedChange!();
  team.serviceOptions.onFollowedChange!();
  await settled();
  deepStrictEqual(apply, [{ kind: "call", number: 0, name: "apply", args: [{ roles }] }]);
});

Deno.test("WorkerTeam passes on what workers and the service notice", async () => {
  const { team, listen, seen, threads } = owned();
  await listen();
  const { leader } = threads[0]!;
  leader.send("addLines", { access: "", diagnostics: "a line" });
  leader.send("recover");
  leader.send("missName");
  leader.send("endProcess");
  strictEqual(await leader.ask("isReady"), true);
  threads[1]!.fail("out of luck");
  deepStrictEqual(seen.slice(1), [
    ...["a line", "recover", "missName", "fatal"],
    ...["unexpected-error", "fatal"],
  ]);
  team.observe({ kind: "retrying", seconds: 8 });
  await settled();
  deepStrictEqual(threads.map(({ names }) => names.at(-1)), ["setRetry", "setRetry"]);
});

Deno.test("WorkerTeam.metrics() adds up all threads", async () => {
  const { team, listen, threads, registry, service } = owned();
  await listen();
  registry.counter({ name: "a_total", help: "A" }).add(1);
  for (const [index, { results }] of threads.entries()) {
    results.metrics = `# HELP svc_a_total A\n# TYPE svc_a_total counter\nsvc_a_total 1${index}.0\n`;
  }
  ok((await team.metrics(service)).endsWith("\nsvc_a_total 22.0\n"));
});

Deno.test("WorkerTeam.shutdown() takes each step in all workers before the next one", async () => {
  const { team, listen, threads } = owned();
  await listen();
  // A request arrives in the second round, and none in the third.
  const counts = [3, 4, 4];
  for (const { results } of threads) {
    let round = 0;
    Object.defineProperty(results, "hold", { get: () => counts[round++] });
  }
  const shutdown = team.shutdown();
  strictEqual(team.isOpen(), false);
  ok(team.isRunning);
  await shutdown;
  const steps = ["serve", "hold", "hold", "hold", "closeSocket", "stop"];
  deepStrictEqual(threads.map(({ names }) => names), [steps, steps]);
  deepStrictEqual(threads.map(({ isTerminated }) => isTerminated), [true, true]);
  strictEqual(team.isRunning, false);
});

Deno.test("WorkerTeam records the requests of all workers once a second", async () => {
  const { team, listen, clock, threads, added } = owned();
  await listen();
  for (const [index, { results }] of threads.entries()) {
    results.recorded = { requests: `of ${index}`, pool: { ...noPool, open: index + 1 } };
  }
  await clock.pass(1000);
  deepStrictEqual(added, ["of 0", "of 1"]);
  strictEqual(team.pool.open, 3);
});
