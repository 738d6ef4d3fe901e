import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Transaction, TransactionResult } from "../../../../src/database/transaction.ts";
import type { Database } from "../../../../src/database/database.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import type { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { deferred } from "../../../../src/base/lib/deferred.ts";
import { ChangeReader } from "../../../../src/wings/live/reader.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const empty = { length: 0, content: new Uint8Array(0) };

/** A reader, and a database that the test changes. */
async function stage() {
  const clock = fakeClock();
  const events: string[] = [];
  const state = {
    /** Null while the database is away. */
    snapshot: "10:12:10" as string | null,
    epoch: "5",
    records: [] as readonly (readonly [number, string | null])[],
    isNeeded: true,
    /** Delays the answers. */
    stall: Promise.resolve(),
  };
  const transaction = async (transaction: Transaction): Promise<TransactionResult> => {
    await state.stall;
    const { text, params } = transaction.statements.at(-1)!;
    if (state.snapshot === null) throw errors.connectionLost(null);
    const isRenewal = text.includes("renew");
    if (isRenewal) events.push(`renew ${params[0]}`);
    const json = JSON.stringify([...state.records, [0, state.epoch]]);
    const rows = isRenewal ? [] : [[state.snapshot, json]];
    return { end: "commit", columns: [], body: empty, rows: [rows] };
  };
  const reader = new ChangeReader({
    database: { transaction } as Pick<Database, "transaction"> as Database,
    intervalMs: () => 100,
    groups: {
      get size() {
        return state.isNeeded ? 1 : 0;
      },
      record: (records) => void events.push(`found ${[...records.keys()]}`),
      markAll: () => void events.push("missed"),
    },
    now: clock.now,
    schedule: clock.schedule,
    onFailure: (thrown) => void events.push(`${(thrown as ServiceError).fields.message}`),
  });
  const take = () => events.splice(0);
  await reader.start();
  await settled();
  return { clock, reader, state, take };
}

Deno.test("a reader begins anew when transactions that had not seen it have ended", async () => {
  const { clock, state, take } = await stage();
  deepStrictEqual(take(), ["renew null", "missed"]);
  state.snapshot = "11:13:11";
  state.records = [[16_384, "a"], [16_384, null], [16_385, null]];
  await clock.pass(100);
  deepStrictEqual(take(), ["found 16384,16385"]);
  state.records = [];
  state.snapshot = "12:14:";
  await clock.pass(100);
  deepStrictEqual(take(), ["missed"]);
  await clock.pass(100);
  deepStrictEqual(take(), []);
});

Deno.test("a reader renews each 5 s by the poll 5 s ago", async () => {
  const { clock, state, take } = await stage();
  take();
  state.snapshot = "11:20:";
  await clock.pass(4900);
  deepStrictEqual(take(), []);
  await clock.pass(100);
  deepStrictEqual(take(), ["renew 10:12:10"]);
  await clock.pass(5000);
  deepStrictEqual(take(), ["renew 11:20:"]);
});

/** Why records may be lost. */
const losses = [
  ["a failed poll", async ({ clock, state }) => {
    state.snapshot = null;
    await clock.pass(100);
    await clock.pass(500);
    state.snapshot = "10:12:10";
    await clock.pass(250);
  }, "Database client error. Retrying the connection."],
  ["a crash that no poll has seen", async ({ clock, state }) => {
    state.epoch = "6";
    await clock.pass(100);
  }],
  ["a gap of more than 4 s", async ({ clock, reader, state }) => {
    state.isNeeded = false;
    await clock.pass(4101);
    state.isNeeded = true;
    await reader.start();
  }],
] as const satisfies readonly (readonly [
  string,
  (parts: Awaited<ReturnType<typeof stage>>) => Promise<void>,
  ...reported: string[],
])[];

for (const [label, lose, ...reported] of losses) {
  Deno.test(`a reader begins anew behind ${label}`, async () => {
    const parts = await stage();
    parts.take();
    await lose(parts);
    deepStrictEqual(parts.take(), [...reported, "renew null", "missed"]);
  });
}

Deno.test("a reader does not poll without groups, and continues within 4 s", async () => {
  const { clock, reader, state, take } = await stage();
  take();
  state.isNeeded = false;
  await clock.pass(3000);
  state.isNeeded = true;
  await reader.start();
  deepStrictEqual([take(), reader.isReading], [[], true]);
  reader.close();
  strictEqual(reader.isReading, false);
});

for (const seconds of [3, 5, 60]) {
  Deno.test(`a start waits for a poll that takes ${seconds} s, and finds that changes are read`, async () => {
    const { clock, reader, state, take } = await stage();
    take();
    const stall = deferred<void>();
    state.stall = stall.promise;
    await clock.pass(4200 + 1000 * seconds);
    let hasStarted = false;
    const start = reader.start().then(() => void (hasStarted = true));
    await settled();
    deepStrictEqual([hasStarted, reader.isReading], [false, false]);
    stall.resolve();
    await start;
    strictEqual(reader.isReading, true);
    deepStrictEqual(take(), ["renew null", "missed"]);
    await clock.pass(200);
    deepStrictEqual([take(), reader.isReading], [[], true]);
  });
}
