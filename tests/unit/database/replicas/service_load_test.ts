import { ok, strictEqual } from "node:assert/strict";
import { chooseOfTwo, ServiceLoad } from "../../../../src/database/replicas/service_load.ts";

function server(name: string, averageMs: number, inFlight = 0) {
  const load = new ServiceLoad();
  load.record(averageMs, 0);
  for (let count = 0; count < inFlight; count++) load.begin();
  return { name, load };
}

/** Returns random numbers in turn. */
function numbers(...values: readonly number[]): () => number {
  let at = 0;
  return () => values[at++ % values.length]!;
}

Deno.test("chooseOfTwo() returns null without servers, and the only one", () => {
  strictEqual(chooseOfTwo([], { random: numbers(0), now: 0 }), null);
  strictEqual(chooseOfTwo([server("a", 1)], { random: numbers(0.9), now: 0 })?.name, "a");
});

Deno.test("chooseOfTwo() compares two different servers, each pair possible", () => {
  const servers = [server("a", 3), server("b", 2), server("c", 1)];
  const chosen = [[0, 0], [0, 0.9], [0.5, 0], [0.5, 0.9], [0.9, 0], [0.9, 0.9]].map((pair) =>
    chooseOfTwo(servers, { random: numbers(...pair), now: 0 })!.name
  );
  strictEqual(chosen.join(""), "bcbccc");
});

Deno.test("chooseOfTwo() prefers the lower product of service time and reads in progress", () => {
  const servers = [server("busy", 1, 9), server("slow", 4, 1)];
  strictEqual(chooseOfTwo(servers, { random: numbers(0), now: 0 })!.name, "slow");
});

Deno.test("chooseOfTwo() gives a server that slows down less", () => {
  const servers = [server("a", 1), server("b", 1)];
  servers[1]!.load.record(50, 10);
  let seed = 1;
  const random = () => (seed = seed * 16_807 % 2_147_483_647) / 2_147_483_647;
  const counts = { a: 0, b: 0 };
  for (let read = 0; read < 100; read++) {
    counts[chooseOfTwo(servers, { random, now: 10 })!.name as "a" | "b"]++;
  }
  strictEqual(counts.b, 0);
});

Deno.test("ServiceLoad.record() takes a peak at once, and forgets it over time", () => {
  const load = new ServiceLoad();
  load.record(1, 0);
  load.record(100, 0);
  strictEqual(load.cost(0), 100);
  load.record(1, 1000);
  ok(load.cost(1000) > 85 && load.cost(1000) < 95);
  load.record(1, 61_000);
  ok(load.cost(61_000) < 1.5);
});

Deno.test("chooseOfTwo() tries a server that was slow once again", () => {
  const [used, slow] = [server("used", 1), server("slow", 50)];
  used.load.record(1, 60_000);
  const chosen = chooseOfTwo([used, slow], { random: numbers(0), now: 60_000 });
  strictEqual(chosen!.name, "slow");
});
