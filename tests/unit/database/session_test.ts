import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { Batch, Statement } from "../../../src/database/database.ts";
import { Session } from "../../../src/database/session.ts";
import { DatabaseError, ServiceError } from "../../../src/errors/service_error.ts";
import {
  bindComplete,
  complete,
  failure,
  FakeTransport,
  frame,
  int32,
  join,
  parseComplete,
  readSent,
  ready,
  row,
  wellBehaved,
} from "../../support/fake_backend.ts";

const text = new TextDecoder();
const main: Statement = { text: "select main", params: [], use: "answer" };
const settings: Statement = { text: "select settings", params: ["a"], use: "none" };
const reading: Batch = {
  access: "read only",
  isolation: "read committed",
  statements: [settings, main],
  end: "commit",
  stream: true,
};
const writing: Batch = { ...reading, access: "read write", stream: false };

/** The time that sessions see. */
const now = { ms: 0 };

function open(prepare = true): {
  readonly transport: FakeTransport;
  readonly session: Session;
  readonly closed: string[];
} {
  const transport = new FakeTransport();
  const closed: string[] = [];
  const session = new Session(
    transport,
    { prepare, preparedLimit: 4, now: () => now.ms },
    (reason) => closed.push(reason),
  );
  return { transport, session, closed };
}

const answer = row("1", null, "body");
const isMain = (sql: string) => sql === "select main";

function types(bytes: Uint8Array | undefined): string {
  return readSent(bytes ?? new Uint8Array()).map(({ type }) => type).join("");
}

Deno.test("Session.run sends a whole transaction in one write", async () => {
  const { transport, session } = open();
  transport.reply = wellBehaved(answer, isMain);
  const { reply, done } = session.run(reading);
  const { head, body } = await reply;
  await done;
  deepStrictEqual(head, ["1", null]);
  strictEqual(text.decode(body.content as Uint8Array), "body");
  strictEqual(transport.writes.length, 1);
  deepStrictEqual(
    readSent(transport.writes[0]!).filter(({ type }) => type === "P").map(({ text }) => text),
    [
      "begin isolation level read committed read only",
      "select settings",
      "select main",
      "commit",
    ],
  );
  strictEqual(session.state, "idle");
});

Deno.test("Session.run prepares a statement once", async () => {
  const { transport, session } = open();
  transport.reply = wellBehaved(answer, isMain);
  for (let time = 0; time < 2; time++) await session.run(reading).done;
  strictEqual(types(transport.writes[0]), "PBEPBEPBEPBES");
  strictEqual(types(transport.writes[1]), "BEBEBEBES");
});

Deno.test("Session.run without preparing uses the unnamed statement only", async () => {
  const { transport, session } = open(false);
  transport.reply = wellBehaved(answer, isMain);
  for (let time = 0; time < 2; time++) await session.run(reading).done;
  for (const write of transport.writes) {
    strictEqual(types(write), "PBEPBEPBEPBES");
    ok(readSent(write).every(({ name }) => name === undefined || name === ""));
  }
});

Deno.test("Session.run closes the statements that were used longest ago", async () => {
  const { transport, session } = open();
  transport.reply = wellBehaved(answer, isMain);
  for (const name of ["a", "b", "c"]) {
    const statements = [{ ...settings, text: `select ${name}` }, main];
    await session.run({ ...reading, statements }).done;
  }
  strictEqual(types(transport.writes[1]), "BEPBEBEBES");
  // Five are prepared after the second batch and four are kept: "select a" goes first.
  strictEqual(types(transport.writes[2]), "CBEPBEBEBES");
});

Deno.test("Session.run forgets a statement whose Parse failed and rolls back", async () => {
  const { transport, session } = open();
  const steps = [
    join(
      parseComplete,
      bindComplete,
      complete("BEGIN"),
      parseComplete,
      bindComplete,
      complete("SELECT 1"),
      failure("42501", "permission denied"),
      ready("E"),
    ),
    join(parseComplete, bindComplete, complete("ROLLBACK"), ready("I")),
  ];
  transport.reply = () => steps.shift() ?? null;
  const { reply, done } = session.run(reading);
  const error = await reply.catch((error: unknown) => error);
  ok(error instanceof DatabaseError);
  deepStrictEqual(error.failure, {
    sqlstate: "42501",
    message: "permission denied",
    detail: null,
    hint: null,
  });
  strictEqual(error.statement, 1);
  await done;
  strictEqual(session.state, "idle");
  strictEqual(types(transport.writes[1]), "PBES");
  transport.reply = () => null;
  session.run(reading).reply.catch(() => {});
  // BEGIN and the settings are known; the main statement and COMMIT never got that far.
  strictEqual(types(transport.writes[2]), "BEBEPBEPBES");
  transport.lose("end of the test");
});

