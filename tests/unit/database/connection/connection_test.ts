import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type {
  ReadTransaction,
  Statement,
  WriteTransaction,
} from "../../../../src/database/transaction.ts";
import { DatabaseError } from "../../../../src/base/errors/service_error.ts";
import {
  executed,
  failure,
  fakeServer,
  FakeTransport,
  frame,
  join,
  readSent,
  ready,
  row,
  terminated,
} from "../../../support/database/fake_backend.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import {
  begun,
  block,
  blockRead,
  blockWrite,
  FakeConnection,
  implicitRead,
  implicitWrite,
  main,
  outcomesOf,
  settings,
} from "../../../support/database/fake_connection.ts";

const text = new TextDecoder();
const answer = row("1", null, "body");

function open(options: ConstructorParameters<typeof FakeConnection>[0] = {}): FakeConnection {
  const opened = new FakeConnection(options);
  opened.transport.reply = fakeServer({ rowsOf: (sql) => sql === "select main" ? answer : null });
  return opened;
}

function types(bytes: Uint8Array | undefined): string {
  return readSent(bytes ?? new Uint8Array()).map(({ type }) => type).join("");
}

Deno.test("Connection.execute() sends a whole transaction in one write", async () => {
  const { connection, transport, run, log } = open();
  const { columns, body, end } = await run(blockRead);
  deepStrictEqual(columns, ["1", null]);
  strictEqual(text.decode(body.content as Uint8Array), "body");
  strictEqual(end, "commit");
  strictEqual(transport.writes.length, 1);
  deepStrictEqual(transport.sent[0]!.filter(({ type }) => type === "P").map(({ text }) => text), [
    "begin isolation level read committed read only",
    "select settings",
    "select main",
    "commit",
  ]);
  strictEqual(connection.state, "idle");
  deepStrictEqual(log, ["success: 4", "idle"]);
});

const forms: readonly (readonly [
  name: string,
  transaction: ReadTransaction | WriteTransaction,
  texts: readonly string[],
])[] = [
  ["an implicit read", implicitRead, []],
  ["an implicit write", implicitWrite, []],
  ["a write in a block", blockWrite, ["begin isolation level read committed read write", "commit"]],
  [
    "a serializable read that is rolled back",
    { ...blockRead, block: { ...block, isolation: "serializable", end: "rollback" } },
    ["begin isolation level serializable read only", "rollback"],
  ],
  [
    "a repeatable read",
    { ...blockRead, block: { ...block, isolation: "repeatable read" } },
    ["begin isolation level repeatable read read only", "commit"],
  ],
];

for (const [name, transaction, [begin, end]] of forms) {
  Deno.test(`Connection.execute() delimits ${name}`, async () => {
    const { transport, run } = open();
    strictEqual((await run(transaction)).end, end ?? "commit");
    const texts = transport.sent[0]!.filter(({ type }) => type === "P").map(({ text }) => text);
    const expected = ["select settings", "select main"];
    deepStrictEqual(texts, begin === undefined ? expected : [begin, ...expected, end]);
    strictEqual(transport.sent[0]!.filter(({ type }) => type === "S").length, 1);
  });
}

Deno.test("Connection.execute() prepares a statement once", async () => {
  const { transport, run } = open();
  for (let time = 0; time < 2; time++) await run(blockRead);
  strictEqual(types(transport.writes[0]), "PBEPBEPBEPBES");
  strictEqual(types(transport.writes[1]), "BEBEBEBES");
});

Deno.test("Connection.execute() without preparing uses the unnamed statement, a block and no setup", async () => {
  const { transport, run } = open({ prepare: false, setup: "set jit = off" });
  for (let time = 0; time < 2; time++) {
    await run(implicitRead);
  }
  for (const sent of transport.sent) {
    strictEqual(sent.map(({ type }) => type).join(""), "PBEPBEPBEPBES");
    ok(sent.every(({ name }) => name === undefined || name === ""));
  }
});

Deno.test("Connection.execute() closes the least recently used statements", async () => {
  const { transport, run } = open();
  for (const name of ["a", "b", "c"]) {
    await run({ ...blockRead, statements: [{ ...settings, text: `select ${name}` }, main] });
  }
  strictEqual(types(transport.writes[1]), "BEPBEBEBES");
  // Five are prepared after the second transaction; 90 % of four are kept: "select a" and BEGIN go.
  strictEqual(types(transport.writes[2]), "CCPBEPBEBEBES");
});

Deno.test("Connection.execute() prepares statements for each context, unless they are shared", async () => {
  const { transport, run } = open({ preparedLimit: 10 });
  const statements = [{ ...settings, isShared: true }, main];
  const transaction: ReadTransaction = { ...blockRead, statements, block: null };
  for (const planContext of ["one", "other", "one"]) await run({ ...transaction, planContext });
  deepStrictEqual(transport.writes.map(types), ["PBEPBES", "BEPBES", "BEBES"]);
});

Deno.test("Connection.execute() forgets a statement whose Parse failed and rolls back", async () => {
  const { connection, transport, execute } = new FakeConnection();
  const steps = [
    join(begun, failure("42501", "permission denied"), ready("E")),
    join(executed("ROLLBACK"), ready("I")),
  ];
  transport.reply = () => steps.shift() ?? null;
  const error = await execute(blockRead)[0]!.catch((error: unknown) => error);
  ok(error instanceof DatabaseError);
  deepStrictEqual(error.failure, {
    sqlstate: "42501",
    message: "permission denied",
    detail: null,
    hint: null,
  });
  strictEqual(error.statement, 1);
  await settled();
  strictEqual(connection.state, "idle");
  strictEqual(types(transport.writes[1]), "PBES");
  execute(blockRead);
  // BEGIN and the settings are known; the main statement and COMMIT never got that far.
  strictEqual(types(transport.writes[2]), "BEBEPBEPBES");
});

