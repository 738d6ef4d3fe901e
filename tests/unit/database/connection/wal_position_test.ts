/** Positions in the write-ahead log: their check before a transaction, and their reading behind it. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Transaction } from "../../../../src/database/transaction.ts";
import { positionCheck, positionStatement } from "../../../../src/database/wal_position.ts";
import { DatabaseError } from "../../../../src/base/errors/service_error.ts";
import {
  failure,
  fakeServer,
  type FakeServerOptions,
  row,
  terminated,
} from "../../../support/database/fake_backend.ts";
import {
  block,
  blockRead,
  blockWrite,
  FakeConnection,
  implicitRead,
} from "../../../support/database/fake_connection.ts";

const position = ["0/4988A10", "000000010000000000000004", "8192", "16777216"] as const;
const check = positionCheck(1n).text;
const reading = positionStatement.text;

function open(options: FakeServerOptions = {}): FakeConnection {
  const opened = new FakeConnection();
  opened.transport.reply = fakeServer({
    rowsOf: (sql) =>
      sql === "select main" ? row("1", "x") : sql === reading ? row(...position) : null,
    ...options,
  });
  return opened;
}

const both = { walPosition: { minReplayed: 1n, isReturned: true } };
const returned = { walPosition: { minReplayed: null, isReturned: true } };
const readOnly = "begin isolation level read committed read only";
const readWrite = "begin isolation level read committed read write";

const rows:
  readonly (readonly [name: string, transaction: Transaction, texts: readonly string[]])[] = [
    ["an implicit read", { ...implicitRead, ...both }, [
      check,
      "select settings",
      "select main",
      reading,
    ]],
    ["a read in a block", { ...blockRead, ...both }, [
      readOnly,
      check,
      "select settings",
      "select main",
      "commit",
      reading,
    ]],
    [
      "a repeatable read, whose snapshot the check must precede",
      { ...blockRead, ...both, block: { ...block, isolation: "repeatable read" } },
      [
        readOnly,
        check,
        "commit",
        "begin isolation level repeatable read read only",
        "select settings",
        "select main",
        // The second COMMIT is prepared already.
        reading,
      ],
    ],
    ["a write, behind its commit record", { ...blockWrite, ...returned }, [
      readWrite,
      "select settings",
      "select main",
      "commit",
      reading,
    ]],
  ];

for (const [name, transaction, texts] of rows) {
  Deno.test(`Connection.execute() checks and reads positions in one write for ${name}`, async () => {
    const { run, transport, log } = open();
    const result = await run(transaction);
    deepStrictEqual(transport.sent.flat().flatMap(({ text }) => text ?? []), texts);
    strictEqual(transport.writes.length, 1);
    deepStrictEqual(result.walPosition, { lsn: 0x4988a10n, shownLsn: 0x4988a10n, timeline: 1 });
    deepStrictEqual(result.columns, ["1"]);
    deepStrictEqual(log.at(-1), "idle");
  });
}

Deno.test("Connection.execute() reads no position behind a rollback", async () => {
  const { run, transport } = open();
  const result = await run({
    ...blockWrite,
    ...returned,
    block: { ...block, end: "rollback" },
  });
  strictEqual(result.walPosition, undefined);
  strictEqual(transport.sent.flat().some(({ text }) => text === reading), false);
});

for (const end of ["commit", "rollback"] as const) {
  Deno.test(`OpenTransaction.end() with ${end} reads a position only behind COMMIT`, async () => {
    const { execute } = open();
    const [begun] = execute({
      ...blockWrite,
      ...returned,
      block: { ...block, end: "open" },
    });
    const { open: transaction, walPosition } = await begun!;
    strictEqual(walPosition, undefined);
    const result = await transaction!.end(end);
    strictEqual(result.end, end);
    strictEqual(result.walPosition !== undefined, end === "commit");
  });
}

Deno.test("Connection.execute() gives a failed check a place before the first statement", async () => {
  const { execute, log } = open({
    errorOf: (sql) =>
      sql === check ? failure("42704", 'unrecognized parameter "svc(position)"') : null,
  });
  const [promise] = execute({ ...implicitRead, ...both });
  await rejects(promise!, (error) => error instanceof DatabaseError && error.statement === -1);
  deepStrictEqual(log, ["failure: null", "idle"]);
});

for (
  const [name, error] of [["an error", failure("42501", "denied")], ["an end", terminated]] as const
) {
  for (const [kind, transaction] of [["write", blockWrite], ["read", implicitRead]] as const) {
    Deno.test(`Connection.execute() resolves a ${kind} although its position fails by ${name}`, async () => {
      const { run } = open({ errorOf: (sql) => sql === reading ? error : null });
      const result = await run({ ...transaction, ...returned });
      strictEqual(result.walPosition, undefined);
      deepStrictEqual(result.columns, ["1"]);
    });
  }
}

Deno.test("Connection.execute() repeats an implicit read on other defaults behind the check", async () => {
  let refusals = 1;
  const { run, transport } = open({
    errorOf: (sql) =>
      sql === "select settings" && refusals-- > 0 ? failure("25001", "other defaults") : null,
  });
  deepStrictEqual((await run({ ...implicitRead, ...both })).walPosition, {
    lsn: 0x4988a10n,
    shownLsn: 0x4988a10n,
    timeline: 1,
  });
  strictEqual(transport.writes.length, 2);
});
