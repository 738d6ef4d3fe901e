import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { BodyFraming, ReadTransaction } from "../../../../src/database/transaction.ts";
import {
  bindComplete,
  complete,
  failure,
  join,
  parseComplete,
  ready,
  row,
} from "../../../support/database/fake_backend.ts";
import {
  FakeConnection,
  implicitRead,
  main,
  outcomesOf,
} from "../../../support/database/fake_connection.ts";
import { settled } from "../../../support/timing/fake_clock.ts";

const json: BodyFraming = { separator: ", ", closing: "]" };
const lines: BodyFraming = { separator: "\n", closing: "\n" };
const csv: BodyFraming = { separator: "\n", closing: "" };

function framed(framing: BodyFraming, body: ReadTransaction["body"] = "stream"): ReadTransaction {
  return { ...implicitRead, body, statements: [{ ...main, framing }] };
}

const begun = join(parseComplete, bindComplete);
const ended = join(complete("SELECT 1"), ready("I"));

async function textOf(content: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(content as BodyInit).text();
}

const bodies: readonly (readonly [BodyFraming, first: string, string[], whole: string])[] = [
  [json, "[]", [], "[]"],
  [json, "[1]", [], "[1]"],
  [json, "[1]", ["2", "3"], "[1, 2, 3]"],
  [lines, "", [], ""],
  [lines, "", ["a", "b"], "a\nb\n"],
  [lines, "a\n", [], "a\n"],
  [lines, "a\n", ["b"], "a\nb\n"],
  [csv, "x\n", [], "x\n"],
  [csv, "x\n1", ["2"], "x\n1\n2"],
];

for (const [framing, first, further, whole] of bodies) {
  for (const body of ["stream", "hold"] as const) {
    const name = JSON.stringify([first, ...further]);
    Deno.test(`Connection.execute() frames the rows ${name} of a body to ${body}`, async () => {
      const { transport, execute } = new FakeConnection();
      const [result] = execute(framed(framing, body));
      const rows = further.map((text) => row(null, text));
      transport.tell(join(begun, row("1", first), ...rows, ended));
      const { columns, body: { content, length } } = await result!;
      deepStrictEqual(columns, ["1"]);
      strictEqual(length, whole.length);
      strictEqual(await textOf(content), whole);
    });
  }
}

const long = "x".repeat(50_000);

Deno.test("Connection.execute() streams many rows with back-pressure", async () => {
  const { transport, execute, log } = new FakeConnection();
  const [result] = execute(framed(json));
  transport.tell(join(begun, row("1", "[0]"), row(null, long), row(null, long)));
  deepStrictEqual(await outcomesOf([result!]), ["waits"]);
  transport.tell(row(null, long));
  const { body: { content, length } } = await result!;
  strictEqual(length, null);
  for (let rows = 0; rows < 6; rows++) transport.tell(row(null, long));
  deepStrictEqual(transport.log, ["pause"]);
  const text = textOf(content);
  transport.tell(ended);
  strictEqual(await text, `[0${`, ${long}`.repeat(9)}]`);
  deepStrictEqual(transport.log, ["pause", "resume"]);
  deepStrictEqual(log, [`success: ${3 + 9 * 50_002}`, "idle"]);
});

Deno.test("Connection.execute() reads on when a body fails that has paused the connection", async () => {
  const { transport, execute, log } = new FakeConnection();
  const [result] = execute(framed(json));
  transport.tell(join(begun, row("1", "[0]"), ...Array.from({ length: 3 }, () => row(null, long))));
  const { body: { content } } = await result!;
  const text = rejects(textOf(content), /broken row/);
  // One chunk has the rows that are too many, and the error behind them.
  const many = Array.from({ length: 6 }, () => row(null, long));
  transport.tell(join(...many, failure("22003", "broken row"), ready("I")));
  await text;
  deepStrictEqual(transport.log, ["pause", "resume"]);
  deepStrictEqual(log, ["failure: null", "idle"]);
});

Deno.test("Connection.execute() streams a long first row, and frames it with further ones", async () => {
  for (const further of [0, 2]) {
    const { transport, execute } = new FakeConnection();
    const [result] = execute(framed(json));
    const first = row("1", `[${long.repeat(4)}]`);
    transport.tell(join(begun, first.slice(0, 150_000)));
    const { body } = await result!;
    transport.tell(first.slice(150_000));
    for (let rows = 0; rows < further; rows++) transport.tell(row(null, "1"));
    transport.tell(ended);
    strictEqual(await textOf(body.content), `[${long.repeat(4)}${", 1".repeat(further)}]`);
  }
});

Deno.test("Connection.execute() aborts a stream whose later row fails", async () => {
  const { transport, execute, log } = new FakeConnection();
  const [result] = execute(framed(json));
  transport.tell(join(begun, row("1", "[0]"), ...Array.from({ length: 3 }, () => row(null, long))));
  const { body } = await result!;
  const text = textOf(body.content);
  transport.tell(join(failure("22003", "no such grade"), ready("I")));
  await rejects(text);
  strictEqual((await body.failure as Error).message, "no such grade");
  deepStrictEqual(log, ["failure: null", "idle"]);
});

Deno.test("Connection.execute() rejects when a row fails before any byte was sent", async () => {
  const { transport, execute } = new FakeConnection();
  const results = execute(framed(json));
  transport.tell(join(begun, row("1", "[0]"), row(null, "1"), failure("22003", "x"), ready("I")));
  deepStrictEqual(await outcomesOf(results), ["22003"]);
});

Deno.test("Connection.execute() reads an abandoned body of unknown length up to a limit", async () => {
  const { transport, execute, log } = new FakeConnection();
  const abandon = async () => {
    const [result] = execute(framed(json));
    transport.tell(
      join(begun, row("1", "[0]"), ...Array.from({ length: 3 }, () => row(null, long))),
    );
    await ((await result!).body.content as ReadableStream).cancel();
  };
  await abandon();
  transport.tell(join(row(null, long), ended));
  deepStrictEqual(log.splice(0), [`success: ${3 + 4 * 50_002}`, "idle"]);
  await abandon();
  for (let rows = 0; rows < 25; rows++) transport.tell(row(null, long));
  await settled();
  deepStrictEqual(transport.log, ["destroy"]);
  deepStrictEqual(log, ["closed: destroyed"]);
});

Deno.test("Connection.execute() streams an eager body from its first further row on", async () => {
  const { transport, execute } = new FakeConnection();
  const [result] = execute(framed({ ...lines, isEager: true }));
  transport.tell(join(begun, row(null, "")));
  deepStrictEqual(await outcomesOf([result!]), ["waits"]);
  transport.tell(row(null, "a"));
  const { body: { content, length } } = await result!;
  strictEqual(length, null);
  const text = textOf(content);
  transport.tell(join(row(null, "b"), ended));
  strictEqual(await text, "a\nb\n");
});