const losses: readonly (readonly [string, (transport: FakeTransport) => void])[] = [
  ["the socket closes", (transport) => transport.lose("reset")],
  [
    "the server speaks another protocol",
    (transport) => transport.tell(new Uint8Array([0, 0, 0, 0, 0])),
  ],
  ["the server starts COPY", (transport) => transport.tell(frame("G", [0, 0, 0]))],
  [
    "the transaction stays open after its end",
    (transport) => transport.tell(join(executed("BEGIN"), ready("T"))),
  ],
];

Deno.test("Connection rejects with 001 when it cannot be used any more", async (t) => {
  for (const [name, happens] of losses) {
    await t.step(name, async () => {
      const { connection, transport, execute, log } = new FakeConnection();
      const replies = execute(blockWrite);
      happens(transport);
      deepStrictEqual(await outcomesOf(replies), ["001"]);
      strictEqual(connection.state, "closed");
      strictEqual(log.length, 1);
      deepStrictEqual(await outcomesOf(execute(blockWrite)), ["001"]);
    });
  }
});

Deno.test("Connection rejects with the server's fatal error rather than the loss after it", async () => {
  const { transport, execute } = new FakeConnection();
  const replies = execute(blockWrite);
  transport.tell(begun);
  transport.tell(terminated);
  transport.lose("reset");
  deepStrictEqual(await outcomesOf(replies), ["57P01"]);
});

Deno.test("Connection closes when the server ends it while it is idle", async () => {
  const { connection, transport, run, log } = open();
  await run(blockRead);
  transport.tell(failure("57P05", "idle session timeout", { severity: "FATAL" }));
  strictEqual(connection.state, "closed");
  deepStrictEqual(log.slice(2), ["closed: idle session timeout"]);
});

/** What the server has sent of a write when it terminates the connection. */
const committed = join(begun, executed("INSERT 0 1", answer), executed("COMMIT"));
const implicit = join(executed("SELECT 1"), executed("INSERT 0 1", answer));
const terminations: readonly (readonly [
  name: string,
  form: "block" | "implicit",
  before: Uint8Array,
  outcome: string,
])[] = [
  ["after COMMIT", "block", committed, "1,"],
  ["before COMMIT", "block", join(begun, executed("INSERT 0 1", answer)), "57P01"],
  ["before the Sync that commits", "implicit", implicit, "57P01"],
];

for (const [name, form, before, outcome] of terminations) {
  Deno.test(`Connection settles a write whose server ends ${name}`, async () => {
    const { connection, transport, execute } = new FakeConnection();
    const delimiters = form === "block" ? block : null;
    const replies = execute({ ...blockWrite, block: delimiters });
    transport.tell(before);
    transport.tell(terminated);
    transport.lose("reset");
    deepStrictEqual(await outcomesOf(replies), [outcome]);
    strictEqual(connection.state, "closed");
  });
}

Deno.test("Connection rejects an implicit write that is lost before its Sync is confirmed", async () => {
  const { transport, execute } = new FakeConnection();
  const replies = execute(implicitWrite);
  transport.tell(implicit);
  transport.lose("reset");
  deepStrictEqual(await outcomesOf(replies), ["001"]);
});

Deno.test("Connection keeps the rows of statements that want them", async () => {
  const opened = new FakeConnection();
  const two = join(row("1", "a"), row(null, "b"));
  opened.transport.reply = fakeServer({ rowsOf: (sql) => sql === "explain" ? two : null });
  const explain: Statement = { text: "explain", params: [], use: "rows" };
  const { rows } = await opened.run({ ...blockRead, statements: [settings, explain] });
  deepStrictEqual(rows, [[], [["1", "a"], [null, "b"]]]);
});

Deno.test("Connection.execute() does not keep a very long statement prepared", async () => {
  const { transport, run } = open();
  const long = { ...settings, text: `select '${"x".repeat(10_000)}'` };
  for (let time = 0; time < 2; time++) await run({ ...blockRead, statements: [long, main] });
  deepStrictEqual(
    transport.sent[1]!.filter(({ type }) => type === "P").map(({ name }) => name),
    [""],
  );
});

Deno.test("Connection sends its setup with the first transaction and ignores its errors", async () => {
  const opened = new FakeConnection({ setup: "set jit = off" });
  const refusal = failure("42501", "no right to set");
  opened.transport.reply = fakeServer({
    errorOf: (sql) => sql === "set jit = off" ? refusal : null,
  });
  for (let time = 0; time < 2; time++) strictEqual((await opened.run(blockRead)).columns[0], "1");
  strictEqual(types(opened.transport.writes[0]), "QPBEPBEPBEPBES");
  strictEqual(types(opened.transport.writes[1]), "BEBEBEBES");
});

Deno.test("Connection requeues a transaction when the server ends the connection during its setup", async () => {
  const opened = new FakeConnection({ setup: "set jit = off" });
  const replies = opened.execute(blockRead);
  opened.transport.tell(terminated);
  opened.transport.lose("reset");
  deepStrictEqual(await outcomesOf(replies), ["waits"]);
  strictEqual(opened.requeued.length, 1);
});

Deno.test("Connection.cancel() asks the server only while a transaction runs", async () => {
  const { connection, transport, execute } = new FakeConnection();
  connection.cancel();
  deepStrictEqual(transport.log, []);
  const replies = execute(blockRead);
  connection.cancel();
  deepStrictEqual(transport.log, ["cancel"]);
  transport.tell(join(begun, failure("57014", "canceling statement"), ready("I")));
  deepStrictEqual(await outcomesOf(replies), ["57014"]);
});
