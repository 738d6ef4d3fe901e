import { ok, strictEqual } from "node:assert/strict";
import { LagRing } from "../../../../src/database/replicas/primary_monitor.ts";

/** Samples every 250 ms up to 10 s: the position is 100 times the time. */
function busy(spanMs = 10_000): LagRing {
  const ring = new LagRing(spanMs);
  for (let time = 0; time <= 10_000; time += 250) ring.add({ time, lsn: BigInt(time) * 100n });
  return ring;
}

const rows: readonly (readonly [name: string, lsn: bigint, now: number, lagMs: number])[] = [
  ["has caught up", 1_000_000n, 10_000, 0],
  ["has replayed more than the newest sample", 1_000_100n, 10_100, 0],
  ["is between two samples", 990_000n, 10_000, 250],
  ["is at a sample", 900_000n, 10_000, 1000],
  ["is at the oldest sample", 0n, 10_000, 10_000],
  ["has caught up with a primary that answers no more", 1_000_000n, 15_000, 5000],
];
for (const [name, lsn, now, lagMs] of rows) {
  Deno.test(`LagRing.freshAt() shows ${lagMs} ms for a standby that ${name}`, () => {
    strictEqual(now - busy().freshAt(lsn, now), lagMs);
  });
}

Deno.test("LagRing.freshAt() shows no lag of an idle primary", () => {
  const ring = new LagRing(10_000);
  for (let time = 0; time <= 3_600_000; time += 250) ring.add({ time, lsn: 7n });
  strictEqual(ring.freshAt(7n, 3_600_100), 3_600_100);
});

Deno.test("LagRing.freshAt() shows no lag of the first write after a pause, before it is replayed", () => {
  const ring = new LagRing(10_000);
  for (let time = 0; time <= 60_000; time += 250) ring.add({ time, lsn: 7n });
  ring.add({ time: 60_250, lsn: 8n });
  strictEqual(ring.freshAt(7n, 60_250), 60_000);
});

Deno.test("LagRing.freshAt() is before all times without a sample, and before the samples", () => {
  const ring = new LagRing(10_000);
  strictEqual(ring.freshAt(5n, 0), -Infinity);
  ring.add({ time: 1000, lsn: 6n });
  strictEqual(ring.freshAt(5n, 1000), -Infinity);
});

Deno.test("LagRing forgets samples before its span, and those of another timeline", () => {
  const ring = busy(1000);
  strictEqual(ring.freshAt(100_000n, 10_000), -Infinity);
  ok(ring.freshAt(900_000n, 10_000) <= 9000);
  ring.clear();
  strictEqual(ring.freshAt(1_000_000n, 10_000), -Infinity);
});

/** Position of the standby, time, and whether it has the state of the primary at the time. */
const covered: readonly (readonly [lsn: bigint, time: number, covers: boolean])[] = [
  [1_000_000n, 10_000, true],
  [1_000_000n, 10_001, false],
  [1_000_100n, 9000, true],
  [999_999n, 9750, true],
  [999_999n, 9751, false],
  [900_000n, 9000, true],
];
for (const [lsn, time, covers] of covered) {
  Deno.test(`LagRing.covers() is ${covers} for the position ${lsn} at ${time} ms`, () => {
    strictEqual(busy().covers(lsn, time), covers);
  });
}

Deno.test("LagRing.covers() is false without samples", () => {
  const ring = new LagRing(10_000);
  strictEqual(ring.covers(1n, 0), false);
});

Deno.test("LagRing.add() ignores a position before the newest one", () => {
  const ring = busy();
  ring.add({ time: 10_010, lsn: 5n });
  strictEqual(ring.freshAt(999_999n, 10_010), 9750);
});
