import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { encodeEvents, joinBatches, MessageBatch } from "../../../../src/wings/live/messages.ts";

Deno.test("encodeEvents() keeps a message with carriage returns in one line", () => {
  const events = new TextDecoder().decode(encodeEvents(['{"value":{"a":\r1}}'], "7"));
  strictEqual(events, 'id: 7_0\ndata: {"value":{"a": 1}}\n\n');
});

/** Operations on a row in batches that follow each other, and the message behind them. */
const joins = [
  [["insert 1", "update 2"], "insert 2"],
  [["update 1", "update 2"], "update 2"],
  [["update 1", "delete"], "delete"],
  [["insert 1", "delete"], null],
  [["delete", "insert 2"], "update 2"],
  [["insert 1", "delete", "insert 3"], "insert 3"],
  [["delete", "insert 2", "delete"], "delete"],
] as const;

for (const [steps, joined] of joins) {
  Deno.test(`joinBatches() makes ${joined} of ${steps.join(", ")}`, () => {
    const messageOf = (step: string) => {
      const [operation, value = '{"id":1}'] = step.split(" ");
      return `{"headers":{"operation":"${operation}"},"key":"\\"1\\"","value":${value}}`;
    };
    const batches = steps.map((step, index) =>
      new MessageBatch(`${index}`, [messageOf(step), "snapshot-end", `up-to-date ${index}`])
    );
    const last = steps.length - 1;
    const { messages, offset } = joinBatches(batches)!;
    const expected = joined === null ? [] : [messageOf(joined)];
    deepStrictEqual(messages, [...expected, "snapshot-end", `up-to-date ${last}`]);
    strictEqual(offset, `${last}`);
  });
}

Deno.test("a batch counts its encodings, and keeps its messages", () => {
  const messages = ['{"key":"Zürich"}', '{"data: ":"id: 1"}'];
  const batch = new MessageBatch("7", messages);
  deepStrictEqual(batch.messages, messages);
  const { bytes } = batch;
  strictEqual(new TextDecoder().decode(batch.json), `[${messages.join(",\n")}]`);
  strictEqual(batch.bytes, bytes + batch.json.length);
});
