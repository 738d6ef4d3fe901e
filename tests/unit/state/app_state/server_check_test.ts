import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { TransactionResult } from "../../../../src/database/transaction.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { mostConnections, ServerCheck } from "../../../../src/state/app_state/server_check.ts";

/** A check of a server that the test changes. */
function controlled({ connections = 11 as number | null } = {}) {
  const server = { keepsTransactions: true, isLost: false };
  const log: string[] = [];
  const transaction = (): Promise<TransactionResult> => {
    log.push("batch");
    if (server.isLost) return Promise.reject(errors.connectionLost(null));
    const rows = [[["y"]], [[server.keepsTransactions ? "y" : ""]], [["100"]]];
    const body = { length: null, content: new Uint8Array() };
    return Promise.resolve({ end: "commit", columns: [], body, rows });
  };
  const check = new ServerCheck({
    database: { transaction },
    observe: (event) => log.push(event.kind),
    connections: () => connections,
  });
  return { check, server, log };
}

Deno.test("ServerCheck.usesBlocks() checks once with one batch, and again when that is requested", async () => {
  const { check, server, log } = controlled();
  deepStrictEqual([await check.usesBlocks(), await check.usesBlocks(), log], [false, false, [
    "batch",
  ]]);
  server.keepsTransactions = false;
  check.request();
  strictEqual(await check.usesBlocks(), true);
  check.request();
  strictEqual(await check.usesBlocks(), true);
  deepStrictEqual(log, ["batch", "batch", "blocks-used", "batch"]);
});

Deno.test("ServerCheck.usesBlocks() checks again after a failure", async () => {
  const { check, server } = controlled();
  server.isLost = true;
  await rejects(check.usesBlocks());
  server.isLost = false;
  strictEqual(await check.usesBlocks(), false);
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
    await check.usesBlocks();
    deepStrictEqual(log, ["batch", ...(isWarned ? ["connections-exceeded"] : [])]);
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
