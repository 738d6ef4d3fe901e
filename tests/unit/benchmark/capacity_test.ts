import { deepStrictEqual, match, strictEqual, throws } from "node:assert/strict";
import { describeCapacity, readCapacityArguments } from "../../../tools/benchmark/capacity.ts";
import {
  type CapacityDemand,
  type CapacityPlan,
  planCapacity,
} from "../../../tools/benchmark/capacity_plan.ts";

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

interface PlanRow {
  readonly name: string;
  readonly change: Partial<CapacityDemand>;
  readonly expected: Partial<CapacityPlan>;
}

const rows: readonly PlanRow[] = [
  {
    name: "one instance suffices, and one is spare",
    change: {},
    expected: {
      instanceRate: 10_000,
      instances: 2,
      busyConnections: 5,
      pool: 8,
      connections: 27,
      databaseLoad: 0.125,
      warnings: [],
    },
  },
  {
    name: "an instance is planned for 60 %",
    change: { rate: 6001 },
    expected: { instances: 3, pool: 5, connections: 24 },
  },
  {
    name: "threads of an instance add up",
    change: { rate: 20_000, threads: 4, databaseCores: 16 },
    expected: { instanceRate: 40_000, instances: 2, pool: 30, connections: 96 },
  },
  {
    name: "the pool has at most four connections per processor",
    change: { rate: 12_000 },
    expected: { instances: 3, busyConnections: 12, pool: 8 },
  },
  {
    name: "requests queue when even those are too few",
    change: { rate: 20_000 },
    expected: {
      instances: 5,
      busyConnections: 20,
      pool: 4,
      warnings: ["requests queue: 16 connections carry at most 16,000/s"],
    },
  },
  {
    name: "PostgreSQL lacks processors",
    change: { rate: 30_000, connectionUs: 100 },
    expected: {
      databaseLoad: 0.75,
      warnings: ["PostgreSQL needs 5 processors on each server to stay below 60 %"],
    },
  },
  {
    name: "PostgreSQL lacks connections",
    change: { maxConnections: 36 },
    expected: {
      connections: 27,
      warnings: [
        "27 connections exceed max_connections minus 10: " +
        "use a pooler, fewer instances or a higher max_connections",
      ],
    },
  },
  {
    name: "the pool has fewer connections than the instance has threads",
    change: { rate: 1000, threads: 3 },
    expected: {
      pool: 2,
      warnings: ["a pool of 2 lowers 3 threads to 2, since each needs a connection"],
    },
  },
  {
    name: "there are more threads than are useful",
    change: { rate: 5000, threads: 8, model: { rate: 10_000, sigma: 0, kappa: 0.04 } },
    expected: { pool: 8, warnings: ["more than 5 threads lower the throughput of an instance"] },
  },
  {
    name: "standbys share the requests",
    change: { rate: 12_000, databases: 3 },
    expected: { instances: 3, pool: 3, connections: 20, warnings: [] },
  },
  {
    name: "a million reads by key per second",
    change: {
      rate: 1e6,
      connectionUs: 500,
      databaseUs: 91,
      threads: 16,
      databases: 3,
      databaseCores: 64,
      maxConnections: 500,
      model: { rate: 1e6 / 21, sigma: 0.02, kappa: 0.00005 },
    },
    expected: {
      instances: 4,
      busyConnections: 500,
      pool: 84,
      connections: 515,
      warnings: [
        "515 connections exceed max_connections minus 10: " +
        "use a pooler, fewer instances or a higher max_connections",
      ],
    },
  },
  { name: "no listener", change: { listens: false }, expected: { pool: 8, connections: 24 } },
];

for (const { name, change, expected } of rows) {
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

Deno.test("readCapacityArguments() has defaults of a row by key", () => {
  const { demand, model, points } = readCapacityArguments(["--rate", "1000"])!;
  deepStrictEqual(demand, {
    rate: 1000,
    connectionUs: 500,
    listens: true,
    databaseUs: 20,
    threads: 1,
    databases: 1,
    databaseCores: 4,
    maxConnections: 100,
  });
  deepStrictEqual(model, { rate: 1e6 / 21, sigma: 0.02, kappa: 0.00005, fitted: [] });
  deepStrictEqual(points, []);
  const beside = readCapacityArguments(["--rate", "1000", "--beside"])!;
  strictEqual(beside.model.rate, 1e6 / 41);
});

Deno.test("readCapacityArguments() takes occupancy from a measured run", () => {
  const request = readCapacityArguments(["--rate=1000", "--in-use=6:4000"])!;
  strictEqual(request.demand.connectionUs, 1500);
  const note = /^Connections and pool are estimates/m;
  strictEqual(note.test(describeCapacity(request)), false);
  match(describeCapacity(readCapacityArguments(["--rate=1000"])!), note);
});

const refusals: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [[], /^--rate: expected a number, got nothing$/],
  [["--rate", "0"], /^--rate: expected a number above 0, got 0$/],
  [["--rate", "x"], /^--rate: expected a number, got x$/],
  [["--rate=-1"], /^--rate: expected a number, got -1$/],
  [["--rate", "1", "--sigma", "a"], /^--sigma: expected a number, got a$/],
  [["--rate", "1", "--measured", "1"], /^--measured: expected a number, got nothing$/],
  [["--rate", "1", "--measured", "1:2:3"], /^--measured: expected threads:rate, got 1:2:3$/],
  [["--rate", "1", "--measured", "1.5:2"], /^--measured: expected threads:rate, got 1.5:2$/],
  [["--rate", "1", "--measured", "0:2"], /^--measured: expected a number above 0, got 0$/],
  [["--rate", "1", "--in-use", "4"], /^--in-use: expected a number, got nothing$/],
  [["--rate", "1", "--in-use", "1:2:3"], /^--in-use: expected connections:rate, got 1:2:3$/],
  [["--rate", "1", "--speed", "2"], /--speed/],
];

for (const [args, message] of refusals) {
  Deno.test(`readCapacityArguments() refuses ${args.join(" ") || "no arguments"}`, () => {
    throws(() => readCapacityArguments(args), { name: "TypeError", message });
  });
}

Deno.test("describeCapacity() tells estimates from measurements", () => {
  const estimate = describeCapacity(readCapacityArguments(["--rate", "1000"])!);
  match(estimate, /^Model: λ 47,619\/s, σ 0\.02 \(assumed\), κ 0\.00005 \(assumed\)$/m);
  match(estimate, /^All rates are estimates: nothing was measured\.$/m);
  const args = ["--rate", "1000", "--measured", "1:1000,2:1800,4:3000,8:4500"];
  const measured = describeCapacity(readCapacityArguments(args)!);
  match(measured, /^Model: λ [\d,]+\/s, σ 0\.\d+ \(fitted\), κ [\d.]+ \(fitted\)$/m);
  match(measured, /^Error at the measured points: mean 0\.\d %, at most [01]\.\d %$/m);
  match(measured, /^\| 8 +\| +4,500 \| +4,\d+ \| +-?0\.\d % \|$/m);
  match(measured, /^\| 64 +\| +– \| +[\d,]+ \| +estimate \|$/m);
  const two = describeCapacity(readCapacityArguments(["--rate=9", "--measured=1:1000,2:1900"])!);
  match(two, /κ 0\.00005 \(assumed\)$/m);
  match(two, /; so few points cannot test the model$/m);
});
