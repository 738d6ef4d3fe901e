import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Transaction } from "../../../../src/database/transaction.ts";
import {
  bindComplete,
  complete,
  executed,
  failure,
  fakeServer,
  join,
  longRow,
  parseComplete,
  ready,
  row,
  terminated,
} from "../../../support/database/fake_backend.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import {
  blockRead,
  blockWrite,
  codeOf,
  FakeConnection,
  implicitRead,
  implicitWrite,
  main,
  outcomesOf,
  settings,
} from "../../../support/database/fake_connection.ts";

const answer = row("1", "x");
/** The replies to an implicit transaction. */
const succeeded = join(executed("SELECT 1"), executed("SELECT 1", answer), ready("I"));
const known = join(
  bindComplete,
  complete("SELECT 1"),
  bindComplete,
  answer,
  complete("SELECT 1"),
  ready("I"),
);
const poolerGone = failure("57P01", "shutting down", { severity: "FATAL" });
/** Raised by a function of the database. */
const raised = failure("57P01", "not today", { severity: "ERROR", routine: "exec_stmt_raise" });

const kinds: readonly (readonly [name: string, transaction: Transaction])[] = [
  ["reads", implicitRead],
  ["writes", implicitWrite],
];

for (const [name, transaction] of kinds) {
  Deno.test(`Connection.execute() sends several ${name} in one write, each with a Sync`, async () => {
    const { transport, execute, log } = new FakeConnection();
    transport.reply = fakeServer();
    deepStrictEqual(await outcomesOf(execute(transaction, transaction, transaction)), [
      "1",
      "1",
      "1",
    ]);
    strictEqual(transport.writes.length, 1);
    strictEqual(transport.sent[0]!.filter(({ type }) => type === "S").length, 3);
    deepStrictEqual(log, ["success: 1", "success: 1", "success: 1", "idle"]);
  });

  Deno.test(`Connection.execute() rejects the one of several ${name} that fails`, async () => {
    const { transport, execute, run, log } = new FakeConnection();
    const isFailing = (sql: string) => sql === "select failing";
    transport.reply = fakeServer({
      errorOf: (sql) => isFailing(sql) ? failure("22P02", "") : null,
    });
    await run(transaction);
    const statements = [settings, { ...main, text: "select failing" }];
    const replies = execute(transaction, { ...transaction, statements }, transaction, transaction);
    deepStrictEqual(await outcomesOf(replies), ["1", "22P02", "1", "1"]);
    strictEqual(transport.writes.length, 2);
    deepStrictEqual(log.slice(2), [
      "success: 1",
      "failure: null",
      "success: 1",
      "success: 1",
      "idle",
    ]);
  });

  Deno.test(`Connection executes ${name} behind one that fails before their statements are prepared`, async () => {
    const { transport, execute, run } = new FakeConnection();
    let failures = 1;
    const isFailing = (sql: string) => sql === "select check()" && failures-- > 0;
    transport.reply = fakeServer({
      errorOf: (sql) => isFailing(sql) ? failure("42501", "") : null,
    });
    const check = { ...settings, text: "select check()", runsUserCode: true };
    const checked: Transaction = { ...transaction, statements: [settings, check, main] };
    const replies = execute(checked, checked, checked);
    deepStrictEqual(await outcomesOf(replies), ["42501", "1", "1"]);
    strictEqual(transport.writes.length, 1);
    // The first transaction has prepared the first two statements; now the third is prepared.
    await run(checked);
    await run(checked);
    deepStrictEqual(transport.sent.slice(1).map((sent) => sent.map(({ type }) => type).join("")), [
      "BEBEPBES",
      "BEBEBES",
    ]);
  });

  Deno.test(`Connection prepares the statements of several ${name} once`, async () => {
    const { transport, execute, run } = new FakeConnection();
    transport.reply = fakeServer();
    const twice: Transaction = { ...transaction, statements: [settings, settings, main] };
    deepStrictEqual(await outcomesOf(execute(twice, twice)), ["1", "1"]);
    deepStrictEqual(
      transport.sent[0]!.filter(({ type }) => type === "P").map(({ name }) => name),
      ["s1", "s2", "", "", ""],
    );
    await run(twice);
    strictEqual(transport.sent[1]!.map(({ type }) => type).join(""), "BEBEBES");
  });

  Deno.test(`Connection settles ${name} as their replies arrive`, async () => {
    const { transport, execute } = new FakeConnection();
    const replies = execute(transaction, transaction);
    transport.tell(succeeded);
    deepStrictEqual(await outcomesOf(replies), ["1", "waits"]);
    transport.tell(known);
    deepStrictEqual(await outcomesOf(replies), ["1", "1"]);
  });
}

