import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { LineSink } from "../../../src/observe/line_sink.ts";
import type { LogLevel, Observation } from "../../../src/observe/observation.ts";
import { createReporter } from "../../../src/observe/reporter.ts";

/** A sink whose clock stands still until `tick`. */
function stoppedSink() {
  const written: string[] = [];
  let due: (() => void) | null = null;
  const sink = new LineSink({
    write: (bytes) => written.push(new TextDecoder().decode(bytes)),
    schedule: (run) => {
      strictEqual(due, null, "one timer at a time");
      due = run;
      return () => (due = null);
    },
  });
  const tick = () => due?.();
  return { sink, written, tick, isWaiting: () => due !== null };
}

Deno.test("LineSink writes the lines of a while at once", () => {
  const { sink, written, tick, isWaiting } = stoppedSink();
  sink.add("a");
  sink.add("ü");
  deepStrictEqual(written, []);
  tick();
  deepStrictEqual(written, ["a\nü\n"]);
  strictEqual(isWaiting(), false);
  sink.add("b");
  tick();
  deepStrictEqual(written, ["a\nü\n", "b\n"]);
});

Deno.test("LineSink flushes at once when it is told to, and only what is there", () => {
  const { sink, written, isWaiting } = stoppedSink();
  sink.flush();
  sink.add("a");
  sink.flush();
  sink.flush();
  deepStrictEqual(written, ["a\n"]);
  strictEqual(isWaiting(), false);
});

Deno.test("LineSink does not wait when much is pending", () => {
  const { sink, written, isWaiting } = stoppedSink();
  for (let count = 0; count < 66; count++) sink.add("x".repeat(999));
  strictEqual(written.length, 1);
  strictEqual(written[0]!.length, 66_000);
  strictEqual(isWaiting(), false);
});

Deno.test("LineSink drops what cannot be written and goes on", () => {
  const written: string[] = [];
  let broken = true;
  const sink = new LineSink({
    write: (bytes) => {
      if (broken) throw new Error("broken pipe");
      written.push(new TextDecoder().decode(bytes));
    },
  });
  sink.add("a");
  sink.flush();
  broken = false;
  sink.add("b");
  sink.flush();
  deepStrictEqual(written, ["b\n"]);
});

Deno.test("LineSink writes by itself within moments", async () => {
  const written = await new Promise<string>((resolve) => {
    const sink = new LineSink({ write: (bytes) => resolve(new TextDecoder().decode(bytes)) });
    sink.add("a");
    sink.add("b");
  });
  strictEqual(written, "a\nb\n");
});

Deno.test("createReporter writes requests and diagnostics to their logs, as the level says", () => {
  const access: string[] = [];
  const diagnostics: string[] = [];
  let level: LogLevel = "warn";
  const report = createReporter({
    level: () => level,
    now: () => 1000,
    offsetMinutes: (epochMs) => (epochMs === 1000 ? 60 : 0),
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
