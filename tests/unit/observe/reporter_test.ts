import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { LogLevel, Observation } from "../../../src/observe/observation.ts";
import { LineSink } from "../../../src/observe/line_sink.ts";
import { createReporter } from "../../../src/observe/reporter.ts";
import { fakeClock } from "../../support/timing/fake_clock.ts";

/** Members of a finished request that the text format does not show. */
const unlogged = {
  durationMs: 1,
  route: "/",
  protocol: null,
  queueMs: null,
  databaseMs: null,
  requestId: null,
  traceId: null,
  spanId: null,
  code: null,
};

const timeout = {
  kind: "pool-timeout",
  error: { code: "SVC003", message: "Timed out.", details: null, hint: null },
} as const;

function reporting(level: "crit" | "error") {
  const clock = fakeClock();
  const lines: string[] = [];
  const report = createReporter({
    settings: () => ({ logLevel: level, logFormat: "text" }),
    now: clock.now,
    offsetMinutes: () => 0,
    call: { program: "svc", source: "" },
    access: { add: () => {} },
    diagnostics: { add: (line) => void lines.push(line) },
    schedule: clock.schedule,
  });
  return { clock, lines, report };
}

Deno.test("createReporter() logs the first pool timeout at once, then one line per 5 seconds", async () => {
  const { clock, lines, report } = reporting("error");
  for (let timeouts = 0; timeouts < 6; timeouts++) {
    report(timeout);
    await clock.pass(100);
  }
  deepStrictEqual(lines.length, 1);
  await clock.pass(4400);
  deepStrictEqual(lines.length, 2);
  await clock.pass(60_000);
  deepStrictEqual(lines.length, 2);
  report(timeout);
  deepStrictEqual(lines.length, 3);
  await clock.pass(60_000);
  deepStrictEqual(lines.length, 3);
});

Deno.test("createReporter() delays only pool timeouts, and logs none below their level", async () => {
  const { clock, lines, report } = reporting("error");
  report(timeout);
  report(timeout);
  report({ kind: "config-reloaded" });
  deepStrictEqual(lines.length, 2);
  await clock.pass(5000);
  deepStrictEqual(lines.length, 3);
  const quiet = reporting("crit");
  quiet.report(timeout);
  quiet.report(timeout);
  await quiet.clock.pass(5000);
  deepStrictEqual(quiet.lines, []);
});

Deno.test("createReporter() writes requests and diagnostics of the level to their logs", () => {
  const access: string[] = [];
  const diagnostics: string[] = [];
  let level: LogLevel = "warn";
  const report = createReporter({
    settings: () => ({ logLevel: level, logFormat: "text" }),
    now: () => 1000,
    offsetMinutes: (epochMs) => (epochMs === 1000 ? 60 : 0),
    call: { program: "svc", source: "" },
    access: { add: (line) => access.push(line) },
    diagnostics: { add: (line) => diagnostics.push(line) },
  });
  const request: Observation = {
    kind: "request-finished",
    method: "GET",
    target: "/",
    status: 200,
    length: 1,
    role: "anon",
    client: null,
    referer: null,
    userAgent: null,
    time: 0,
    ...unlogged,
  };
  report(request);
  report({ kind: "config-reloaded" });
  report({ kind: "unexpected-error", error: "x" });
  level = "info";
  report(request);
  level = "crit";
  report(request);
  report({ kind: "unexpected-error", error: "x" });
  deepStrictEqual(access, ['- - anon [01/Jan/1970:00:00:00 +0000] "GET / HTTP/1.1" 200 1 "" ""']);
  deepStrictEqual(diagnostics, [
    "01/Jan/1970:01:00:01 +0100: Config reloaded",
    "01/Jan/1970:01:00:01 +0100: Unexpected error: x",
  ]);
});

Deno.test("createReporter() writes each statement of the level's requests on one line", () => {
  const diagnostics: string[] = [];
  const access: string[] = [];
  const report = createReporter({
    settings: () => ({ logLevel: "warn", logFormat: "text" }),
    now: () => 0,
    offsetMinutes: () => 0,
    call: { program: "svc", source: "" },
    access: { add: (line) => access.push(line) },
    diagnostics: { add: (line) => diagnostics.push(line) },
  });
  const texts = ["select $1\n  from a", "select 'postgres://a:b@c', $2"];
  report({ kind: "request-queried", status: 399, texts });
  deepStrictEqual(diagnostics, []);
  report({ kind: "request-queried", status: 400, texts });
  deepStrictEqual(diagnostics, [
    "01/Jan/1970:00:00:00 +0000: select $1   from a",
    "01/Jan/1970:00:00:00 +0000: select 'postgres://a:b@c', $2",
  ]);
  deepStrictEqual(access, []);
});

Deno.test("createReporter() writes each hint once per minute, and at most 1000 of them", () => {
  let time = 0;
  const diagnostics: string[] = [];
  const report = createReporter({
    settings: () => ({ logLevel: "warn", logFormat: "text" }),
    now: () => time,
    offsetMinutes: () => 0,
    call: { program: "svc", source: "" },
    access: { add: () => {} },
    diagnostics: { add: (line) => diagnostics.push(line) },
  });
  const advise = (advice: string) =>
    report({ kind: "error-advised", code: "42501", message: "no", advice });
  for (
    const [at, advice, lines] of [[0, "a", 1], [59_999, "a", 0], [59_999, "b", 1], [
      60_000,
      "a",
      1,
    ]] as const
  ) {
    time = at;
    advise(advice);
    strictEqual(diagnostics.splice(0).length, lines, `${advice} at ${at}`);
  }
  for (let number = 0; number < 2000; number++) advise(`${number}`);
  strictEqual(diagnostics.splice(0).length, 998);
  time = 120_000;
  advise("a");
  strictEqual(diagnostics.length, 1);
});

Deno.test("createReporter() writes 20,000 requests as JSON, none of which waits for the reader", async () => {
  const chunks: string[] = [];
  let release = () => {};
  const access = new LineSink({
    write: async (bytes) => {
      await new Promise<void>((resolve) => void (release = resolve));
      chunks.push(new TextDecoder().decode(bytes));
    },
    schedule: (run) => {
      run();
      return () => {};
    },
  });
  const report = createReporter({
    settings: () => ({ logLevel: "info", logFormat: "json" }),
    now: () => 0,
    offsetMinutes: () => 0,
    call: { program: "svc", source: "" },
    access,
    diagnostics: { add: () => {} },
  });
  for (let index = 0; index < 20_000; index++) {
    report({
      kind: "request-finished",
      method: "GET",
      target: `/${index}"\0😀\ud800`,
      status: 200,
      length: 1,
      role: "anon",
      client: null,
      referer: null,
      userAgent: null,
      time: index,
      ...unlogged,
    });
  }
  strictEqual(chunks.length, 0);
  const flushed = access.flush();
  while (chunks.length < 2) {
    release();
    await Promise.resolve();
  }
  await flushed;
  const lines = chunks.join("").trimEnd().split("\n");
  strictEqual(lines.length, 20_000);
  lines.forEach((line, index) => {
    strictEqual(JSON.parse(line).target, `/${index}"\0😀\ufffd`);
  });
});

Deno.test("createReporter() logs no event that only metrics count", () => {
  const { lines, report } = reporting("error");
  report({ kind: "request-shed", reason: "spool" });
  report({ kind: "connection-opened" });
  report({ kind: "connection-closed", reason: "idle" });
  deepStrictEqual(lines, []);
});