for (
  const [sqlstate, message] of [
    ["26000", "prepared statement does not exist"],
    ["0A000", "cached plan must not change result type"],
  ] as const
) {
  Deno.test(`Session.run tries a stale statement (${sqlstate}) once more, prepared anew`, async () => {
    const { transport, session } = open();
    const behaved = wellBehaved(answer, isMain);
    transport.reply = behaved;
    await session.run(reading).done;
    const script = [
      join(failure(sqlstate, message), ready("E")),
      join(frame("3"), parseComplete, bindComplete, complete("ROLLBACK"), ready("I")),
    ];
    transport.reply = (sent) => script.shift() ?? behaved(sent);
    const { reply, done } = session.run(reading);
    strictEqual((await reply).head[0], "1");
    await done;
    strictEqual(types(transport.writes.at(-1)), "PBEPBEPBEPBES");
  });
}

Deno.test("Session.run gives a stale statement up at the second time", async () => {
  const { transport, session } = open();
  transport.reply = () => join(failure("26000", "prepared statement does not exist"), ready("I"));
  const { reply, done } = session.run(reading);
  await rejects(reply, DatabaseError);
  await done;
  strictEqual(transport.writes.length, 2);
});

Deno.test("Session.run asks a deciding function before it ends the transaction", async () => {
  const { transport, session } = open();
  transport.reply = wellBehaved(answer, isMain);
  const seen: unknown[] = [];
  const { reply, done } = session.run({ ...writing, end: (head) => (seen.push(head), "rollback") });
  await reply;
  await done;
  deepStrictEqual(seen, [["1", null]]);
  deepStrictEqual(readSent(transport.writes[1]!)[0]?.text, "rollback");
});

Deno.test("Session.run rolls back and rejects with what the deciding function throws", async () => {
  const { transport, session } = open();
  transport.reply = wellBehaved(answer, isMain);
  const refusal = new Error("not like this");
  const { reply, done } = session.run({
    ...writing,
    end: () => {
      throw refusal;
    },
  });
  await rejects(reply, refusal);
  await done;
  strictEqual(readSent(transport.writes[1]!)[0]?.text, "rollback");
  strictEqual(session.state, "idle");
});

Deno.test("Session.run holds the body of a write until the end is confirmed", async () => {
  const { transport, session } = open();
  const { reply, done } = session.run(writing);
  const step = join(parseComplete, bindComplete);
  transport.tell(join(step, complete("BEGIN"), step, complete("SELECT 1"), step, answer));
  let settled = false;
  reply.then(() => settled = true, () => settled = true);
  await Promise.resolve();
  await Promise.resolve();
  strictEqual(settled, false);
  transport.tell(join(complete("SELECT 1"), failure("23505", "deferred"), ready("I")));
  await rejects(reply, DatabaseError);
  await done;
});

Deno.test("Session.run streams a long body with back-pressure", async () => {
  const { transport, session } = open();
  const { reply, done } = session.run(reading);
  const step = join(parseComplete, bindComplete);
  const size = 1_000_000;
  transport.tell(
    join(
      step,
      complete("BEGIN"),
      step,
      complete("SELECT 1"),
      step,
      new Uint8Array([0x44, ...int32(4 + 2 + 4 + size), 0, 1, ...int32(size)]),
    ),
  );
  const { body } = await reply;
  strictEqual(body.length, size);
  const stream = body.content as ReadableStream<Uint8Array>;
  for (let sent = 0; sent < size; sent += 100_000) transport.tell(new Uint8Array(100_000));
  deepStrictEqual(transport.log, ["pause", "resume"]);
  transport.tell(join(complete("SELECT 1"), step, complete("COMMIT"), ready("I")));
  await done;
  let received = 0;
  for await (const chunk of stream) received += chunk.length;
  strictEqual(received, size);
});

Deno.test("Session.run breaks a body whose connection is lost", async () => {
  const { transport, session, closed } = open();
  const { reply, done } = session.run(reading);
  const step = join(parseComplete, bindComplete);
  const begin = [step, complete("BEGIN"), step, complete("SELECT 1"), step];
  const size = 200_000;
  transport.tell(
    join(...begin, new Uint8Array([0x44, ...int32(10 + size), 0, 1, ...int32(size), 1])),
  );
  const { body } = await reply;
  transport.lose("gone");
  await done;
  await rejects(new Response(body.content as ReadableStream<Uint8Array>).bytes());
  deepStrictEqual(closed, ["gone"]);
});

Deno.test("Session.run gives the connection up when a long body is abandoned", async () => {
  const { transport, session, closed } = open();
  const { reply, done } = session.run(reading);
  const step = join(parseComplete, bindComplete);
  const begin = [step, complete("BEGIN"), step, complete("SELECT 1"), step];
  const size = 10_000_000;
  transport.tell(
    join(...begin, new Uint8Array([0x44, ...int32(10 + size), 0, 1, ...int32(size), 1])),
  );
  const { body } = await reply;
  await (body.content as ReadableStream<Uint8Array>).cancel();
  await done;
  deepStrictEqual(closed, ["destroyed"]);
  strictEqual(session.state, "closed");
});

