import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { TenantConfig } from "../../../../src/wings/tenants/tenant_options.ts";
import { workerCount } from "../../../../src/process/server/count_workers.ts";
import { shareOf } from "../../../../src/process/server/workers/shares.ts";

for (
  const [total, workers, parts] of [
    [10, 4, [3, 3, 2, 2]],
    [4, 4, [1, 1, 1, 1]],
    [3, 2, [2, 1]],
    [2, 3, [1, 1, 1]],
    [0, 2, [0, 0]],
  ] as const
) {
  Deno.test(`shareOf() divides ${total} among ${workers}`, () => {
    const numbers = Array.from({ length: workers }, (_, index) => index + 1);
    deepStrictEqual(numbers.map((number) => shareOf(total, { number, workers })), parts);
  });
}

const machine = { cores: 8, environment: {}, addressLimit: null };
const config = {
  dbPool: 10,
  dbUri: "postgres://db.example.com/shop",
  serverUnixSocket: null,
  serverWorkers: 4,
  tenants: null,
} as const;

const rows: readonly (readonly [
  label: string,
  change: Partial<Pick<TenantConfig, keyof typeof config>>,
  workers: number,
  limit: string | null,
])[] = [
  ["as written", {}, 4, null],
  ["one", { serverWorkers: 1, dbUri: "pglite://memory" }, 1, null],
  ["more than connections", { dbPool: 2 }, 2, "db-pool"],
  ["an embedded database", { dbUri: "pglite://memory" }, 1, "embedded"],
  ["tenants", { tenants: "./tenants" }, 1, "tenants"],
  ["a Unix socket", { serverUnixSocket: "/run/svc.sock" }, 1, "unix-socket"],
  ["auto beside a database elsewhere", { serverWorkers: "auto" }, 8, null],
  ["auto with few connections", { serverWorkers: "auto", dbPool: 3 }, 3, null],
  ["auto with PGlite", { serverWorkers: "auto", dbUri: "pglite://memory" }, 1, null],
  [
    "auto beside a local database",
    { serverWorkers: "auto", dbUri: "postgres://localhost/shop" },
    4,
    null,
  ],
  ["auto beside a Unix socket", { serverWorkers: "auto", dbUri: "host=/run/pg" }, 4, null],
  [
    "auto with one local host of two",
    { serverWorkers: "auto", dbUri: "postgres://db.example.com,127.0.0.1/shop" },
    4,
    null,
  ],
];

for (const [label, change, workers, limit] of rows) {
  Deno.test(`workerCount() of ${label}`, () => {
    deepStrictEqual(workerCount({ ...config, ...change }, machine), { workers, limit });
  });
}

Deno.test("workerCount() is 1 where threads cannot share an address, or on one core", () => {
  const elsewhere = { ...machine, addressLimit: "system" } as const;
  deepStrictEqual(workerCount(config, elsewhere), { workers: 1, limit: "system" });
  const small = { ...config, serverWorkers: "auto", dbUri: "postgres:///shop" } as const;
  strictEqual(workerCount(small, { ...machine, cores: 1 }).workers, 1);
});