interface Loss {
  readonly name: string;
  readonly transaction: Transaction;
  readonly before: readonly Uint8Array[];
  readonly outcomes: readonly string[];
  readonly requeued: number;
}

const losses: readonly Loss[] = [
  {
    name: "requeues the reads behind the running one",
    transaction: implicitRead,
    before: [],
    outcomes: ["001", "waits", "waits"],
    requeued: 2,
  },
  {
    name: "requeues no read that has effects",
    transaction: { ...implicitRead, retry: "never" },
    before: [],
    outcomes: ["001", "001", "001"],
    requeued: 0,
  },
  {
    name: "keeps the result of a read that is finished",
    transaction: implicitRead,
    before: [succeeded],
    outcomes: ["1", "001", "waits"],
    requeued: 1,
  },
  {
    name: "keeps the result of a read that lacks its ReadyForQuery alone",
    transaction: implicitRead,
    before: [succeeded.subarray(0, -6)],
    outcomes: ["1", "waits", "waits"],
    requeued: 2,
  },
  {
    name: "rejects all writes that are not finished",
    transaction: implicitWrite,
    before: [succeeded],
    outcomes: ["1", "001", "001"],
    requeued: 0,
  },
  {
    name: "rejects the running write alone when the server says that it ends the connection",
    transaction: implicitWrite,
    before: [parseComplete, bindComplete, terminated],
    outcomes: ["57P01", "waits", "waits"],
    requeued: 2,
  },
  {
    name: "requeues the running write when the server ends the connection before it executes it",
    transaction: implicitWrite,
    before: [parseComplete, terminated],
    outcomes: ["waits", "waits", "waits"],
    requeued: 3,
  },
  {
    name: "rejects all writes when a pooler says that it ends the connection",
    transaction: implicitWrite,
    before: [poolerGone],
    outcomes: ["57P01", "001", "001"],
    requeued: 0,
  },
  {
    name: "rejects all writes after a function raised the error of an end",
    transaction: implicitWrite,
    before: [raised],
    outcomes: ["57P01", "001", "001"],
    requeued: 0,
  },
  {
    name: "rejects no write behind one that failed before the server ended the connection",
    transaction: implicitWrite,
    before: [failure("22P02", "no number"), terminated],
    outcomes: ["22P02", "waits", "waits"],
    requeued: 2,
  },
  {
    name: "rejects no write behind the one at which the server ended the connection",
    transaction: implicitWrite,
    before: [succeeded, bindComplete, terminated],
    outcomes: ["1", "57P01", "waits"],
    requeued: 1,
  },
  {
    name: "requeues a write that the server refused before it began",
    transaction: implicitWrite,
    before: [failure("25001", "must be called first")],
    outcomes: ["waits", "001", "001"],
    requeued: 1,
  },
  {
    name:
      "requeues a write that was refused before the server ended the connection, and those behind",
    transaction: implicitWrite,
    before: [failure("25001", "must be called first"), terminated],
    outcomes: ["waits", "waits", "waits"],
    requeued: 3,
  },
  {
    name: "requeues a write whose prepared statement is stale",
    transaction: implicitWrite,
    before: [failure("26000", "does not exist", { routine: "FetchPreparedStatement" })],
    outcomes: ["waits", "001", "001"],
    requeued: 1,
  },
];

for (const { name, transaction, before, outcomes, requeued } of losses) {
  Deno.test(`Connection ${name} when it is lost`, async () => {
    const opened = new FakeConnection();
    const { transport, execute, log } = opened;
    const replies = execute(transaction, transaction, transaction);
    for (const chunk of before) transport.tell(chunk);
    transport.lose("reset");
    deepStrictEqual(await outcomesOf(replies), outcomes);
    strictEqual(opened.requeued.length, requeued);
    strictEqual(log.filter((event) => event.startsWith("closed")).length, 1);
  });
}

