import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { FrameDecoder, ProtocolError } from "../../../../src/database/protocol/decoder.ts";
import {
  complete,
  frame,
  int32,
  join,
  ready,
  row,
} from "../../../support/database/fake_backend.ts";

const text = new TextDecoder();
const utf8 = new TextEncoder();

/** A decoder that joins all rows, with what it emitted: texts of the run, and types of messages. */
function joiner({ separator = ", ", hasValues = false, trimmedBytes = 0 } = {}) {
  const run = { separator: utf8.encode(separator), hasValues, trimmedBytes };
  const bytes: number[] = [];
  const events: string[] = [];
  const decoder = new FrameDecoder({
    event: (type) => void events.push(`${bytes.length} ${String.fromCharCode(type)}`),
    message: (type) => void events.push(`${bytes.length} ${String.fromCharCode(type)}`),
    wantsRow: () => true,
    rowRun: () => run,
    rowStart: () => events.push("row"),
    rowBytes: (part) => void bytes.push(...part),
    rowEnd: () => events.push("end"),
  });
  return { decoder, events, joined: () => text.decode(new Uint8Array(bytes)) };
}

const stream = join(
  row(null, null, "first"),
  row(null, "ignored", ""),
  row("x", null, "déjà vu ".repeat(9)),
  row(null),
  row("last"),
  complete("SELECT 5"),
  ready("I"),
);
const joined = `first, , ${"déjà vu ".repeat(9)}, , last`;
const length = utf8.encode(joined).length;

Deno.test("FrameDecoder.push() joins the values of a run, wherever its chunks are cut", () => {
  for (let size = 1; size <= stream.length; size++) {
    const { decoder, events, joined: result } = joiner();
    for (let at = 0; at < stream.length; at += size) decoder.push(stream.slice(at, at + size));
    strictEqual(result(), joined, `chunks of ${size}`);
    deepStrictEqual(events, [`${length} C`, `${length} Z`], `chunks of ${size}`);
  }
});

Deno.test("FrameDecoder.push() joins the values of a run whose chunks are cut once", () => {
  for (let cut = 0; cut <= stream.length; cut++) {
    const { decoder, joined: result } = joiner({ separator: "12345678901", hasValues: true });
    decoder.push(stream.slice(0, cut));
    decoder.push(stream.slice(cut));
    strictEqual(result(), `12345678901${joined.replaceAll(", ", "12345678901")}`, `cut at ${cut}`);
  }
});

const broken: readonly (readonly [name: string, bytes: Uint8Array])[] = [
  ["a column exceeds its row", frame("D", [0, 1], int32(5), [65])],
  ["a row has bytes left over", frame("D", [0, 1], int32(1), [65, 66])],
  ["a row has bytes left over", frame("D", [0, 0], [65])],
];

for (const [message, bytes] of broken) {
  Deno.test(`FrameDecoder.push() refuses a run in which ${message}`, () => {
    throws(() => joiner().decoder.push(bytes), new ProtocolError(message));
  });
}

const lines = join(row(null, "(1,a)"), row(null, "()"), row(null, "(22)"), ready("I"));

Deno.test("FrameDecoder.push() trims the values of a run, wherever its chunks are cut", () => {
  for (let size = 1; size <= lines.length; size++) {
    const { decoder, joined: result } = joiner({ separator: "\n", trimmedBytes: 1 });
    for (let at = 0; at < lines.length; at += size) decoder.push(lines.slice(at, at + size));
    strictEqual(result(), "1,a\n\n22", `chunks of ${size}`);
  }
  for (let cut = 0; cut <= lines.length; cut++) {
    const { decoder, joined: result } = joiner({ separator: "\n", trimmedBytes: 1 });
    decoder.push(lines.slice(0, cut));
    decoder.push(lines.slice(cut));
    strictEqual(result(), "1,a\n\n22", `cut at ${cut}`);
  }
});
