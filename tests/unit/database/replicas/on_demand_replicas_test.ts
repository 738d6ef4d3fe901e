import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Batch } from "../../../../src/database/batch.ts";
import { createOnDemandReplicas } from "../../../../src/database/replicas/on_demand_replicas.ts";
import { errors } from "../../../../src/errors/catalogue.ts";
import { codeOf } from "../../../support/fake_connection.ts";
import {
  bookmarkedWrite,
  databaseError,
  fakeEpochMs,
  FakeServer,
  standbyRead,
} from "../../../support/fake_replicas.ts";

type Servers = readonly [primary: FakeServer, first: FakeServer, second: FakeServer];

function open(fallback: "primary" | "error" = "primary") {
  const servers: Servers = [
    new FakeServer("primary", false),
    new FakeServer("standby0", true),
    new FakeServer("standby1", true),
  ];
  const [primary, ...standbys] = servers;
  const database = createOnDemandReplicas({
    primary: primary.database,
    standbys: standbys.map((server) => server.database),
    settings: { maxLagMs: 10_000, waitMs: 100, fallback },
    random: () => 0,
    now: () => fakeEpochMs,
  });
  return { database, servers };
}

const bookmark = "1-0000000000000080";
const refusal = databaseError("22012", -1);

const rows: readonly (readonly [
  name: string,
  batch: Batch,
  errors: readonly [first: unknown, second: unknown],
  by: string,
])[] = [
  ["a read", standbyRead(), [null, null], "standby0"],
  ["a read with a bookmark", standbyRead(bookmark), [null, null], "standby0"],
  [
    "a read whose first standby is down",
    standbyRead(),
    [errors.cannotConnect(null), null],
    "standby1",
  ],
  ["a read whose first standby is behind", standbyRead(bookmark), [refusal, null], "standby1"],
  ["a read that no standby can execute", standbyRead(bookmark), [refusal, refusal], "primary"],
  ["a read with a malformed bookmark", standbyRead("?"), [null, null], "primary"],
  ["a read with a young time", standbyRead(`t-${fakeEpochMs - 9999}`), [null, null], "primary"],
  ["a read with an old time", standbyRead(`t-${fakeEpochMs - 10_001}`), [null, null], "standby0"],
  ["a read with an error of its own", standbyRead(), [databaseError("22P02"), null], "22P02"],
  ["a write", bookmarkedWrite, [null, null], "primary"],
];
for (const [name, batch, [first, second], by] of rows) {
  Deno.test(`OnDemandReplicas.transaction() executes ${name}: ${by}`, async () => {
    const { database, servers } = open();
    servers[1].error = first;
    servers[2].error = second;
    const result = await database.transaction(batch).then(({ columns }) => columns[0], codeOf);
    strictEqual(result, by);
  });
}

Deno.test("OnDemandReplicas.transaction() has a standby check position and timeline", async () => {
  const { database, servers } = open();
  const { bookmark: answer } = await database.transaction(standbyRead(bookmark));
  deepStrictEqual(servers[1].batches[0]!.walPosition, {
    condition: { min: 0x80n, timeline: 1 },
    returned: "replayed",
  });
  strictEqual(answer, "1-0000000000000100");
});

Deno.test("OnDemandReplicas.transaction() gives writes a position, and streams a time", async () => {
  const { database, servers } = open();
  strictEqual((await database.transaction(bookmarkedWrite)).bookmark, "1-0000000000000100");
  for (const server of servers) server.streams = true;
  strictEqual((await database.transaction(standbyRead(bookmark))).bookmark, `t-${fakeEpochMs}`);
});

Deno.test("OnDemandReplicas.transaction() fails without a fit standby if the fallback is an error", async () => {
  const { database, servers } = open("error");
  servers[1].error = servers[2].error = errors.cannotConnect(null);
  strictEqual(await database.transaction(standbyRead()).then(() => "", codeOf), "000");
});
