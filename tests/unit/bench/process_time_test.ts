import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { parseStat, type ProcessStat, processTime, treeOf } from "../../bench/process_time.ts";

/** Fields 3 and 4, those between, then utime, stime, cutime and cstime. */
const tail = "S 7 1 1 0 -1 4194560 9 9 0 0 10 20 300 4000 20 0 1 0 55 1000 10";

for (const name of ["postgres", "a b", "a) S 9 (b"]) {
  Deno.test(`parseStat reads the line of a program called ${name}`, () => {
    deepStrictEqual(parseStat(`42 (${name}) ${tail}\n`), { pid: 42, parent: 7, ticks: 4330 });
  });
}

Deno.test("treeOf gives a process and its descendants", () => {
  const stat = (pid: number, parent: number): ProcessStat => ({ pid, parent, ticks: 1 });
  const stats = [stat(1, 0), stat(2, 1), stat(3, 2), stat(4, 1), stat(5, 4), stat(6, 5)];
  deepStrictEqual(treeOf(4, stats).map(({ pid }) => pid), [4, 5, 6]);
  deepStrictEqual(treeOf(9, stats), []);
});

Deno.test({
  name: "processTime grows while a process works",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const before = await processTime(Deno.pid);
    strictEqual(before % 10_000, 0);
    // Reading takes time of the processor.
    for (let reads = 0; reads < 100_000 && await processTime(Deno.pid) === before; reads++);
    ok(await processTime(Deno.pid) > before);
  },
});