Deno.test("Connection requeues the safe reads behind a large body", async () => {
  const opened = new FakeConnection();
  const { transport, execute, log } = opened;
  const size = 200_000;
  const replies = execute(implicitRead, implicitRead, { ...implicitRead, retry: "never" });
  transport.tell(join(executed("SELECT 1"), parseComplete, bindComplete, longRow(size)));
  deepStrictEqual(await outcomesOf(replies), ["", "waits", "waits"]);
  deepStrictEqual(log, ["requeued: 1"]);
  const { body } = await replies[0]!;
  transport.tell(new Uint8Array(size));
  transport.tell(join(complete("SELECT 1"), ready("I")));
  // The result of the requeued one is thrown away.
  transport.tell(join(known, known));
  deepStrictEqual(await outcomesOf(replies), ["", "waits", "1"]);
  const stream = body.content as ReadableStream<Uint8Array>;
  strictEqual((await new Response(stream).bytes()).length, size);
  deepStrictEqual(log.slice(-1), ["idle"]);
});

Deno.test("Connection.requeuePending() moves the safe reads behind the running one", async () => {
  const opened = new FakeConnection();
  const { connection, transport, execute } = opened;
  const replies = execute(implicitRead, implicitRead, implicitRead);
  deepStrictEqual(connection.requeuePending().length, 1);
  deepStrictEqual(opened.requeued.length, 2);
  strictEqual(connection.requeuePending().length, 1);
  transport.tell(succeeded);
  strictEqual(
    connection.requeuePending().length,
    0,
    "the results of the others are awaited elsewhere",
  );
  transport.tell(join(bindComplete, failure("22P02", "not seen here"), ready("I"), known));
  deepStrictEqual(await outcomesOf(replies), ["1", "waits", "waits"]);
  strictEqual(connection.state, "idle");
});

Deno.test("Connection.requeuePending() leaves writes where they are", async () => {
  const opened = new FakeConnection();
  const { connection, execute } = opened;
  execute(implicitWrite, implicitWrite, implicitWrite);
  strictEqual(connection.requeuePending().length, 3);
  deepStrictEqual(opened.requeued, []);
  await settled();
});

const staleErrors: readonly (readonly [sqlstate: string, routine: string, message?: string])[] = [
  ["26000", "FetchPreparedStatement"],
  ["42P05", "StorePreparedStatement", 'prepared statement "svc_1abc_1" already exists'],
  ["0A000", "RevalidateCachedQuery"],
];

for (const [sqlstate, routine, message = ""] of staleErrors) {
  const refusal = failure(sqlstate, message, { routine });
  for (const transaction of [blockRead, blockWrite, implicitRead, implicitWrite]) {
    const { access, block } = transaction;
    const form = block === null ? "implicit" : "block";
    const name = `a stale statement (${sqlstate}) of a ${form} (${access})`;
    Deno.test(`Connection retries ${name} once, with its setup`, async () => {
      const { transport, execute, run, log } = new FakeConnection({ setup: "set jit = off" });
      transport.reply = fakeServer();
      await run(transaction);
      const script = form === "block"
        ? [join(refusal, ready("E")), join(executed("ROLLBACK"), ready("I"))]
        : [join(refusal, ready("I"))];
      const renewed = fakeServer();
      transport.reply = (sent) => script.shift() ?? renewed(sent);
      deepStrictEqual(await outcomesOf(execute(transaction)), ["1"]);
      const types = transport.sent.at(-1)!.map(({ type }) => type).join("");
      strictEqual(types, form === "block" ? "QCCCCPBEPBEPBEPBES" : "QCCPBEPBES");
      strictEqual(log.includes(`forgotten: ${sqlstate}`), sqlstate !== "0A000");
    });
  }
}

Deno.test("Connection rejects a transaction whose statements are stale at the second attempt", async () => {
  const { transport, execute, log } = new FakeConnection();
  transport.reply = () => join(failure("26000", "does not exist"), ready("I"));
  deepStrictEqual(await outcomesOf(execute(implicitWrite)), ["26000"]);
  strictEqual(transport.writes.length, 2);
  deepStrictEqual(log.at(-1), "idle");
});

Deno.test("Connection without prepared statements retries without its setup", async () => {
  const { transport, execute } = new FakeConnection({ prepare: false, setup: "set jit = off" });
  const server = fakeServer();
  const script = [
    join(executed("BEGIN"), failure("26000", "does not exist"), ready("E")),
    join(executed("ROLLBACK"), ready("I")),
  ];
  transport.reply = (sent) => script.shift() ?? server(sent);
  deepStrictEqual(await outcomesOf(execute(implicitRead)), ["1"]);
  strictEqual(transport.sent.at(-1)!.map(({ type }) => type).join(""), "PBEPBEPBEPBES");
});

