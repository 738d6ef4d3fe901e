import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { LineSink } from "../../../../src/base/observe/line_sink.ts";
import { settled } from "../../../support/timing/fake_clock.ts";

/** Makes a sink whose delay ends with `tick`, and whose writes end with `written`. */
function stoppedSink({ maxPendingChars }: { readonly maxPendingChars?: number } = {}) {
  const writes: string[] = [];
  let due: (() => void) | null = null;
  let settle: (() => void) | null = null;
  const sink = new LineSink({
    ...(maxPendingChars === undefined ? {} : { maxPendingChars }),
    write: (bytes) => {
      strictEqual(settle, null, "one write at a time");
      writes.push(new TextDecoder().decode(bytes));
      return new Promise((resolve) => settle = resolve);
    },
    schedule: (run) => {
      strictEqual(due, null, "one timer at a time");
      due = run;
      return () => (due = null);
    },
  });
  const tick = () => due?.();
  const written = async () => {
    const done = settle!;
    settle = null;
    done();
    await settled();
  };
  return { sink, writes, tick, written, isWaiting: () => due !== null };
}

Deno.test("LineSink writes the lines of one delay at once", async () => {
  const { sink, writes, tick, written, isWaiting } = stoppedSink();
  sink.add("a");
  sink.add("ü");
  deepStrictEqual(writes, []);
  tick();
  deepStrictEqual(writes, ["a\nü\n"]);
  strictEqual(isWaiting(), false);
  await written();
  sink.add("b");
  tick();
  deepStrictEqual(writes, ["a\nü\n", "b\n"]);
});

Deno.test("LineSink waits for the end of a write, then for the delay", async () => {
  const { sink, writes, tick, written, isWaiting } = stoppedSink();
  sink.add("a");
  tick();
  sink.add("b");
  strictEqual(isWaiting(), false);
  deepStrictEqual(writes, ["a\n"]);
  await written();
  strictEqual(isWaiting(), true);
  deepStrictEqual(writes, ["a\n"]);
  tick();
  deepStrictEqual(writes, ["a\n", "b\n"]);
});

Deno.test("LineSink.flush() writes at once, after the running write", async () => {
  const { sink, writes, written, isWaiting } = stoppedSink();
  await sink.flush();
  sink.add("a");
  const first = sink.flush();
  sink.add("b");
  const second = sink.flush();
  deepStrictEqual(writes, ["a\n"]);
  await written();
  deepStrictEqual(writes, ["a\n", "b\n"]);
  await written();
  await Promise.all([first, second]);
  strictEqual(isWaiting(), false);
});

Deno.test("LineSink writes at once when its buffer is full", () => {
  const { sink, writes, isWaiting } = stoppedSink();
  for (let count = 0; count < 66; count++) sink.add("x".repeat(999));
  strictEqual(writes.length, 1);
  strictEqual(writes[0]!.length, 66_000);
  strictEqual(isWaiting(), false);
});

Deno.test("LineSink drops lines beyond maxPendingChars", async () => {
  const { sink, writes, tick, written } = stoppedSink({ maxPendingChars: 4 });
  sink.add("a");
  tick();
  for (const line of ["b", "c", "d"]) sink.add(line);
  await written();
  tick();
  await written();
  sink.add("e");
  tick();
  deepStrictEqual(writes, ["a\n", "b\nc\n", "e\n"]);
});

Deno.test("LineSink drops lines that cannot be written and continues", async () => {
  const written: string[] = [];
  let broken = true;
  const sink = new LineSink({
    write: (bytes) => {
      if (broken) return Promise.reject(new Error("broken pipe"));
      written.push(new TextDecoder().decode(bytes));
      return Promise.resolve();
    },
  });
  sink.add("a");
  await sink.flush();
  broken = false;
  sink.add("b");
  await sink.flush();
  deepStrictEqual(written, ["b\n"]);
});

Deno.test("LineSink writes without flush() after its default delay", async () => {
  const written = await new Promise<string>((resolve) => {
    const write = (bytes: Uint8Array) => {
      resolve(new TextDecoder().decode(bytes));
      return Promise.resolve();
    };
    const sink = new LineSink({ write });
    sink.add("a");
    sink.add("b");
  });
  strictEqual(written, "a\nb\n");
});