const losses: readonly [string, (transport: FakeTransport) => void][] = [
  ["the socket closes", (transport) => transport.lose("reset")],
  [
    "the server speaks another protocol",
    (transport) => transport.tell(new Uint8Array([0, 0, 0, 0, 0])),
  ],
  ["the server starts COPY", (transport) => transport.tell(frame("G", [0, 0, 0]))],
  [
    "the transaction stays open after its end",
    (transport) => transport.tell(join(parseComplete, bindComplete, complete("BEGIN"), ready("T"))),
  ],
];

Deno.test("Session.run rejects with 001 when the connection cannot be used any more", async (t) => {
  for (const [name, happens] of losses) {
    await t.step(name, async () => {
      const { transport, session, closed } = open();
      const { reply, done } = session.run(writing);
      happens(transport);
      const error = await reply.catch((error: unknown) => error);
      ok(error instanceof ServiceError);
      strictEqual(error.facts.code, "001");
      await done;
      strictEqual(session.state, "closed");
      strictEqual(closed.length, 1);
      await rejects(session.run(writing).reply, ServiceError);
    });
  }
});

Deno.test("Session.run tells a fatal error of the server rather than the loss after it", async () => {
  const { transport, session } = open();
  const { reply } = session.run(writing);
  transport.tell(failure("57P01", "terminating connection due to administrator command"));
  transport.lose("reset");
  const error = await reply.catch((error: unknown) => error);
  ok(error instanceof DatabaseError);
  strictEqual(error.failure.sqlstate, "57P01");
});

Deno.test("Session.run answers what was committed although the server ends right after", async () => {
  const { transport, session } = open();
  const { reply, done } = session.run(writing);
  const step = join(parseComplete, bindComplete);
  const whole = join(step, complete("BEGIN"), step, complete("SELECT 1"), step, answer);
  transport.tell(join(whole, complete("SELECT 1"), step, complete("COMMIT")));
  transport.tell(failure("57P01", "terminating connection due to administrator command"));
  transport.lose("reset");
  deepStrictEqual((await reply).head, ["1", null]);
  await done;
  strictEqual(session.state, "closed");
});

Deno.test("Session keeps the rows of statements that want them", async () => {
  const { transport, session } = open();
  const two = join(row("1", "a"), row(null, "b"));
  transport.reply = wellBehaved(two, (sql) => sql === "explain");
  const { reply } = session.run({
    ...reading,
    statements: [settings, { text: "explain", params: [], use: "rows" }],
  });
  deepStrictEqual((await reply).rows, [[], [["1", "a"], [null, "b"]]]);
});

Deno.test("Session.run does not keep a very long statement prepared", async () => {
  const { transport, session } = open();
  transport.reply = wellBehaved(answer, isMain);
  const long = { ...settings, text: `select '${"x".repeat(10_000)}'` };
  for (let time = 0; time < 2; time++) {
    await session.run({ ...reading, statements: [long, main] }).done;
  }
  deepStrictEqual(
    readSent(transport.writes[1]!).filter(({ type }) => type === "P").map(({ name }) => name),
    [""],
  );
});

Deno.test("Session.stalledFor tells how long a body has not been read, and giveUp breaks it", async () => {
  const { transport, session, closed } = open();
  const { reply, done } = session.run(reading);
  const step = join(parseComplete, bindComplete);
  const begin = [step, complete("BEGIN"), step, complete("SELECT 1"), step];
  const size = 10_000_000;
  const head = new Uint8Array([0x44, ...int32(10 + size), 0, 1, ...int32(size)]);
  transport.tell(join(...begin, head));
  const { body } = await reply;
  now.ms = 1000;
  strictEqual(session.stalledFor(), 0);
  transport.tell(new Uint8Array(1_000_000));
  now.ms = 6000;
  strictEqual(session.stalledFor(), 5000);
  session.giveUp("the response was not read");
  await done;
  deepStrictEqual(closed, ["the response was not read"]);
  await rejects(new Response(body.content as ReadableStream<Uint8Array>).bytes());
});

Deno.test("Session forgets stale statements with the next batch, not while one is on its way", async () => {
  const { transport, session } = open();
  const behaved = wellBehaved(answer, isMain);
  transport.reply = behaved;
  await session.run(reading).done;
  const sent = transport.writes[0]!.length;
  transport.reply = () => null;
  const { reply } = session.run(reading);
  transport.tell(join(failure("26000", "prepared statement does not exist")));
  strictEqual(transport.writes.length, 2);
  ok(sent > 0);
  transport.reply = behaved;
  transport.tell(ready("E"));
  await reply;
  strictEqual(types(transport.writes[2]), "CCCCPBES");
});