Deno.test("Connection retries transactions one at a time, after all that were sent with them", async () => {
  const { transport, execute, run } = new FakeConnection({ setup: "set jit = off" });
  transport.reply = fakeServer();
  await run(implicitWrite);
  const otherDefaults = join(bindComplete, failure("25001", "must be called first"), ready("I"));
  const script = [join(otherDefaults, otherDefaults, known)];
  const server = transport.reply;
  transport.reply = (sent) => script.shift() ?? server(sent);
  const replies = execute(implicitWrite, implicitWrite, implicitWrite);
  deepStrictEqual(await outcomesOf(replies), ["1", "1", "1"]);
  deepStrictEqual(transport.sent.slice(2).map((sent) => sent.map(({ type }) => type).join("")), [
    "QPBEPBES",
    "QPBEPBES",
  ]);
  const names = transport.sent.slice(2).flat().flatMap(({ type, name }) =>
    type === "B" ? [name] : []
  );
  deepStrictEqual(names, ["", "", "", ""]);
});

Deno.test("Connection.requeuePending() moves what is to be retried, a write as well", async () => {
  const opened = new FakeConnection();
  const { connection, transport, execute } = opened;
  const replies = execute(implicitWrite, implicitWrite);
  transport.tell(join(parseComplete, bindComplete, failure("25001", ""), ready("I")));
  strictEqual(connection.requeuePending().length, 1);
  strictEqual(opened.requeued.length, 1);
  transport.tell(succeeded);
  deepStrictEqual(await outcomesOf(replies), ["waits", "1"]);
  strictEqual(transport.writes.length, 1);
  strictEqual(connection.state, "idle");
});

Deno.test("Connection requeues what is to be retried when it is lost", async () => {
  const opened = new FakeConnection();
  const { transport, execute } = opened;
  const replies = execute(implicitWrite, implicitWrite);
  transport.tell(join(parseComplete, bindComplete, failure("25001", ""), ready("I")));
  transport.lose("reset");
  deepStrictEqual(await outcomesOf(replies), ["waits", "001"]);
  strictEqual(opened.requeued.length, 1);
});

Deno.test("Connection forgets stale statements with the next write, not while one is under way", async () => {
  const { transport, execute, run } = new FakeConnection();
  transport.reply = fakeServer();
  await run(blockRead);
  transport.reply = () => null;
  const replies = execute(blockRead);
  transport.tell(failure("26000", "does not exist"));
  strictEqual(transport.writes.length, 2);
  transport.tell(ready("E"));
  strictEqual(transport.sent[2]!.map(({ type }) => type).join(""), "PBES");
  transport.tell(join(executed("ROLLBACK"), ready("I")));
  strictEqual(transport.sent[3]!.map(({ type }) => type).join(""), "CCCCPBEPBEPBEPBES");
  transport.lose("reset");
  strictEqual(await replies[0]!.catch(codeOf), "001");
});

Deno.test("Connection relies behind functions on no statement older than those before them", async () => {
  const { transport, run } = new FakeConnection({ preparedLimit: 10 });
  transport.reply = fakeServer();
  const write = (start: string, call: string): Transaction => ({
    ...implicitWrite,
    statements: [
      { ...settings, text: start },
      { ...main, text: call, runsUserCode: true },
      { ...settings, text: "select check()" },
    ],
  });
  await run(write("select 1", "select f()"));
  // A function may deallocate all of it.
  await run(write("select 2", "select g()"));
  await run(write("select 1", "select f()"));
  await run(write("select 2", "select h()"));
  await run(write("select 2", "select h()"));
  deepStrictEqual(
    transport.sent.map((sent) => sent.map(({ type, name }) => `${type}${name ?? ""}`).join(" ")),
    [
      "Ps1 Bs1 E Ps2 Bs2 E Ps3 Bs3 E S",
      "Ps4 Bs4 E Ps5 Bs5 E Ps6 Bs6 E S",
      "Cs3 Bs1 E Bs2 E Bs6 E S",
      "Bs4 E Ps7 Bs7 E Bs6 E S",
      "Bs4 E Bs7 E Bs6 E S",
    ],
  );
});
