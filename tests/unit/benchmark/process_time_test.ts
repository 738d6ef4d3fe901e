import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  nanoseconds,
  parseMachine,
  parseStat,
  type ProcessStat,
  processTime,
  treeOf,
} from "../../../tools/benchmark/process_time.ts";

/** Fields 3 and 4, those between, then utime, stime, cutime and cstime. */
const tail = "S 7 1 1 0 -1 4194560 9 9 0 0 10 20 300 4000 20 0 1 0 55 1000 10";

for (const name of ["postgres", "a b", "a) S 9 (b"]) {
  Deno.test(`parseStat reads the line of a program called ${name}`, () => {
    deepStrictEqual(parseStat(`42 (${name}) ${tail}\n`), {
      pid: 42,
      parent: 7,
      own: 30,
      ended: 4300,
    });
  });
}

Deno.test("treeOf gives a process and its descendants", () => {
  const stat = (pid: number, parent: number): ProcessStat => ({ pid, parent, own: 1, ended: 0 });
  const stats = [stat(1, 0), stat(2, 1), stat(3, 2), stat(4, 1), stat(5, 4), stat(6, 5)];
  deepStrictEqual(treeOf(4, stats).map(({ pid }) => pid), [4, 5, 6]);
  deepStrictEqual(treeOf(9, stats), []);
});

Deno.test("parseMachine() sums all but idle, waiting and stolen time", () => {
  strictEqual(
    parseMachine("cpu  1 20 300 9 9 4000 50000 9 9 9\ncpu0 7 7 7 7 7 7 7 7 7 7\n"),
    54321,
  );
});

const times: readonly (readonly [what: string, threads: readonly number[], nanoseconds: number])[] =
  [
    ["the time of the threads", [25_000_000, 3_000_001], 128_000_001],
    ["ticks when threads have ended", [9_000_000], 120_000_000],
    ["ticks when the kernel does not count threads", [], 120_000_000],
  ];

for (const [what, threads, expected] of times) {
  Deno.test(`nanoseconds() gives ${what}`, () => {
    strictEqual(nanoseconds({ pid: 1, parent: 0, own: 2, ended: 10 }, threads), expected);
  });
}

Deno.test({
  name: "processTime grows while a process works",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const before = await processTime(Deno.pid);
    // Reading takes time of the processor.
    for (let reads = 0; reads < 100_000 && await processTime(Deno.pid) === before; reads++);
    ok(await processTime(Deno.pid) > before);
  },
});
