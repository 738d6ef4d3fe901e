import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { ReadTransaction } from "../../../../src/database/transaction.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { isConnectionLost } from "../../../../src/database/failure.ts";
import { codeOf } from "../../../support/database/fake_connection.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import {
  bookmarkedWrite,
  databaseError,
  type FakeReplicas,
  fakeReplicas,
  type FakeReplicasOptions,
  standbyRead,
} from "../../../support/database/fake_replicas.ts";

/** Makes servers that have answered once. */
async function observed(options: FakeReplicasOptions = {}): Promise<FakeReplicas> {
  const replicas = fakeReplicas(options);
  replicas.database.standbys!.observe();
  await replicas.clock.pass(10);
  return replicas;
}

/** Returns the server that executed a read, or the code of its error, when `ms` have passed. */
async function outcome(
  { database, clock }: FakeReplicas,
  transaction: ReadTransaction,
  ms = 0,
): Promise<string> {
  let result = "waits";
  database.transaction(transaction).then(
    ({ columns }) => result = String(columns[0]),
    (error) => result = codeOf(error),
  );
  await settled();
  if (ms > 0) await clock.pass(ms);
  return result;
}

const counts = ({ database }: FakeReplicas) => {
  const { fallbacks, retries } = database.standbys!.counts();
  return { fallbacks: Object.fromEntries(fallbacks), retries: Object.fromEntries(retries) };
};

const bookmark = (lsn: string, timeline = 1) => `${timeline}-${lsn.padStart(16, "0")}`;
const repeatable = { isolation: "repeatable read", end: "commit" } as const;
const serializable = { ...repeatable, isolation: "serializable" } as const;

/** A case: servers are prepared, time passes, a read is executed. */
interface Row {
  readonly name: string;
  readonly options?: FakeReplicasOptions;
  readonly prepare?: (replicas: FakeReplicas) => void;
  /** Milliseconds until the read. Default: 0. */
  readonly before?: number;
  readonly transaction: ReadTransaction;
  readonly by: string;
  /** Default: none. */
  readonly fallback?: string;
}

const rows: readonly Row[] = [
  { name: "a read without a bookmark", transaction: standbyRead(), by: "standby0" },
  {
    name: "a repeatable read",
    transaction: standbyRead(null, { block: repeatable }),
    by: "standby0",
  },
  {
    name: "a serializable read, which standbys refuse",
    transaction: standbyRead(null, { block: serializable }),
    by: "primary",
  },
  {
    name: "a read with a bookmark that one standby has",
    prepare: ({ standbys }) => standbys[1]!.lsn = "0/200",
    before: 1000,
    transaction: standbyRead(bookmark("200")),
    by: "standby1",
  },
  {
    name: "a read with a bookmark that no standby is known to have",
    transaction: standbyRead(bookmark("200")),
    by: "primary",
    fallback: "behind",
  },
  {
    name: "a read with a malformed bookmark",
    transaction: standbyRead("nonsense"),
    by: "primary",
    fallback: "bookmark",
  },
  {
    name: "a read while all standbys lag too far",
    options: { maxLagMs: 1000 },
    prepare: ({ primary }) => primary.lsn = "0/200",
    before: 5000,
    transaction: standbyRead(),
    by: "primary",
    fallback: "no standby",
  },
  {
    name: "a read with a schema cache that is younger than the last answers of all servers",
    before: 900,
    transaction: standbyRead(null, { schemaAgeMs: 1 }),
    by: "primary",
    fallback: "behind",
  },
  {
    name: "a read with a schema cache that one standby has",
    before: 1200,
    prepare: ({ primary, standbys }) => primary.lsn = standbys[1]!.lsn = "0/101",
    transaction: standbyRead(null, { schemaAgeMs: 300 }),
    by: "standby1",
  },
  {
    name: "a read while the primary is down, as long as the lag allows",
    prepare: ({ primary }) => primary.isDown = true,
    before: 9000,
    transaction: standbyRead(),
    by: "standby0",
  },
  {
    name: "a read when the primary is down for longer",
    prepare: ({ primary }) => primary.isDown = true,
    before: 12_000,
    transaction: standbyRead(),
    by: "primary",
    fallback: "no standby",
  },
  {
    name: "a read when one standby does not answer",
    prepare: ({ standbys }) => standbys[0]!.answers = false,
    before: 2000,
    transaction: standbyRead(),
    by: "standby1",
  },
  {
    name: "a read when one standby was promoted",
    prepare: ({ standbys }) => standbys[0]!.isInRecovery = false,
    before: 1000,
    transaction: standbyRead(),
    by: "standby1",
  },
  {
    name: "a read with a bookmark after a failover, while no standby shows the timeline",
    prepare: ({ primary }) => primary.timeline = 2,
    before: 1000,
    transaction: standbyRead(bookmark("1", 2)),
    by: "primary",
    fallback: "behind",
  },
  {
    name: "a read with a bookmark after a failover, on the standby that follows",
    prepare: ({ primary, standbys }) => primary.timeline = standbys[1]!.timeline = 2,
    before: 2500,
    transaction: standbyRead(bookmark("1", 2)),
    by: "standby1",
  },
  {
    name: "a read without a fit standby, with db-replica-fallback = error",
    options: { standbys: 0, fallback: "error" },
    transaction: standbyRead(),
    by: "000",
  },
  {
    name: "a read with a bookmark that no standby has, with db-replica-fallback = error",
    options: { fallback: "error" },
    transaction: standbyRead(bookmark("200")),
    by: "primary",
    fallback: "behind",
  },
  {
    name: "a read with a malformed bookmark, with db-replica-fallback = error",
    options: { fallback: "error" },
    transaction: standbyRead(""),
    by: "primary",
    fallback: "bookmark",
  },
];

