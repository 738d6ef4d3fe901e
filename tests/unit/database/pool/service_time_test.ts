import { ok, strictEqual } from "node:assert/strict";
import { MinRoundTrip, ServiceTime } from "../../../../src/database/pool/concurrency_limiter.ts";

const verdicts: readonly (readonly [records: readonly number[], isShort: boolean])[] = [
  [[], false],
  [[0.1], false],
  [[0.1, 0.1], true],
  [[0.99, 0.99], true],
  [[1, 1], false],
  [[5, 5], false],
  // One that was short says that the kind can be.
  [[5, 0.1], true],
  [[0.1, 19], true],
  // One that took very long says that it can no more be relied on.
  [[0.1, 0.1, 21], false],
  [[0.1, 0.1, 21, 0.1], true],
];

for (const [records, isShort] of verdicts) {
  Deno.test(`ServiceTime.isShort is ${isShort} after [${records.join(", ")}] ms`, () => {
    const time = new ServiceTime();
    for (const ms of records) time.record(ms);
    strictEqual(time.isShort, isShort);
  });
}

Deno.test("ServiceTime.ms is the minimum, which grows by 1 % with each measurement", () => {
  const time = new ServiceTime();
  strictEqual(time.ms, Infinity);
  time.record(0.5);
  strictEqual(time.ms, 0.5);
  time.record(0.2);
  strictEqual(time.ms, 0.2);
  time.record(0.9);
  strictEqual(time.ms, 0.2 * 1.01 + 0.0002);
  for (let turn = 0; turn < 200; turn++) time.record(0.9);
  strictEqual(time.ms, 0.9);
});

Deno.test("ServiceTime.ms leaves 0 again", () => {
  const time = new ServiceTime();
  time.record(0);
  for (let turn = 0; turn < 600; turn++) time.record(3);
  strictEqual(time.ms, 3);
});

Deno.test("ServiceTime.isShort is false for 1000 transactions after a delay", () => {
  const time = new ServiceTime();
  for (let turn = 0; turn < 2; turn++) time.record(0.1);
  time.recordDelay();
  for (let turn = 0; turn < 999; turn++) time.record(0.1);
  strictEqual(time.isShort, false);
  time.record(0.1);
  strictEqual(time.isShort, true);
});

Deno.test("MinRoundTrip.ms is the least that one transaction took, and grows slowly", () => {
  const trip = new MinRoundTrip();
  strictEqual(trip.ms, 0);
  strictEqual(trip.serviceTime(2, 1), 0);
  strictEqual(trip.ms, 2);
  strictEqual(trip.serviceTime(0.5, 1), 0);
  strictEqual(trip.ms, 0.5);
  ok(Math.abs(trip.serviceTime(1, 1) - (1 - 0.5 * 1.001)) < 1e-9);
  // The way to another server is longer: the minimum follows.
  for (let turn = 0; turn < 10_000; turn++) trip.serviceTime(4, 1);
  strictEqual(trip.ms, 4);
});

type TripRow = readonly [name: string, roundTrip: number | null, ms: number, expected: number];

/** For four transactions of a write. */
const trips: readonly TripRow[] = [
  ["divides what is above the round trip by the transactions behind the first", 1, 2.5, 0.5],
  ["is nothing where four took as long as one", 1, 1, 0],
  ["divides the whole among all where four took less than one", 1, 0.8, 0.2],
  ["divides the whole among all before one was measured", null, 0.8, 0.2],
];

for (const [name, roundTrip, ms, expected] of trips) {
  Deno.test(`MinRoundTrip.serviceTime() ${name}`, () => {
    const trip = new MinRoundTrip();
    if (roundTrip !== null) trip.serviceTime(roundTrip, 1);
    ok(Math.abs(trip.serviceTime(ms, 4) - expected) < 1e-9);
    strictEqual(trip.ms, roundTrip ?? 0);
  });
}
