import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { ReadTransaction, WriteTransaction } from "../../../../src/database/transaction.ts";
import {
  bindComplete,
  complete,
  executed,
  failure,
  join,
  longRow,
  parseComplete,
  ready,
  row,
} from "../../../support/database/fake_backend.ts";
import {
  begun,
  blockRead,
  blockWrite,
  FakeConnection,
  outcomesOf,
} from "../../../support/database/fake_connection.ts";

const answer = row("1", null, "body");

Deno.test("Connection.execute() holds the body of a write until the end is confirmed", async () => {
  const { transport, execute } = new FakeConnection();
  const replies = execute(blockWrite);
  transport.tell(join(begun, executed("INSERT 0 1", answer)));
  deepStrictEqual(await outcomesOf(replies), ["waits"]);
  transport.tell(join(failure("23505", "deferred"), ready("I")));
  deepStrictEqual(await outcomesOf(replies), ["23505"]);
});

const size = 1_000_000;

Deno.test("Connection.execute() streams a long body with back-pressure", async () => {
  const { transport, execute, log } = new FakeConnection();
  const [reply] = execute(blockRead);
  transport.tell(join(begun, parseComplete, bindComplete, longRow(size)));
  const { body } = await reply!;
  strictEqual(body.length, size);
  for (let sent = 0; sent < size; sent += 100_000) transport.tell(new Uint8Array(100_000));
  deepStrictEqual(transport.log, ["pause", "resume"]);
  transport.tell(join(complete("SELECT 1"), executed("COMMIT"), ready("I")));
  deepStrictEqual(log, [`success: ${size}`, "idle"]);
  let received = 0;
  for await (const chunk of body.content as ReadableStream<Uint8Array>) received += chunk.length;
  strictEqual(received, size);
});

const held: readonly (readonly [name: string, transaction: ReadTransaction | WriteTransaction])[] =
  [
    ["a write", blockWrite],
    ["a read that holds it", { ...blockRead, body: "hold" }],
  ];

for (const [name, transaction] of held) {
  Deno.test(`Connection.execute() collects the long body of ${name}`, async () => {
    const { transport, execute } = new FakeConnection();
    const replies = execute(transaction);
    transport.tell(join(begun, parseComplete, bindComplete, longRow(size)));
    for (let sent = 0; sent < size; sent += 100_000) transport.tell(new Uint8Array(100_000));
    transport.tell(complete("SELECT 1"));
    deepStrictEqual(await outcomesOf(replies), ["waits"]);
    transport.tell(join(executed("COMMIT"), ready("I")));
    strictEqual(((await replies[0]!).body.content as Uint8Array).length, size);
  });
}

Deno.test("Connection rejects a read that failed after a long body that came in one chunk", async () => {
  const { transport, execute } = new FakeConnection();
  const replies = execute(blockRead);
  const body = join(parseComplete, bindComplete, longRow(size), new Uint8Array(size));
  transport.tell(join(begun, body, complete("SELECT 1"), failure("40001", "serialization")));
  transport.tell(ready("I"));
  deepStrictEqual(await outcomesOf(replies), ["40001"]);
});

/** Starts a read of a body whose bytes are to come. */
async function startBody(opened: FakeConnection, bytes: number) {
  const [reply] = opened.execute(blockRead);
  opened.transport.tell(join(begun, parseComplete, bindComplete, longRow(bytes)));
  return (await reply!).body.content as ReadableStream<Uint8Array>;
}

Deno.test("Connection breaks a body whose connection is lost", async () => {
  const opened = new FakeConnection();
  const body = await startBody(opened, size);
  opened.transport.lose("gone");
  await rejects(new Response(body).bytes());
  deepStrictEqual(opened.log, ["closed: gone"]);
});

Deno.test("Connection closes when much of an abandoned body is to come", async () => {
  const opened = new FakeConnection();
  await (await startBody(opened, 10 * size)).cancel();
  deepStrictEqual(opened.log, ["closed: destroyed"]);
  strictEqual(opened.connection.state, "closed");
});

Deno.test("Connection reads the rest of an abandoned body", async () => {
  const opened = new FakeConnection();
  await (await startBody(opened, size)).cancel();
  opened.transport.tell(new Uint8Array(size));
  opened.transport.tell(join(complete("SELECT 1"), executed("COMMIT"), ready("I")));
  deepStrictEqual(opened.log, [`success: ${size}`, "idle"]);
});

Deno.test("BodyReceiver.stalledFor() returns how long a body was not read, and destroy() breaks it", async () => {
  const opened = new FakeConnection();
  const { connection, transport, log } = opened;
  const body = await startBody(opened, 10 * size);
  await opened.clock.pass(1000);
  strictEqual(connection.body!.stalledFor(), 0);
  transport.tell(new Uint8Array(size));
  await opened.clock.pass(5000);
  strictEqual(connection.body!.stalledFor(), 5000);
  strictEqual(connection.body!.waitedFor(), 5000);
  connection.destroy("the response was not read");
  deepStrictEqual(log, ["closed: the response was not read"]);
  await rejects(new Response(body).bytes());
});