for (const { name, options, prepare, before = 0, transaction, by, fallback } of rows) {
  Deno.test(`replicatedDatabase().transaction() executes ${name}: ${by}`, async () => {
    const replicas = await observed(options);
    prepare?.(replicas);
    if (before > 0) await replicas.clock.pass(before);
    strictEqual(await outcome(replicas, transaction), by);
    deepStrictEqual(counts(replicas).fallbacks, fallback === undefined ? {} : { [fallback]: 1 });
    await replicas.database.close();
    strictEqual(replicas.clock.next(), null, "a timer is left");
  });
}

Deno.test("replicatedDatabase() uses no standby before the servers are observed", async () => {
  const replicas = fakeReplicas();
  strictEqual(await outcome(replicas, standbyRead()), "primary");
  strictEqual(replicas.clock.next(), null);
});

Deno.test("replicatedDatabase().transaction() leaves transactions without the fields unchanged", async () => {
  const { database, primary } = await observed();
  const { standby: _, ...read } = standbyRead();
  await database.transaction(read);
  strictEqual(primary.transactions[0], read);
});

Deno.test("replicatedDatabase().transaction() has standbys check the position of a bookmark", async () => {
  const replicas = await observed();
  await outcome(replicas, standbyRead(bookmark("FF")));
  deepStrictEqual(replicas.standbys[0]!.transactions[0]!.walPosition, {
    minReplayed: 0xffn,
    isReturned: true,
  });
});

Deno.test("replicatedDatabase().transaction() gives a write the position behind its COMMIT", async () => {
  const { database, primary } = await observed();
  primary.lsn = "1/2018";
  const result = await database.transaction(bookmarkedWrite);
  strictEqual(result.bookmark, "1-0000000100002000");
  deepStrictEqual(primary.transactions[0]!.block, {
    isolation: "read committed",
    end: "commit",
  });
});

Deno.test("replicatedDatabase().transaction() gives a write a bookmark for the primary if its position is lost", async () => {
  const replicas = await observed();
  const { database, primary } = replicas;
  primary.streams = true;
  primary.isDown = true;
  const { bookmark: text } = await database.transaction(bookmarkedWrite);
  strictEqual(text, bookmark("0", 0));
  primary.isDown = false;
  strictEqual(await outcome(replicas, standbyRead(text)), "primary");
});

Deno.test("replicatedDatabase().transaction() gives a write that rolls back no bookmark", async () => {
  const { database } = await observed();
  const block = { isolation: "read committed", end: "rollback" } as const;
  strictEqual(
    (await database.transaction({ ...bookmarkedWrite, block })).bookmark,
    undefined,
  );
});

const seen: readonly (readonly [
  name: string,
  sent: string,
  replayed: string,
  answer: string,
  received?: string,
])[] = [
  ["the position behind the read", "80", "0/100", "100"],
  ["that of the client if the standby's is lower", "100", "0/90", "100"],
  ["a position that covers a commit in replay", "80", "0/100", "101", "0/200"],
];
for (const [name, sent, replayed, answer, received = null] of seen) {
  Deno.test(`replicatedDatabase().transaction() answers a read with ${name}`, async () => {
    const { database, standbys } = await observed();
    for (const standby of standbys) Object.assign(standby, { lsn: replayed, received });
    const result = await database.transaction(standbyRead(bookmark(sent)));
    strictEqual(result.bookmark, bookmark(answer));
  });
}

