import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Batch, BatchResult } from "../../../src/database/batch.ts";
import type { DatabaseOptions } from "../../../src/database/database.ts";
import { errors } from "../../../src/errors/catalogue.ts";
import { DatabaseError } from "../../../src/errors/service_error.ts";
import { CapabilityCheck, mostConnections } from "../../../src/service/capability_check.ts";

const config = {
  dbCapabilities: [],
  dbPoolQueueTarget: 0,
  dbPreparedStatements: true,
  dbReplicaFallback: "primary",
  dbReplicaMaxLag: 10,
  dbReplicaWait: 0.1,
} as const;

/** Answers of PostgreSQL, by a part of the statement. */
const answers: readonly (readonly [part: string, value: string])[] = [
  ["'max_connections'", "100"],
  ["'transaction_isolation'", "read committed"],
  ["cross join lateral", "1"],
  ["json_agg", '[{"a":1}]'],
  ["explain", '[{"Plan": {}}]'],
  ["pg_is_in_recovery", "t"],
  ["set_config('role'", "authenticator"],
];

interface Server {
  /** Returns the error of a statement; null for none. */
  refuses: (text: string) => Error | null;
  /** Whether settings are left behind by transactions. */
  leaks: boolean;
}

/** A check of a server that the test changes. */
function controlled({ overrides = [], connections = 11 as number | null } = {}) {
  const server: Server = { refuses: () => null, leaks: false };
  const log: string[] = [];
  let batches = 0;
  const configured: DatabaseOptions[] = [];
  const transaction = ({ statements }: Batch): Promise<BatchResult> => {
    batches++;
    let setting = "";
    for (const { text } of statements) {
      const error = server.refuses(text);
      if (error !== null) return Promise.reject(error);
    }
    const rows = statements.map(({ text }) => {
      const [, set] = /'svc\.probe', '(.)'/.exec(text) ?? [];
      if (set !== undefined) setting = set;
      if (text === "commit" && !server.leaks) setting = "";
      if (text.includes("current_setting('svc.probe'")) return [[setting]];
      return [[answers.find(([part]) => text.includes(part))?.[1] ?? null]];
    });
    return Promise.resolve({ end: "commit", columns: [], body: noBody, rows });
  };
  const check = new CapabilityCheck({
    database: { transaction, configure: (options) => void configured.push(options) },
    overrides,
    observe: (event) => {
      const detail = "capability" in event ? ` ${event.capability}` : "";
      log.push(`${event.kind}${detail}`);
    },
    exit: (capability) => void log.push(`exit ${capability}`),
    connections: () => connections,
  });
  return { check, server, log, configured, batches: () => batches };
}

const noBody = { length: null, content: new Uint8Array() };

function refusal(part: string, sqlstate: string, statement = 3): Server["refuses"] {
  const failure = { sqlstate, message: "no", detail: null, hint: null };
  return (text) => text.includes(part) ? new DatabaseError(failure, statement) : null;
}

Deno.test("CapabilityCheck.run() checks once with one batch, and again when that is requested", async () => {
  const { check, log, batches } = controlled();
  await check.run(config);
  await check.run(config);
  strictEqual(batches(), 1);
  check.request();
  await check.run(config);
  deepStrictEqual([batches(), log, check.current], [2, [], []]);
});

Deno.test("CapabilityCheck.run() reports a missing capability once, and again after it was there", async () => {
  const { check, server, log } = controlled();
  const lost: (readonly string[])[] = [];
  for (const isMissing of [true, true, false, true]) {
    server.refuses = isMissing ? refusal("pg_is_in_recovery", "42501") : () => null;
    check.request();
    await check.run(config);
    lost.push(check.current);
  }
  deepStrictEqual(lost, [["-lsn"], ["-lsn"], [], ["-lsn"]]);
  deepStrictEqual(log, ["capability-missing lsn", "capability-missing lsn"]);
});

Deno.test("CapabilityCheck.run() rejects, and exits, where a required capability is missing", async () => {
  const { check, server, log } = controlled();
  server.leaks = true;
  await rejects(check.run(config), {
    fields: errors.cannotConnect(
      "the server lacks local-settings: the answer is not that of PostgreSQL",
    ).fields,
  });
  deepStrictEqual(log, ["exit local-settings"]);
  server.leaks = false;
  await check.run(config);
  deepStrictEqual(check.current, []);
});

Deno.test("CapabilityCheck.run() has later transactions begin without a refused isolation level", async () => {
  const { check, server, configured } = controlled();
  server.refuses = refusal("isolation level", "0A000", 0);
  await check.run(config);
  deepStrictEqual(check.current, ["-isolation"]);
  deepStrictEqual(
    configured.map(({ setsIsolation, prepare }) => [setsIsolation, prepare]),
    [[false, false]],
  );
});

for (const sqlstate of ["08006", "40001", "53300", "57P01", "58030"]) {
  Deno.test(`CapabilityCheck.run() rejects with ${sqlstate}, and checks again`, async () => {
    const { check, server, log } = controlled();
    server.refuses = refusal("explain", sqlstate);
    await rejects(check.run(config), DatabaseError);
    server.refuses = () => null;
    await check.run(config);
    deepStrictEqual([log, check.current], [[], []]);
  });
}

const counts: readonly (readonly [connections: number | null, isWarned: boolean])[] = [
  [90, false],
  [91, true],
  [null, false],
];

for (const [connections, isWarned] of counts) {
  const verb = isWarned ? "warns" : "does not warn";
  Deno.test(`CapabilityCheck.run() ${verb} of ${connections} connections where 100 are permitted`, async () => {
    const { check, log } = controlled({ connections });
    await check.run(config);
    deepStrictEqual(log, isWarned ? ["connections-exceeded"] : []);
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
