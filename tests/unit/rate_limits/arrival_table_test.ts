/** The table of arrival times: its size, its collisions, and its end of time. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { ArrivalTable } from "../../../src/rate_limits/arrival_table.ts";
import { SeededHash } from "../../../src/rate_limits/seeded_hash.ts";
import { fakeClock } from "../../support/fake_clock.ts";

const dayMs = 86_400_000;

Deno.test("ArrivalTable keeps the times of its keys", () => {
  const table = new ArrivalTable({ now: fakeClock().now });
  const times = [1, 2 ** 20, 2 ** 32 - 1, 2 ** 32, 2 ** 43 + 12_345];
  for (const time of times) {
    strictEqual(table.get(table.hash(`key ${time}`)), 0);
    table.set(table.hash(`key ${time}`), time);
  }
  deepStrictEqual(times.map((time) => table.get(table.hash(`key ${time}`))), times);
  table.set(table.hash("key 1"), 7);
  strictEqual(table.get(table.hash("key 1")), 7);
});

Deno.test("ArrivalTable keeps nearly all keys until it is half full", () => {
  const table = new ArrivalTable({ now: fakeClock().now, hashKey: [1, 2] });
  const keys = Array.from({ length: 32_768 }, (_, number) => `key ${number}`);
  for (const [index, key] of keys.entries()) table.set(table.hash(key), index + 1);
  const kept = keys.filter((key, index) => table.get(table.hash(key)) === index + 1).length;
  ok(kept > 0.85 * keys.length, `${kept}`);
});

Deno.test("ArrivalTable drops earlier times before later ones under a flood", () => {
  const table = new ArrivalTable({ now: fakeClock().now, hashKey: [1, 2] });
  table.set(table.hash("victim"), 2 ** 40);
  for (let number = 0; number < 1_000_000; number++) table.set(table.hash(`flood ${number}`), 1000);
  strictEqual(table.get(table.hash("victim")), 2 ** 40);
});

Deno.test("ArrivalTable mistakes few of a million keys for others", () => {
  const table = new ArrivalTable({ now: fakeClock().now, hashKey: [3, 4] });
  for (let number = 0; number < 200_000; number++) table.set(table.hash(`in ${number}`), 5);
  let found = 0;
  for (let number = 0; number < 1_000_000; number++) {
    if (table.get(table.hash(`out ${number}`)) > 0) found++;
  }
  ok(found < 10, `${found}`);
});

Deno.test("ArrivalTable begins anew before its times end", async () => {
  const clock = fakeClock();
  const table = new ArrivalTable({ now: clock.now });
  strictEqual(table.now(), 1);
  await clock.pass(100 * dayMs);
  table.set(table.hash("key"), table.now() + 5);
  ok(table.get(table.hash("key")) > 0);
  await clock.pass(100 * dayMs);
  strictEqual(table.now(), 1);
  strictEqual(table.get(table.hash("key")), 0);
  await clock.pass(1);
  strictEqual(table.now(), 1001);
});

Deno.test("SeededHash spreads texts over all bits, and depends on its key", () => {
  const hashes = (key: readonly [number, number], texts: readonly string[]) =>
    texts.map((text) => {
      const { high, low } = new SeededHash(key).hash(text);
      return `${high} ${low}`;
    });
  const texts = ["", "a", "b", "ab", "a\0", "\0a", "aa", "x".repeat(65_535), "x".repeat(131_071)];
  strictEqual(new Set(hashes([1, 2], texts)).size, texts.length);
  deepStrictEqual(hashes([1, 2], texts), hashes([1, 2], texts));
  strictEqual(new Set([...hashes([1, 2], texts), ...hashes([1, 3], texts)]).size, 2 * texts.length);
  const counts = new Array<number>(64).fill(0);
  const hash = new SeededHash([5, 6]);
  const salt = hash.hash("policy");
  for (let number = 0; number < 20_000; number++) {
    const result = hash.hash(`192.0.2.${number}`, salt);
    for (let bit = 0; bit < 32; bit++) {
      if (result.low >>> bit & 1) counts[bit]!++;
      if (result.high >>> bit & 1) counts[32 + bit]!++;
    }
  }
  for (const count of counts) ok(count > 9_500 && count < 10_500, `${count}`);
});