Deno.test("replicatedDatabase().transaction() answers a read on the primary with the primary's position", async () => {
  const { database, primary } = await observed();
  primary.lsn = "0/300";
  strictEqual((await database.transaction(standbyRead("nonsense"))).bookmark, bookmark("300"));
});

Deno.test("replicatedDatabase().transaction() reads the position of a stream by another connection", async () => {
  const { database, standbys, primary } = await observed();
  for (const server of [primary, ...standbys]) server.streams = true;
  strictEqual((await database.transaction(standbyRead(bookmark("1")))).bookmark, bookmark("100"));
  strictEqual((await database.transaction(standbyRead("nonsense"))).bookmark, bookmark("100"));
  for (const server of [primary, ...standbys]) server.isDown = true;
  strictEqual((await database.transaction(standbyRead(bookmark("1")))).bookmark, null);
});

const refusals: readonly (readonly [name: string, error: unknown, reason: string])[] = [
  ["a recovery conflict", databaseError("40001"), "conflict"],
  ["a missing relation", databaseError("42P01"), "schema"],
  ["a lost connection", errors.connectionLost(null), "connection"],
];
for (const [name, error, reason] of refusals) {
  Deno.test(`replicatedDatabase().transaction() repeats a read once on the primary after ${name}`, async () => {
    const replicas = await observed();
    for (const standby of replicas.standbys) standby.error = error;
    strictEqual(await outcome(replicas, standbyRead()), "primary");
    deepStrictEqual(counts(replicas), { fallbacks: { refused: 1 }, retries: { [reason]: 1 } });
    strictEqual(replicas.standbys.flatMap(({ transactions }) => transactions).length, 1);
  });
}

Deno.test("replicatedDatabase().transaction() answers with other errors of a standby", async () => {
  const replicas = await observed();
  replicas.standbys[0]!.error = databaseError("22P02");
  strictEqual(await outcome(replicas, standbyRead()), "22P02");
  strictEqual(replicas.primary.transactions.length, 0);
});

Deno.test("replicatedDatabase().transaction() repeats the reads of a standby that stops answering", async () => {
  const replicas = await observed();
  replicas.standbys[0]!.answers = false;
  strictEqual(await outcome(replicas, standbyRead(), 2000), "primary");
  deepStrictEqual(counts(replicas).retries, { connection: 1 });
});

Deno.test("replicatedDatabase().transaction() reports a lack of standbys as no loss of the primary", async () => {
  const { database } = await observed({ standbys: 0, fallback: "error" });
  await rejects(database.transaction(standbyRead()), (error) => !isConnectionLost(error));
});

Deno.test("replicatedDatabase() excludes a standby whose position shows a promotion", async () => {
  const replicas = await observed({ standbys: 1 });
  replicas.standbys[0]!.isInRecovery = false;
  const { bookmark: text } = await replicas.database.transaction(standbyRead(bookmark("1")));
  strictEqual(text, bookmark("100"));
  strictEqual(await outcome(replicas, standbyRead()), "primary");
  deepStrictEqual(replicas.events.at(-1), {
    kind: "standby-excluded",
    place: "standby0",
    reason: "it is not in recovery",
  });
});

Deno.test("replicatedDatabase() uses no standby where servers have no positions", async () => {
  const replicas = fakeReplicas();
  const { database, primary, standbys, clock } = replicas;
  for (const server of [primary, ...standbys]) server.lsn = null;
  database.standbys!.observe();
  await clock.pass(10);
  strictEqual((await database.transaction(bookmarkedWrite)).bookmark, null);
  strictEqual(await outcome(replicas, standbyRead()), "primary");
});

Deno.test("replicatedDatabase() reports a server of another cluster once", async () => {
  const replicas = fakeReplicas();
  replicas.standbys[1]!.identifier = "8";
  replicas.database.standbys!.observe();
  await replicas.clock.pass(3000);
  deepStrictEqual(replicas.events.filter(({ kind }) => kind === "standby-foreign"), [
    { kind: "standby-foreign", place: "standby1" },
  ]);
  strictEqual(await outcome(replicas, standbyRead()), "standby0");
});

