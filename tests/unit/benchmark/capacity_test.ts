import { deepStrictEqual, match, strictEqual, throws } from "node:assert/strict";
import {
  type CapacityDemand,
  type CapacityPlan,
  describeCapacity,
  planCapacity,
  readCapacityArguments,
  throughput,
} from "../../../tools/benchmark/capacity.ts";

/** One thread with 10,000 requests per second, of which each occupies a connection for 1 ms. */
const demand: CapacityDemand = {
  rate: 5000,
  connectionUs: 1000,
  databaseUs: 100,
  threads: 1,
  listens: true,
  databases: 1,
  databaseCores: 4,
  maxConnections: 100,
  model: { rate: 10_000, sigma: 0, kappa: 0 },
};

const rows: readonly (readonly [
  name: string,
  change: Partial<CapacityDemand>,
  expected: Partial<CapacityPlan>,
])[] = [
  ["one instance suffices, and one is spare", {}, {
    instanceRate: 10_000,
    instances: 2,
    busyConnections: 5,
    pool: 8,
    connections: 27,
    databaseLoad: 0.125,
    warnings: [],
  }],
  ["an instance is planned for 60 %", { rate: 6001 }, { instances: 3, pool: 5, connections: 24 }],
  ["threads of an instance add up", { rate: 20_000, threads: 4, databaseCores: 16 }, {
    instanceRate: 40_000,
    instances: 2,
    pool: 30,
    connections: 96,
  }],
  ["the pool has at most four connections per processor", { rate: 12_000 }, {
    instances: 3,
    busyConnections: 12,
    pool: 8,
  }],
  ["requests queue when even those are too few", { rate: 20_000 }, {
    instances: 5,
    busyConnections: 20,
    pool: 4,
    warnings: ["requests queue: 16 connections carry at most 16,000/s"],
  }],
  ["PostgreSQL lacks processors", { rate: 30_000, connectionUs: 100 }, {
    databaseLoad: 0.75,
    warnings: ["PostgreSQL needs 5 processors on each server to stay below 60 %"],
  }],
  ["PostgreSQL lacks connections", { maxConnections: 36 }, {
    connections: 27,
    warnings: [
      "27 connections exceed max_connections minus 10: " +
      "use a pooler, fewer instances or a higher max_connections",
    ],
  }],
  ["the pool has fewer connections than the instance has threads", { rate: 1000, threads: 3 }, {
    pool: 2,
    warnings: ["a pool of 2 lowers 3 threads to 2, since each needs a connection"],
  }],
  ["standbys share the requests", { rate: 12_000, databases: 3 }, {
    instances: 3,
    pool: 3,
    connections: 20,
    warnings: [],
  }],
  ["no listener", { listens: false }, { pool: 8, connections: 24 }],
];

for (const [name, change, expected] of rows) {
  Deno.test(`planCapacity() counts: ${name}`, () => {
    const plan = planCapacity({ ...demand, ...change });
    deepStrictEqual(
      Object.fromEntries(
        Object.keys(expected).map((key) => [key, plan[key as keyof CapacityPlan]]),
      ),
      expected,
    );
  });
}

for (
  const [threads, expected] of [[1, 47_619], [2, 93_362], [16, 580_720], [64, 1_238_064]] as const
) {
  Deno.test(`throughput() of ${threads} threads is ${expected}`, () => {
    const model = { rate: 1e6 / 21, sigma: 0.02, kappa: 0.00005 };
    strictEqual(Math.round(throughput(model, threads)), expected);
  });
}

Deno.test("readCapacityArguments() has defaults of a row by key", () => {
  deepStrictEqual(readCapacityArguments(["--rate", "1000"]), {
    rate: 1000,
    connectionUs: 500,
    listens: true,
    databaseUs: 20,
    threads: 1,
    databases: 1,
    databaseCores: 4,
    maxConnections: 100,
    model: { rate: 1e6 / 21, sigma: 0.02, kappa: 0.00005 },
  });
  const beside = readCapacityArguments(["--rate", "1000", "--beside"])!;
  strictEqual(beside.model.rate, 1e6 / 41);
});

Deno.test("readCapacityArguments() takes occupancy from a measured run", () => {
  strictEqual(readCapacityArguments(["--rate=1000", "--in-use=6:4000"])!.connectionUs, 1500);
});

const refusals: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [[], /^--rate: expected a number, got nothing$/],
  [["--rate", "0"], /^--rate: expected a number above 0, got 0$/],
  [["--rate", "x"], /^--rate: expected a number, got x$/],
  [["--rate=-1"], /^--rate: expected a number, got -1$/],
  [["--rate", "1", "--sigma", "a"], /^--sigma: expected a number, got a$/],
  [["--rate", "1", "--in-use", "4"], /^--in-use: expected a number, got nothing$/],
  [["--rate", "1", "--in-use", "1:2:3"], /^--in-use: expected connections:rate, got 1:2:3$/],
  [["--rate", "1", "--speed", "2"], /--speed/],
];

for (const [args, message] of refusals) {
  Deno.test(`readCapacityArguments() refuses ${args.join(" ") || "no arguments"}`, () => {
    throws(() => readCapacityArguments(args), { name: "TypeError", message });
  });
}

Deno.test("describeCapacity() prints the plan and its warnings", () => {
  const text = describeCapacity(readCapacityArguments(["--rate=300000", "--max-connections=20"])!);
  match(text, /^\| requests per second at peak +\| +300,000 \|$/m);
  match(text, /^Warning: \d+ connections exceed max_connections minus 10: /m);
  match(text, /^These are estimates: /m);
});
