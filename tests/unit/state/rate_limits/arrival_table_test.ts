/** The table of arrival times, and its size. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { ArrivalTable } from "../../../../src/state/rate_limits/gcra.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";

Deno.test("ArrivalTable counts whole microseconds from 1 on", async () => {
  const clock = fakeClock();
  await clock.pass(7);
  const table = new ArrivalTable(clock.now);
  strictEqual(table.now(), 1);
  await clock.pass(2);
  strictEqual(table.now(), 2001);
});

Deno.test("ArrivalTable keeps at least the 32,768 keys that were set last", () => {
  const table = new ArrivalTable(fakeClock().now);
  for (let number = 0; number < 65_536; number++) table.set(`key ${number}`, number + 1);
  table.set("key 0", 5);
  table.set("new", 7);
  const keys = ["key 0", "key 1", "key 32767", "key 32768", "key 65535", "new"];
  deepStrictEqual(keys.map((key) => table.get(key)), [5, 0, 0, 32_769, 65_536, 7]);
});

Deno.test("ArrivalTable keeps at most 16 MiB of text in its keys", () => {
  const table = new ArrivalTable(fakeClock().now);
  const key = (number: number) => String(number).padEnd(1024 * 1024);
  for (let number = 0; number < 17; number++) table.set(key(number), 1);
  deepStrictEqual([0, 7, 8, 16].map((number) => table.get(key(number))), [0, 0, 1, 1]);
  table.set(key(8), 9);
  deepStrictEqual([8, 9, 16].map((number) => table.get(key(number))), [9, 1, 1]);
});