Deno.test("replicatedDatabase() reports standbys that go and come", async () => {
  const { standbys: [first], clock, events, database } = await observed({ standbys: 1 });
  const isServing = async () => {
    await clock.pass(250);
    return database.standbys!.isServing;
  };
  first!.isDown = true;
  strictEqual(await isServing(), true);
  first!.isDown = false;
  strictEqual(await isServing(), true);
  first!.isDown = true;
  strictEqual(await isServing(), true);
  strictEqual(await isServing(), false);
  first!.isDown = false;
  strictEqual(await isServing(), false);
  strictEqual(await isServing(), true);
  deepStrictEqual(events, [
    { kind: "standby-included", place: "standby0" },
    { kind: "standby-excluded", place: "standby0", reason: "Connection refused" },
    { kind: "standby-included", place: "standby0" },
  ]);
});

Deno.test("replicatedDatabase() measures the lag of a standby by the samples before its answer", async () => {
  const replicas = await observed({ standbys: 1, maxLagMs: 100 });
  const { primary, standbys: [standby], clock, events } = replicas;
  await clock.pass(190);
  standby!.lsn = "0/101";
  // The position behind the read is that of the standby, and is ahead of the last sample.
  strictEqual(await outcome(replicas, standbyRead(bookmark("100"))), "standby0");
  primary.lsn = standby!.lsn = "0/102";
  await clock.pass(100);
  deepStrictEqual(events, [{ kind: "standby-included", place: "standby0" }]);
});

Deno.test("replicatedDatabase().transaction() executes reads on standbys while a new timeline has no sample", async () => {
  const replicas = await observed({ fallback: "error" });
  for (const server of [replicas.primary, ...replicas.standbys]) server.timeline = 2;
  await replicas.database.transaction(bookmarkedWrite);
  strictEqual(await outcome(replicas, standbyRead()), "standby0");
});

Deno.test("replicatedDatabase().standbys.counts() shows lag and reads of each standby", async () => {
  const replicas = await observed({ standbys: 1 });
  await outcome(replicas, standbyRead());
  replicas.primary.lsn = "0/200";
  await replicas.clock.pass(4000);
  const [standby] = replicas.database.standbys!.counts().standbys;
  const { lagSeconds, ...others } = standby!;
  deepStrictEqual(others, { place: "standby0", isServing: true, inFlight: 0, reads: 1 });
  strictEqual(lagSeconds! > 3 && lagSeconds! <= 4, true);
});

Deno.test("replicatedDatabase().configure() applies another lag", async () => {
  const replicas = await observed({ standbys: 1 });
  replicas.primary.lsn = "0/200";
  await replicas.clock.pass(4000);
  strictEqual(await outcome(replicas, standbyRead()), "standby0");
  replicas.database.pool!.configure({
    prepare: true,
    replicas: { maxLagMs: 1000, fallback: "primary" },
  });
  strictEqual(await outcome(replicas, standbyRead()), "primary");
});

Deno.test("replicatedDatabase().transaction() waits on the primary for a commit that a standby may show", async () => {
  const { database, primary, clock } = await observed();
  primary.running = "7";
  let isRead = false;
  const reading = database.transaction(standbyRead("malformed")).then(() => isRead = true);
  await clock.pass(10);
  strictEqual(isRead, false);
  primary.running = "";
  await clock.pass(2);
  await reading;
});

Deno.test("replicatedDatabase().close() closes all servers", async () => {
  const { database, primary, standbys, clock } = await observed();
  await database.close();
  deepStrictEqual([primary, ...standbys].map(({ isClosed }) => isClosed), [true, true, true]);
  strictEqual(clock.next(), null);
});

const open = { ...repeatable, end: "open" } as const;

Deno.test("replicatedDatabase().transaction() follows an open transaction to its end", async (t) => {
  const rows:
    readonly (readonly [name: string, error: unknown, by: string, transactions: string])[] = [
      ["a standby ends it", null, "standby0", "0 2"],
      [
        "the primary repeats it if a standby refuses its end",
        databaseError("40001"),
        "primary",
        "2 2",
      ],
    ];
  for (const [name, error, by, transactions] of rows) {
    await t.step(name, async () => {
      const { database, primary, standbys: [standby] } = await observed();
      const begun = await database.transaction({ ...standbyRead(null), block: open });
      standby!.error = error;
      strictEqual(begun.end, "open");
      const { columns } = await begun.open!.end("commit");
      deepStrictEqual(columns, [by]);
      strictEqual(`${primary.transactions.length} ${standby!.transactions.length}`, transactions);
    });
  }
});

Deno.test("replicatedDatabase().transaction() gives an open write its position behind COMMIT", async () => {
  const { database } = await observed();
  const begun = await database.transaction({ ...bookmarkedWrite, block: open });
  strictEqual(begun.bookmark, undefined);
  strictEqual((await begun.open!.end("commit")).bookmark, bookmark("100"));
});
