import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { TransactionResult } from "../../../../src/database/transaction.ts";
import { svcDialect } from "../../../../src/base/dialect.ts";
import type { Observation } from "../../../../src/base/observe/observation.ts";
import type { AppStateBase } from "../../../../src/state/app_state/app_state_base.ts";
import type { Snapshot } from "../../../../src/state/app_state/snapshot.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { mostConnections, ServerCheck } from "../../../../src/state/app_state/server_check.ts";

/** A check of a server that the test changes. */
function controlled({ connections = 11 as number | null } = {}) {
  const server = { keepsTransactions: true, isLost: false };
  const log: string[] = [];
  const transaction = (): Promise<TransactionResult> => {
    log.push("transaction");
    if (server.isLost) return Promise.reject(errors.connectionLost(null));
    const rows = [[["y"]], [[server.keepsTransactions ? "y" : ""]], [["100"]]];
    const body = { length: null, content: new Uint8Array() };
    return Promise.resolve({ end: "commit", columns: [], body, rows });
  };
  const config = { dbUri: "", dbPool: connections, dbChannelEnabled: false, dbReplicaUri: null };
  const state = {
    database: {
      transaction,
      ...(connections === null ? {} : { pool: { isEncrypted: () => null } }),
      version: () => Promise.resolve("PostgreSQL 15.0"),
      counts: () => ({ max: 10 }),
    },
    dialect: svcDialect,
    failurePolicy: { exitOnLoginRefused: () => false, exitOnFatal: () => false, isEnding: false },
    observe: ({ kind }: Observation) => reported.has(kind) && log.push(kind),
    snapshot: { config, usesBlocks: false },
    replace: (parts: Partial<Snapshot>) => void Object.assign(state.snapshot, parts),
    configureDatabase: () => log.push("configured"),
  };
  const check = new ServerCheck(state as unknown as AppStateBase, 0);
  return { check, server, log, state };
}

const reported: ReadonlySet<string> = new Set(["blocks-used", "connections-exceeded"]);

Deno.test("ServerCheck.run() checks once with one transaction, and again when that is requested", async () => {
  const { check, server, log, state } = controlled();
  strictEqual(await check.run(), "PostgreSQL 15.0");
  await check.run();
  deepStrictEqual([state.snapshot.usesBlocks, log], [false, ["transaction"]]);
  server.keepsTransactions = false;
  check.request();
  await check.run();
  strictEqual(state.snapshot.usesBlocks, true);
  check.request();
  await check.run();
  deepStrictEqual(log, [
    ...["transaction", "transaction", "blocks-used", "configured", "transaction"],
  ]);
});

Deno.test("ServerCheck.run() checks again after a failure", async () => {
  const { check, server, log } = controlled();
  server.isLost = true;
  await rejects(check.run());
  server.isLost = false;
  await check.run();
  deepStrictEqual(log, ["transaction", "transaction"]);
});

const counts: readonly (readonly [connections: number | null, isWarned: boolean])[] = [
  [90, false],
  [91, true],
  [null, false],
];

for (const [connections, isWarned] of counts) {
  const verb = isWarned ? "warns" : "does not warn";
  Deno.test(`ServerCheck ${verb} of ${connections} connections where 100 are permitted`, async () => {
    const { check, log } = controlled({ connections });
    await check.run();
    deepStrictEqual(log, ["transaction", ...(isWarned ? ["connections-exceeded"] : [])]);
  });
}

const totals: readonly (readonly [
  label: string,
  config: Parameters<typeof mostConnections>[0],
  followers: number,
  connections: number,
])[] = [
  ["the pool", { dbPool: 10, dbChannelEnabled: false, dbReplicaUri: null }, 0, 10],
  ["the listener", { dbPool: 10, dbChannelEnabled: true, dbReplicaUri: null }, 0, 11],
  ["the monitor", { dbPool: 10, dbChannelEnabled: true, dbReplicaUri: "host=b" }, 0, 12],
  ["the loads for workers", { dbPool: 10, dbChannelEnabled: true, dbReplicaUri: null }, 4, 12],
  ["all monitors", { dbPool: 10, dbChannelEnabled: true, dbReplicaUri: "host=b" }, 4, 17],
];

for (const [label, settings, followers, connections] of totals) {
  Deno.test(`mostConnections() counts ${label}`, () => {
    strictEqual(mostConnections(settings, followers), connections);
  });
}
