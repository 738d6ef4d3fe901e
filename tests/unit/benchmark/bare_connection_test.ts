import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  concat,
  executeMessages,
  parseMessage,
  ReadyCounter,
  syncMessage,
} from "../../../tools/benchmark/bare_connection.ts";

const ready = [0x5a, 0, 0, 0, 5, 0x49];
/** Its text has the bytes of a ReadyForQuery. */
const row = [0x44, 0, 0, 0, 10, ...ready];

const chunkings: readonly (readonly [what: string, chunks: number[][], counts: number[]])[] = [
  ["whole messages", [[...row, ...ready], ready], [1, 1]],
  ["several at once", [[...ready, ...row, ...ready, ...ready]], [3]],
  ["a message in pieces", [[0x5a, 0], [0, 0], [5], [0x49, 0x5a], ready.slice(1)], [0, 0, 0, 1, 1]],
  ["an empty chunk", [[]], [0]],
];

for (const [what, chunks, counts] of chunkings) {
  Deno.test(`ReadyCounter counts ReadyForQuery in ${what}`, () => {
    const counter = new ReadyCounter();
    deepStrictEqual(chunks.map((chunk) => counter.push(new Uint8Array(chunk))), counts);
  });
}

Deno.test("ReadyCounter throws the text of an ErrorResponse", () => {
  const fields = new TextEncoder().encode("SERROR\0Mno such table\0\0");
  const message = concat([new Uint8Array([0x45, 0, 0, 0, fields.length + 4]), fields]);
  throws(() => new ReadyCounter().push(message), /^Error: SERROR Mno such table/);
});

const text = new TextDecoder();

Deno.test("messages have the bytes of PostgreSQL's protocol", () => {
  strictEqual(text.decode(parseMessage("a", "select 1")), "P\0\0\0\x11a\0select 1\0\0\0");
  strictEqual(
    text.decode(executeMessages("a", ["7", "é"])),
    "B\0\0\0\x18\0a\0\0\0\0\x02\0\0\0\x017\0\0\0\x02é\0\0" + "E\0\0\0\x09\0\0\0\0\0",
  );
  strictEqual(text.decode(syncMessage), "S\0\0\0\x04");
});
