import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Observation } from "../../../../src/base/observe/observation.ts";
import { LineSink } from "../../../../src/base/observe/line_sink.ts";
import { createReporter } from "../../../../src/base/observe/reporter.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";
import type { LogLevel } from "../../../../src/base/log_level.ts";

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

function reporting(level: LogLevel) {
  const clock = fakeClock();
  const [lines, access]: [string[], string[]] = [[], []];
  const settings = { logLevel: level, logFormat: "text" as const };
  const report = createReporter({
    settings: () => settings,
    now: clock.now,
    offsetMinutes: () => 60,
    call: { program: "svc", source: "" },
    access: { add: (line) => void access.push(line) },
    diagnostics: { add: (line) => void lines.push(line) },
    schedule: clock.schedule,
  });
  return { clock, lines, access, report, settings };
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
  const { access, lines, report, settings } = reporting("warn");
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
  settings.logLevel = "info";
  report(request);
  settings.logLevel = "crit";
  report(request);
  report({ kind: "unexpected-error", error: "x" });
  deepStrictEqual(access, ['- - anon [01/Jan/1970:01:00:00 +0100] "GET / HTTP/1.1" 200 1 "" ""']);
  deepStrictEqual(lines.map((line) => line.slice(28)), ["Config reloaded", "Unexpected error: x"]);
});

Deno.test("createReporter() writes each statement of the level's requests on one line", () => {
  const { access, lines, report } = reporting("warn");
  const texts = ["select $1\n  from a", "select 'postgres://a:b@c', $2"];
  report({ kind: "request-queried", status: 399, texts });
  strictEqual(lines.length, 0);
  report({ kind: "request-queried", status: 400, texts });
  deepStrictEqual(lines.map((line) => line.slice(28)), [
    "select $1   from a",
    "select 'postgres://a:b@c', $2",
  ]);
  deepStrictEqual(access, []);
});

Deno.test("createReporter() writes each hint once per minute, and at most 1000 of them", async () => {
  const { clock, lines, report } = reporting("warn");
  const advise = (advice: string) => {
    report({ kind: "error-advised", code: "42501", message: "no", advice });
    return lines.splice(0).length;
  };
  strictEqual(advise("a"), 1);
  await clock.pass(59_999);
  deepStrictEqual([advise("a"), advise("b")], [0, 1]);
  await clock.pass(1);
  strictEqual(advise("a"), 1);
  let written = 0;
  for (let number = 0; number < 2000; number++) written += advise(`${number}`);
  strictEqual(written, 998);
  await clock.pass(60_000);
  strictEqual(advise("a"), 1);
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
