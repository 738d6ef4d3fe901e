import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Statement, WriteBatch } from "../../../../src/database/batch.ts";
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
  blockWrite,
  FakeConnection,
  main,
  outcomesOf,
  settings,
} from "../../../support/database/fake_connection.ts";

const encoder = new TextEncoder();
const insert: Statement = { ...main, params: ["fixed", null], runsUserCode: true };
const check: Statement = { text: "select check", params: [], use: "none" };

/** A source of values that the test hands out one by one. */
class TestValues implements AsyncIterable<Uint8Array> {
  /** How many values were requested. */
  requested = 0;
  isReleased = false;
  #pending: PromiseWithResolvers<IteratorResult<Uint8Array>>[] = [];

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => {
        this.requested++;
        const pending = Promise.withResolvers<IteratorResult<Uint8Array>>();
        this.#pending.push(pending);
        return pending.promise;
      },
      return: () => {
        this.isReleased = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  async send(text: string): Promise<void> {
    this.#pending.shift()!.resolve({ done: false, value: encoder.encode(text) });
    await settled();
  }

  async end(): Promise<void> {
    this.#pending.shift()!.resolve({ done: true, value: undefined });
    await settled();
  }

  async fail(error: Error): Promise<void> {
    this.#pending.shift()!.reject(error);
    await settled();
  }
}

function streamed(values: AsyncIterable<Uint8Array>, others: Partial<WriteBatch> = {}): WriteBatch {
  return {
    ...blockWrite,
    statements: [settings, insert, check],
    stream: { statement: 1, param: 1, values, summed: [0] },
    ...others,
  };
}

/** The messages of each write, such as `PBES`, behind the first. */
function writesOf({ transport }: FakeConnection): readonly string[] {
  return transport.sent.slice(1).map((sent) => sent.map(shown).join(" "));
}

function shown({ type, text }: Sent): string {
  return text === undefined ? type : `${type}(${text})`;
}

function rowOf(count: number): Uint8Array {
  return row(String(count), "last", null);
}

/** Starts a streamed batch on a connection whose server is scripted by the test. */
async function start(others: Partial<WriteBatch> = {}) {
  const opened = new FakeConnection();
  const values = new TestValues();
  const [promise] = opened.execute(streamed(values, others));
  const reply = async (...chunks: readonly Uint8Array[]) => {
    opened.transport.tell(join(...chunks));
    await settled();
  };
  strictEqual(values.requested, 0);
  await reply(executed("BEGIN"), executed("SELECT 1"), ready("T"));
  strictEqual(values.requested, 1);
  return { opened, values, promise: promise!, reply };
}

/** Replies to one value: the first one is parsed. */
const parsed = (count: number) => join(executed("INSERT 1", rowOf(count)), ready("T"));
const bound = (count: number) => join(executed("INSERT 1", rowOf(count)).slice(5), ready("T"));

Deno.test("Connection.execute() runs a statement for each value of a stream", async () => {
  const { opened, values, promise, reply } = await start();
  await values.send("[1]");
  await reply(parsed(2));
  await values.send("[2]");
  await reply(bound(3));
  await values.end();
  deepStrictEqual(writesOf(opened), [
    "P(select main) B E S",
    "B E S",
    "P(select check) B E P(commit) B E S",
  ]);
  deepStrictEqual(await outcomesOf([promise]), ["waits"]);
  await reply(executed("SELECT 1"), executed("COMMIT"), ready("I"));
  const { columns, end } = await promise;
  deepStrictEqual(columns, ["5", "last"]);
  strictEqual(end, "commit");
  deepStrictEqual(opened.log, ["success: null", "idle"]);
});

Deno.test("Connection.execute() has at most two values in flight, and none is lost", async () => {
  const { opened, values, reply } = await start();
  await values.send("first");
  await values.send("second");
  strictEqual(values.requested, 2);
  await reply(parsed(1));
  strictEqual(values.requested, 3);
  await values.send("third");
  strictEqual(values.requested, 3);
  const sent = opened.transport.writes.map((bytes) => new TextDecoder().decode(bytes));
  deepStrictEqual(
    sent.slice(1).map((text) => /first|second|third/.exec(text)?.[0]),
    ["first", "second", "third"],
  );
});

Deno.test("Connection.execute() rolls back when a value fails, and reads no further", async () => {
  const { opened, values, promise, reply } = await start();
  await values.send("[1]");
  await values.send("[2]");
  await reply(failure("23505", "duplicate"), ready("E"));
  deepStrictEqual(writesOf(opened).length, 2);
  await reply(failure("25P02", "aborted"), ready("E"));
  deepStrictEqual(writesOf(opened).slice(2), ["P(rollback) B E S"]);
  const error = await promise.catch((error) => error);
  strictEqual(error.failure.sqlstate, "23505");
  strictEqual(error.statement, 1);
  strictEqual(values.isReleased, true);
  await reply(executed("ROLLBACK"), ready("I"));
  deepStrictEqual(opened.log, ["failure: null", "idle"]);
});

for (const inFlight of [0, 1, 2]) {
  Deno.test(`Connection.execute() rolls back when the source fails: ${inFlight} in flight`, async () => {
    const { opened, values, promise, reply } = await start();
    await values.send("[1]");
    await values.send("[2]");
    await reply(parsed(1), bound(1));
    for (let at = 0; at < inFlight - 1; at++) await values.send("[3]");
    if (inFlight > 0) {
      await values.send("[4]");
      await reply(inFlight > 1 ? bound(1) : new Uint8Array());
    }
    const before = writesOf(opened).length;
    await values.fail(new RangeError("cut"));
    if (inFlight > 0) {
      strictEqual(writesOf(opened).length, before);
      await reply(bound(1));
    }
    deepStrictEqual(writesOf(opened).slice(before), ["P(rollback) B E S"]);
    deepStrictEqual(await outcomesOf([promise]), ["cut"]);
    await reply(executed("ROLLBACK"), ready("I"));
    deepStrictEqual(opened.log, ["failure: null", "idle"]);
  });
}

Deno.test("Connection.execute() fails by a statement behind the stream", async () => {
  const { values, promise, reply } = await start();
  await values.send("[1]");
  await reply(parsed(1));
  await values.end();
  await reply(failure("22012", "division by zero"), ready("E"));
  const error = await promise.catch((error) => error);
  strictEqual(error.statement, 2);
});

Deno.test("Connection.execute() decides the end of a stream by the sum", async () => {
  const bounds = [{ columns: [0], min: 0, max: 4 }];
  const transaction = { ...blockWrite.transaction, form: "block", end: bounds } as never;
  const { opened, values, promise, reply } = await start({ transaction });
  await values.send("[1]");
  await values.send("[2]");
  await reply(parsed(2), bound(3));
  await values.end();
  await reply(executed("SELECT 1"), ready("T"));
  deepStrictEqual(writesOf(opened).slice(2), ["P(select check) B E S", "P(rollback) B E S"]);
  await reply(executed("ROLLBACK"), ready("I"));
  strictEqual((await promise).end, "rollback");
});

for (const place of ["before the first value", "between values", "before the end"] as const) {
  Deno.test(`Connection.execute() fails when the connection is lost: ${place}`, async () => {
    const { opened, values, promise, reply } = await start();
    if (place !== "before the first value") {
      await values.send("[1]");
      await reply(parsed(1));
    }
    if (place === "before the end") await values.end();
    opened.transport.lose("gone");
    deepStrictEqual(await outcomesOf([promise]), ["001"]);
    strictEqual(values.isReleased, true);
    if (place !== "before the end") await values.send("[2]");
    strictEqual(opened.transport.sent.at(-1)!.some(({ text }) => text === "rollback"), false);
  });
}

Deno.test("Connection.execute() repeats a stream that the server refused before it began", async () => {
  const opened = new FakeConnection();
  const server = fakeServer({ rowsOf: (text) => text === "select main" ? rowOf(1) : null });
  let isForgotten = false;
  opened.transport.reply = (sent) => {
    if (!isForgotten) return server(sent);
    isForgotten = false;
    return join(executed("BEGIN").slice(5), failure("26000", "unknown"), ready("E"));
  };
  const values = () =>
    (async function* () {
      yield encoder.encode("[1]");
      yield encoder.encode("[2]");
    })();
  strictEqual((await opened.run(streamed(values()))).columns[0], "2");
  isForgotten = true;
  strictEqual((await opened.run(streamed(values()))).columns[0], "2");
  deepStrictEqual(opened.log.filter((line) => line === "forgotten: 26000").length, 1);
});

Deno.test("Connection.execute() finishes a stream whose statements are not prepared", async () => {
  const opened = new FakeConnection({ prepare: false });
  opened.transport.reply = fakeServer({
    rowsOf: (text) => text === "select main" ? rowOf(4) : null,
  });
  const values = (async function* () {
    for (let at = 0; at < 5; at++) yield encoder.encode("[]");
  })();
  deepStrictEqual((await opened.run(streamed(values))).columns, ["20", "last"]);
});
