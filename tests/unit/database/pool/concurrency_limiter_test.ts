import { strictEqual } from "node:assert/strict";
import {
  ConcurrencyLimiter,
  connectionLimit,
  type PipelineClass,
  pipelineLength,
} from "../../../../src/database/pool/concurrency_limiter.ts";

type LimitRow = readonly [
  serviceTimeMs: number,
  roundTripMs: number,
  maxConnections: number,
  limit: number,
];

const limits: readonly LimitRow[] = [
  // Below 0.05 ms this process is the bottleneck.
  [0, 0, 10, 1],
  [0.049, 0.3, 10, 1],
  [0.05, 0, 10, 2],
  [0.19, 0, 10, 2],
  [0.25, 0, 10, 3],
  [0.45, 0, 10, 4],
  [0.99, 0, 10, 6],
  // A server that is further away than 0.3 ms.
  [0, 0.4, 10, 2],
  [0, 0.6, 10, 3],
  [0, 1.4, 10, 7],
  [0.25, 0.6, 10, 4],
  [0, 20, 10, 10],
  // Never more than the pool has.
  [0, 0, 1, 1],
  [0.99, 0, 1, 1],
  [0.99, 0, 2, 2],
  [0.99, 20, 3, 3],
];

for (const [serviceTimeMs, roundTripMs, maxConnections, limit] of limits) {
  const load = `${serviceTimeMs} ms, ${roundTripMs} ms away, pool of ${maxConnections}`;
  Deno.test(`connectionLimit() returns ${limit} for ${load}`, () => {
    strictEqual(connectionLimit({ serviceTimeMs, roundTripMs, maxConnections }), limit);
  });
}

type LengthRow = readonly [
  pipeline: PipelineClass,
  serviceTimeMs: number,
  waiting: number,
  freeConnections: number,
  length: number,
];

const lengths: readonly LengthRow[] = [
  ["reads", 0.01, 1, 1, 1],
  ["reads", 0.01, 7, 1, 7],
  // The queue is divided among the free connections.
  ["reads", 0.01, 7, 2, 4],
  ["reads", 0.01, 2, 6, 1],
  ["reads", 0.01, 0, 1, 1],
  ["reads", 0.01, 7, 0, 7],
  // At most 16 reads, or 4 writes.
  ["reads", 0, 1000, 1, 16],
  ["reads", 0.01, 1000, 2, 16],
  ["writes", 0, 1000, 1, 4],
  // At most 1 ms of service time.
  ["reads", 0.1, 1000, 1, 10],
  ["reads", 0.3, 1000, 1, 4],
  ["reads", 1, 1000, 1, 1],
  ["reads", 30, 1000, 1, 1],
  ["writes", 0.3, 1000, 1, 4],
  ["writes", 0.5, 1000, 1, 2],
];

for (const [pipeline, serviceTimeMs, waiting, freeConnections, length] of lengths) {
  const load = `${waiting} ${pipeline} of ${serviceTimeMs} ms, ${freeConnections} free`;
  Deno.test(`pipelineLength() returns ${length} for ${load}`, () => {
    strictEqual(pipelineLength(pipeline, { serviceTimeMs, waiting, freeConnections }), length);
  });
}

Deno.test("ConcurrencyLimiter lets as many connections of one kind work as its limit says", () => {
  for (let limit = 1; limit <= 100; limit++) {
    const limiter = new ConcurrencyLimiter();
    const shares: number[] = [];
    while (!limiter.isAtLimit) shares.push(limiter.acquire(limit));
    strictEqual(shares.length, limit);
    limiter.release(shares[0]!);
    strictEqual(limiter.isAtLimit, false);
    limiter.acquire(limit);
    strictEqual(limiter.isAtLimit, true);
  }
});

Deno.test("ConcurrencyLimiter counts all kinds together", () => {
  const limiter = new ConcurrencyLimiter();
  const half = limiter.acquire(2);
  const quarters = [limiter.acquire(4), limiter.acquire(4)];
  strictEqual(limiter.isAtLimit, true);
  limiter.release(quarters[0]!);
  strictEqual(limiter.isAtLimit, false);
  limiter.acquire(4);
  limiter.release(half);
  strictEqual(limiter.isAtLimit, false);
});

const free: readonly (readonly [inUse: readonly number[], limit: number, free: number])[] = [
  [[], 1, 1],
  [[], 6, 6],
  [[2], 6, 3],
  [[6, 6], 6, 4],
  [[3, 3, 3], 6, 1],
  [[1, 1], 6, 1],
];

for (const [inUse, limit, expected] of free) {
  Deno.test(`ConcurrencyLimiter.freeConnections(${limit}) returns ${expected} beside 1/${inUse.join(" + 1/")}`, () => {
    const limiter = new ConcurrencyLimiter();
    for (const other of inUse) limiter.acquire(other);
    strictEqual(limiter.freeConnections(limit), expected);
  });
}

Deno.test("ConcurrencyLimiter is exact again when nothing is in use", () => {
  const limiter = new ConcurrencyLimiter();
  for (let turn = 0; turn < 10_000; turn++) {
    const shares = [3, 7, 11].map((limit) => limiter.acquire(limit));
    for (const share of shares) limiter.release(share);
  }
  strictEqual(limiter.freeConnections(1_000_000), 1_000_000);
});
