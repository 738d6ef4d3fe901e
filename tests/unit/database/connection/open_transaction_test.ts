/** Transactions whose end follows their results. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { OpenTransaction, Statement } from "../../../../src/database/transaction.ts";
import {
  executed,
  failure,
  fakeServer,
  join,
  ready,
  row,
  type Sent,
} from "../../../support/database/fake_backend.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import {
  block,
  blockRead,
  blockWrite,
  FakeConnection,
  main,
  outcomesOf,
} from "../../../support/database/fake_connection.ts";

const check: Statement = { text: "select check", params: [], use: "none" };
const open = { ...block, end: "open" } as const;

/** The messages of each write, such as `PBES`, behind the first. */
function writesOf({ transport }: FakeConnection): readonly string[] {
  return transport.sent.slice(1).map((sent) => sent.map(shown).join(" "));
}

function shown({ type, text }: Sent): string {
  return text === undefined ? type : `${type}(${text})`;
}

/** Begins a transaction on a connection whose server is scripted by the test. */
async function begin(transaction = { ...blockWrite, block: open }) {
  const opened = new FakeConnection();
  const [promise] = opened.execute(transaction);
  const reply = async (...chunks: readonly Uint8Array[]) => {
    opened.transport.tell(join(...chunks));
    await settled();
  };
  await reply(
    executed("BEGIN"),
    executed("SELECT 1"),
    executed("SELECT 1", row("1", "body")),
    ready("T"),
  );
  const result = await promise!;
  return { opened, reply, result, transaction: result.open! };
}

Deno.test("Connection.execute() gives the result of a transaction that stays open", async () => {
  const { opened, result, transaction, reply } = await begin();
  strictEqual(result.end, "open");
  deepStrictEqual(result.columns, ["1"]);
  strictEqual(new TextDecoder().decode(result.body.content as Uint8Array), "body");
  deepStrictEqual(opened.log, []);
  const ended = transaction.end("commit", [check]);
  deepStrictEqual(writesOf(opened), ["P(select check) B E P(commit) B E S"]);
  deepStrictEqual(await outcomesOf([ended]), ["waits"]);
  await reply(executed("SELECT 1"), executed("COMMIT"), ready("I"));
  strictEqual((await ended).end, "commit");
  deepStrictEqual(opened.log, ["success: 4", "idle"]);
});

Deno.test("OpenTransaction.send() executes one step after the other", async () => {
  const { opened, transaction, reply } = await begin();
  for (const count of ["2", "3"]) {
    const sent = transaction.send([main]);
    await rejects(transaction.send([main]), { name: "ServiceError" });
    await reply(executed("INSERT 1", row(count, null)), ready("T"));
    deepStrictEqual(await outcomesOf([sent]), [count]);
  }
  deepStrictEqual(writesOf(opened), ["P(select main) B E S", "P(select main) B E S"]);
  const ended = transaction.end("rollback");
  await reply(executed("ROLLBACK"), ready("I"));
  strictEqual((await ended).end, "rollback");
  deepStrictEqual(opened.log.at(-1), "idle");
});

Deno.test("OpenTransaction.end() hands out a large body of a read while it arrives", async () => {
  const { transaction, opened } = await begin(
    { ...blockRead, block: open } as never,
  );
  const ended = transaction.end("commit", [main]);
  const long = executed("SELECT 1", row("9", "x".repeat(300_000)));
  opened.transport.tell(long.slice(0, 200_000));
  const { body, end } = await ended;
  strictEqual(end, "commit");
  strictEqual(body.content instanceof ReadableStream, true);
  opened.transport.tell(join(long.slice(200_000), executed("COMMIT"), ready("I")));
  strictEqual((await new Response(body.content as ReadableStream).text()).length, 300_000);
});

Deno.test("OpenTransaction rolls back when a statement fails", async () => {
  const { opened, transaction, reply } = await begin();
  const sent = transaction.send([check, main]);
  sent.catch(() => {});
  await reply(executed("SELECT 1"), failure("23505", "duplicate"), ready("E"));
  deepStrictEqual(writesOf(opened).slice(1), ["P(rollback) B E S"]);
  deepStrictEqual(await outcomesOf([sent]), ["waits"]);
  await reply(executed("ROLLBACK"), ready("I"));
  deepStrictEqual(await outcomesOf([sent]), ["23505"]);
  strictEqual((await sent.catch((error) => error)).statement, 1);
  await rejects(transaction.end("commit"), { name: "DatabaseError" });
  deepStrictEqual(opened.log, ["failure: 4", "idle"]);
});

Deno.test("OpenTransaction.end() rejects when COMMIT fails", async () => {
  const { opened, transaction, reply } = await begin();
  const ended = transaction.end("commit");
  ended.catch(() => {});
  await reply(executed("COMMIT").slice(0, 10), failure("23503", "deferred"), ready("I"));
  deepStrictEqual(await outcomesOf([ended]), ["23503"]);
  deepStrictEqual(opened.log, ["failure: 4", "idle"]);
});

const places: readonly (readonly [
  name: string,
  act: (transaction: OpenTransaction) => readonly Promise<unknown>[],
])[] = [
  ["between calls", () => []],
  ["during send()", (transaction) => [transaction.send([main])]],
  ["during end()", (transaction) => [transaction.end("commit")]],
];
for (const [name, act] of places) {
  Deno.test(`OpenTransaction fails when the connection is lost ${name}`, async () => {
    const { opened, transaction } = await begin();
    const results = act(transaction) as ReturnType<OpenTransaction["send"]>[];
    for (const each of results) each.catch(() => {});
    opened.transport.lose("gone");
    deepStrictEqual(await outcomesOf(results), results.map(() => "001"));
    deepStrictEqual(await outcomesOf([transaction.end("rollback")]), ["001"]);
  });
}

Deno.test("Connection.execute() begins again if the server refused it before it began", async () => {
  const opened = new FakeConnection();
  const server = fakeServer({ rowsOf: (text) => text === "select main" ? row("1", null) : null });
  let isForgotten = false;
  opened.transport.reply = (sent) => {
    if (!isForgotten) return server(sent);
    isForgotten = false;
    return join(executed("BEGIN").slice(5), failure("26000", "unknown"), ready("E"));
  };
  for (const forgets of [false, true]) {
    isForgotten = forgets;
    const [begun] = opened.execute({ ...blockWrite, block: open });
    const { open: transaction } = await begun!;
    await transaction!.end("commit");
    await settled();
  }
  strictEqual(opened.log.filter((line) => line === "forgotten: 26000").length, 1);
});
