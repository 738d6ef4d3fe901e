import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { deferred } from "../../../../src/base/lib/deferred.ts";
import {
  type ConnectionHandler,
  denoServeConnection,
  type ServeConnection,
  serveConnections,
} from "../../../../src/process/server/serve_connections.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const limits = { keys: [], headerTimeoutMs: 5000, idleTimeoutMs: 5000, maxConnections: 0 };

/** A listener whose connections and errors the test hands out. */
function fakeListener() {
  const waiting: ReturnType<typeof deferred<Deno.Conn>>[] = [];
  const given: (() => void)[] = [];
  const next = () => {
    const accepted = deferred<Deno.Conn>();
    waiting.push(accepted);
    given.shift()?.();
    return accepted.promise;
  };
  const settle = (run: (accepted: ReturnType<typeof deferred<Deno.Conn>>) => void) => {
    const give = () => run(waiting.shift()!);
    if (waiting.length > 0) give();
    else given.push(give);
  };
  return {
    accept: next,
    close: () => waiting.shift()?.reject(new Deno.errors.BadResource("closed")),
    connect: () => settle(({ resolve }) => resolve({} as Deno.Conn)),
    fail: (error: Error) => settle(({ reject }) => reject(error)),
    isAccepting: () => waiting.length > 0,
  };
}

interface FakeConnection {
  readonly signal: AbortSignal;
  readonly handler: ConnectionHandler;
  readonly finished: ReturnType<typeof deferred<void>>;
}

function serving() {
  const clock = fakeClock();
  const listener = fakeListener();
  const connections: FakeConnection[] = [];
  const serveConnection: ServeConnection = (_connection, signal, handler) => {
    const finished = deferred<void>();
    signal.addEventListener("abort", () => finished.resolve());
    connections.push({ signal, handler, finished });
    return { finished: finished.promise, shutdown: () => Promise.resolve(finished.resolve()) };
  };
  const server = serveConnections({
    listener,
    serveConnection,
    limits,
    clock,
    observe: () => {},
    handlerOf: () => () => Promise.resolve(new Response("ok")),
    onError: () => new Response("error"),
    pause: settled,
  });
  return { clock, connections, listener, server };
}

Deno.test("serveConnections() accepts on after a connection that was reset while it waited", async () => {
  const { connections, listener } = serving();
  for (const error of [Deno.errors.NotConnected, Deno.errors.ConnectionReset]) {
    listener.fail(new error("reset"));
    await settled();
    ok(listener.isAccepting());
  }
  listener.connect();
  await settled();
  strictEqual(connections.length, 1);
});

Deno.test("serveConnections() waits 100 ms when there is no descriptor, and accepts on", async () => {
  const { clock, connections, listener } = serving();
  for (let turn = 0; turn < 3; turn++) {
    listener.fail(new Error("Too many open files (os error 24)"));
    await settled();
    strictEqual(listener.isAccepting(), false);
    await clock.pass(100);
    strictEqual(listener.isAccepting(), true);
  }
  listener.connect();
  await settled();
  strictEqual(connections.length, 1);
});

Deno.test("serveConnections() rejects when its listener has failed", async () => {
  const { listener, server } = serving();
  listener.fail(new Deno.errors.BadResource("bad"));
  await rejects(server.finished, Deno.errors.BadResource);
});

Deno.test("serveConnections() survives a connection that fails", async () => {
  const { connections, listener } = serving();
  listener.connect();
  await settled();
  connections[0]!.finished.reject(new Error("invalid HTTP version parsed"));
  await settled();
  listener.connect();
  await settled();
  strictEqual(connections.length, 2);
});

Deno.test("serveConnections() closes a connection whose header or next request is late", async () => {
  const { clock, connections, listener } = serving();
  listener.connect();
  listener.connect();
  await settled();
  const [silent, used] = connections;
  const completed = deferred<void>();
  const response = await used!.handler(new Request("http://x/"), { completed: completed.promise });
  strictEqual(await response.text(), "ok");
  await clock.pass(6000);
  deepStrictEqual([silent!.signal.aborted, used!.signal.aborted], [true, false]);
  completed.resolve();
  await clock.pass(6000);
  strictEqual(used!.signal.aborted, true);
});

Deno.test("serveConnections() shuts down after the requests of its connections", async () => {
  const { clock, connections, listener, server } = serving();
  listener.connect();
  await settled();
  await server.shutdown();
  await clock.pass(500);
  await server.finished;
  strictEqual(connections[0]!.signal.aborted, false);
});

Deno.test("denoServeConnection() finds the function in this version of Deno", () => {
  strictEqual(typeof denoServeConnection(), "function");
  strictEqual(denoServeConnection()!.length, 5);
});

Deno.test("denoServeConnection() returns null where Deno has no such function", () => {
  const internal = Symbol("internal");
  for (const runtime of [{}, { internal: 1 }, { internal }, { internal, [internal]: {} }]) {
    strictEqual(denoServeConnection(runtime), null);
  }
});

Deno.test("serveConnections() closes a connection of which the runtime takes no abort", async () => {
  const { clock, connections, listener } = serving();
  listener.connect();
  await settled();
  const { signal } = connections[0]!;
  signal.addEventListener("abort", () => {
    throw new Deno.errors.BadResource("Bad resource ID");
  });
  await clock.pass(6000);
  strictEqual(signal.aborted, true);
});

Deno.test("serveConnections() shuts connections down, those with a request after their response", async () => {
  const { clock, connections, listener, server } = serving();
  listener.connect();
  listener.connect();
  await settled();
  const [idle, busy] = connections;
  const completed = deferred<void>();
  await busy!.handler(new Request("http://x/"), { completed: completed.promise });
  await server.shutdown();
  const ends = { idle: false, busy: false };
  idle!.finished.promise.then(() => ends.idle = true);
  busy!.finished.promise.then(() => ends.busy = true);
  await clock.pass(3000);
  deepStrictEqual(ends, { idle: true, busy: false });
  completed.resolve();
  await clock.pass(3000);
  deepStrictEqual(ends, { idle: true, busy: true });
  await server.finished;
});

Deno.test("serveConnections() accepts what waits, and serves its first request, while it shuts down", async () => {
  const { clock, connections, listener, server } = serving();
  listener.connect();
  const shutdown = server.shutdown();
  listener.connect();
  await shutdown;
  strictEqual(connections.length, 2);
  const [silent, late] = connections;
  const ends = { silent: false, late: false };
  silent!.finished.promise.then(() => ends.silent = true);
  late!.finished.promise.then(() => ends.late = true);
  const request = new Request("http://x/", { method: "POST", body: "on its way" });
  const completed = deferred<void>();
  await late!.handler(request, { completed: completed.promise });
  await clock.pass(500);
  deepStrictEqual(ends, { silent: true, late: false });
  completed.resolve();
  await clock.pass(3000);
  deepStrictEqual(ends, { silent: true, late: true });
  await server.finished;
});
