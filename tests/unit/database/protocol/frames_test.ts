import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { FrameDecoder, ProtocolError } from "../../../../src/database/protocol/decoder.ts";
import { FrameEncoder } from "../../../../src/database/protocol/encoder.ts";
import {
  backend,
  binaryFormat,
  cancelFrame,
  readFields,
  textFormat,
} from "../../../../src/database/protocol/messages.ts";
import {
  complete,
  failure,
  frame,
  int32,
  join,
  ready,
  row,
} from "../../../support/database/fake_backend.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";

const text = new TextDecoder();

function encoded(write: (encoder: FrameEncoder) => void): readonly number[] {
  const encoder = new FrameEncoder();
  write(encoder);
  return [...join(...encoder.take())];
}

const frames: readonly [string, (encoder: FrameEncoder) => void, readonly number[]][] = [
  ["parse", (e) => e.parse("s1", "x"), [0x50, 0, 0, 0, 11, 115, 49, 0, 120, 0, 0, 0]],
  ["execute", (e) => e.execute(), [0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]],
  ["sync", (e) => e.sync(), [0x53, 0, 0, 0, 4]],
  ["closeStatement", (e) => e.closeStatement("s1"), [0x43, 0, 0, 0, 8, 0x53, 115, 49, 0]],
  ["query", (e) => e.query("x"), [0x51, 0, 0, 0, 6, 120, 0]],
  [
    "bind without parameters",
    (e) => e.bind("", [], textFormat),
    [0x42, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
  ],
  [
    "bind of text, bytes of text and NULL",
    (e) => e.bind("s", ["é", new Uint8Array([97]), null], binaryFormat),
    [0x42, 0, 0, 0, 30, 0, 115, 0, 0, 0, 0, 3]
      .concat([0, 0, 0, 2, 0xc3, 0xa9], [0, 0, 0, 1, 97], [255, 255, 255, 255], [0, 1, 0, 1]),
  ],
  [
    "bind of a binary value",
    (e) => e.bind("", ["a", { binary: new Uint8Array([1, 0]) }], textFormat),
    [0x42, 0, 0, 0, 29, 0, 0, 0, 2, 0, 0, 0, 1, 0, 2]
      .concat([0, 0, 0, 1, 97], [0, 0, 0, 2, 1, 0], [0, 1, 0, 0]),
  ],
  [
    "parse leaves NUL out, which would end the text",
    (e) => e.parse("", "a\0b"),
    [0x50, 0, 0, 0, 10, 0, 97, 98, 0, 0, 0],
  ],
];

Deno.test("FrameEncoder encodes each message", async (t) => {
  for (const [name, write, expected] of frames) {
    await t.step(name, () => deepStrictEqual(encoded(write), expected));
  }
});

Deno.test("FrameEncoder gives one chunk for a transaction and passes large values by reference", () => {
  const encoder = new FrameEncoder();
  encoder.parse("s1", "select $1".padEnd(40_000));
  encoder.bind("s1", ["y"], textFormat);
  encoder.sync();
  strictEqual(encoder.take().length, 1);
  const large = new Uint8Array(1_000_000).fill(120);
  encoder.bind("s1", ["before", large, "after"], textFormat);
  encoder.sync();
  const chunks = encoder.take();
  strictEqual(chunks.length, 3);
  strictEqual(chunks[1], large);
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  strictEqual(new DataView(chunks[0]!.slice().buffer).getInt32(1) + 1 + 5, whole.length);
});

type Event = readonly [string, ...unknown[]];

function recorder(wanted = () => true) {
  const events: Event[] = [];
  let body = "";
  const decoder = new FrameDecoder({
    event: (type) => events.push([String.fromCharCode(type)]),
    message: (type, payload) => events.push([String.fromCharCode(type), text.decode(payload)]),
    wantsRow: () => wanted(),
    rowRun: () => null,
    rowStart: (head, length) => {
      body = "";
      events.push(["row", head, length]);
    },
    rowBytes: (bytes) => void (body += String.fromCharCode(...bytes)),
    rowEnd: () => events.push(["body", body]),
  });
  return { events, decoder };
}

const stream = join(
  frame("1"),
  frame("2"),
  row("1", null, "body of the answer"),
  row("é", "more than sixteen characters", "déjà", null),
  row(null),
  row(""),
  row(),
  complete("SELECT 1"),
  failure("42P01", "no such table"),
  frame("N", [0]),
  ready("I"),
);
const expectedEvents: readonly Event[] = [
  ["1"],
  ["2"],
  ["row", ["1", null], 18],
  ["body", "body of the answer"],
  ["row", ["é", "more than sixteen characters", "déjà"], null],
  ["body", ""],
  ["row", [], null],
  ["body", ""],
  ["row", [], 0],
  ["body", ""],
  ["row", [], null],
  ["body", ""],
  ["C"],
  ["E", "SERROR\0C42P01\0Mno such table\0\0"],
  ["N"],
  ["Z", "I"],
];

Deno.test("FrameDecoder gives the same messages wherever the stream is cut", () => {
  for (let first = 0; first <= stream.length; first++) {
    for (const second of [first, Math.min(first + 1, stream.length), stream.length]) {
      const { events, decoder } = recorder();
      for (const [from, to] of [[0, first], [first, second], [second, stream.length]] as const) {
        if (from < to) decoder.push(stream.subarray(from, to));
      }
      deepStrictEqual(events, expectedEvents);
    }
  }
  const { events, decoder } = recorder();
  for (const byte of stream) decoder.push(new Uint8Array([byte]));
  deepStrictEqual(events, expectedEvents);
});

Deno.test("FrameDecoder skips rows that the sink does not want, wherever the stream is cut", () => {
  const expected = expectedEvents.filter(([kind]) => kind !== "row" && kind !== "body");
  for (let cut = 0; cut <= stream.length; cut++) {
    const { events, decoder } = recorder(() => false);
    for (const part of [stream.subarray(0, cut), stream.subarray(cut)]) {
      if (part.length > 0) decoder.push(part);
    }
    deepStrictEqual(events, expected);
  }
});

const garbage: readonly [string, Uint8Array][] = [
  ["an unknown type", new Uint8Array([0, 0, 0, 0, 4])],
  ["text of another protocol", new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n")],
  ["a length below 4", new Uint8Array([0x43, 0, 0, 0, 3])],
  ["a negative length", new Uint8Array([0x43, 255, 255, 255, 255])],
  ["a message of a gigabyte", new Uint8Array([0x43, 0x40, 0, 0, 0])],
  ["a column longer than its row", frame("D", [0, 1], int32(10), [1])],
  ["bytes behind the last column", frame("D", [0, 1], int32(1), [1, 2, 3])],
  ["bytes in a row without columns", frame("D", [0, 0], [1])],
];

Deno.test("FrameDecoder refuses what is not of the protocol", async (t) => {
  for (const [name, bytes] of garbage) {
    await t.step(name, () => throws(() => recorder().decoder.push(bytes), ProtocolError));
  }
});

Deno.test("FrameDecoder collects a long message in linear time", () => {
  const make = (bytes: number) => frame("E", new Uint8Array(bytes).fill(120));
  const run = (message: Uint8Array) => {
    const { events, decoder } = recorder();
    for (let at = 0; at < message.length; at += 100) decoder.push(message.subarray(at, at + 100));
    strictEqual(events.length, 1);
  };
  assertLinearTime("FrameDecoder.push", { size: 2_000_000, make, run });
});

Deno.test("FrameDecoder.push() keeps the beginning of a long error", () => {
  const message = "x".repeat(3_000_000);
  const bytes = join(failure("22P02", message), ready("I"));
  for (const size of [bytes.length, 1_100_000, 65_536, 999]) {
    const told: string[] = [];
    const sink = {
      event: () => {},
      message: (type: number, payload: Uint8Array) => {
        const { C, M = "" } = Object.fromEntries(readFields(payload));
        told.push(type === backend.error ? `${C} ${M.length}` : String(type));
      },
      wantsRow: () => true,
      rowRun: () => null,
      rowStart: () => {},
      rowBytes: () => {},
      rowEnd: () => {},
    };
    const decoder = new FrameDecoder(sink);
    for (let at = 0; at < bytes.length; at += size) decoder.push(bytes.subarray(at, at + size));
    const [error = "", ...rest] = told;
    ok(/^22P02 10[0-9]{5}$/.test(error), `${size}: ${error}`);
    deepStrictEqual(rest, [String(backend.ready)], `${size}`);
  }
});

Deno.test("readFields reads an error's fields; the last one may be cut off", () => {
  deepStrictEqual(
    [...readFields(new TextEncoder().encode("C42P01\0Mno é\0\0"))],
    [["C", "42P01"], ["M", "no é"]],
  );
  deepStrictEqual([...readFields(new TextEncoder().encode("C42P01\0Mcut"))], [
    ["C", "42P01"],
    ["M", "cut"],
  ]);
  strictEqual(backend.error, 0x45);
});

Deno.test("cancelFrame names the process and its key", () => {
  deepStrictEqual(
    [...cancelFrame(1, -2)],
    [0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 255, 255, 255, 254],
  );
});
