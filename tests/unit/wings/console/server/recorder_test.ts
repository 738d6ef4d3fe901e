import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { LiveFigures, Ring } from "../../../../../src/wings/console/server/live_figures.ts";
import { Recorder } from "../../../../../src/wings/console/server/recorder.ts";
import type { FinishedRequest } from "../../../../../src/base/observe/observation.ts";

const gauges = {
  pool: { open: 1, inUse: 0, waiting: 0 },
  memory: null,
};

const request: FinishedRequest = {
  kind: "request-finished",
  method: "GET",
  target: "/film",
  status: 200,
  length: 2,
  role: "anon",
  client: null,
  referer: null,
  userAgent: null,
  time: 5,
  durationMs: 1.234,
  route: "/film",
  protocol: null,
  queueMs: 0.5,
  databaseMs: 0.25,
  requestId: null,
  traceId: null,
  spanId: null,
  code: null,
};

function recorder(): Recorder {
  const made = new Recorder({
    gauges: () => gauges,
    now: () => 0,
    schedule: () => () => {},
  });
  made.watch();
  return made;
}

Deno.test("Ring keeps the newest entries and numbers all", () => {
  const ring = new Ring<{ readonly value: string }>(3);
  deepStrictEqual(ring.after(0), []);
  for (const value of "abcde") ring.add({ value });
  const values = (after: number) => ring.after(after).map(({ id, value }) => `${id}${value}`);
  deepStrictEqual(values(0), ["3c", "4d", "5e"]);
  deepStrictEqual(values(4), ["5e"]);
  deepStrictEqual(values(5), []);
});

Deno.test("LiveFigures has the percentiles and classes of each second", () => {
  const figures = new LiveFigures();
  for (let ms = 1; ms <= 100; ms++) figures.record({ status: ms > 90 ? 404 : 201, durationMs: ms });
  figures.endSecond(7000, gauges);
  figures.endSecond(8000, gauges);
  const [first, second] = figures.after(0);
  deepStrictEqual(first, {
    id: 1,
    time: 7,
    statuses: [0, 90, 0, 10, 0],
    p50: 50,
    p95: 95,
    p99: 99,
    ...gauges,
  });
  deepStrictEqual([second!.statuses, second!.p99], [[0, 0, 0, 0, 0], null]);
  deepStrictEqual(figures.after(1).map(({ time }) => time), [8]);
});

Deno.test("LiveFigures bounds what a second takes", () => {
  const figures = new LiveFigures();
  for (let count = 0; count < 50_000; count++) figures.record({ status: 999, durationMs: 3 });
  figures.endSecond(0, gauges);
  const [{ statuses, p50 } = { statuses: [], p50: 0 }] = figures.after(0);
  deepStrictEqual([statuses, p50], [[0, 0, 0, 0, 50_000], 3]);
});

Deno.test("Recorder keeps requests with their statements, slow ones apart", () => {
  const kept = recorder();
  kept.observe({ kind: "request-queried", status: 200, texts: ["select 1", "select 2"] });
  kept.observe(request);
  kept.observe({ ...request, durationMs: 1000 });
  const [first, second] = kept.requests.after(0);
  deepStrictEqual(first, {
    id: 1,
    time: 5,
    method: "GET",
    target: "/film",
    client: null,
    role: "anon",
    status: 200,
    ms: { total: 1.23, queue: 0.5, database: 0.25 },
    bytes: 2,
    code: null,
    sql: "select 1;\nselect 2",
  });
  strictEqual(second!.sql, null);
  deepStrictEqual(kept.slowRequests.after(0).map(({ ms }) => ms.total), [1000]);
});

Deno.test("Recorder cuts long texts and hides tokens in URLs", () => {
  const kept = recorder();
  const token = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYSJ9.c2ln";
  kept.observe({ ...request, target: `/film?token=${token}` });
  kept.observe({ ...request, target: `/${"x".repeat(100_000)}` });
  kept.addLine("y".repeat(100_000));
  const [hidden, long] = kept.requests.after(0);
  strictEqual(hidden!.target, "/film?token=***");
  ok(long!.target.length < 2000);
  ok(kept.lines.after(0)[0]!.line.length < 2000);
});

Deno.test("Recorder records requests and gauges for a minute after a console has read data", () => {
  const timers: (() => void)[] = [];
  let [now, canceled] = [0, 0];
  const kept = new Recorder({
    gauges: () => gauges,
    now: () => now,
    schedule: (run) => {
      timers.push(run);
      return () => canceled++;
    },
  });
  kept.observe(request);
  deepStrictEqual([kept.isWatched, kept.requests.after(0), timers.length], [false, [], 0]);
  kept.watch();
  kept.observe(request);
  const pass = (seconds: number) => {
    for (const end = now + seconds * 1000; now < end;) {
      now += 1000;
      timers.shift()?.();
    }
  };
  pass(3);
  deepStrictEqual(kept.figures.after(0).map(({ time }) => time), [1, 2, 3]);
  kept.watch();
  pass(59);
  strictEqual(kept.isWatched, true);
  pass(1);
  kept.observe(request);
  deepStrictEqual([kept.isWatched, kept.requests.after(0).length, timers.length], [false, 1, 0]);
  kept.watch();
  kept.stop();
  deepStrictEqual([kept.isWatched, canceled], [false, 1]);
});

Deno.test("Recorder of a thread records while another one takes its requests", () => {
  let end = () => {};
  const kept = new Recorder({
    gauges: () => gauges,
    now: () => 0,
    schedule: (run) => {
      end = run;
      return () => {};
    },
  });
  kept.take();
  kept.observe(request);
  strictEqual(kept.take().newest.length, 1);
  end();
  kept.observe(request);
  strictEqual(kept.take().newest.length, 0);
});
