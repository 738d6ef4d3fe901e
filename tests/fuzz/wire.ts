/** Properties of the decoder of PostgreSQL's messages. @module */
import { deepStrictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { FrameDecoder, ProtocolError } from "../../src/database/protocol/decoder.ts";
import { complete, failure, frame, int32, ready, row } from "../support/database/fake_backend.ts";
import { bytesOf, cutBytes, cuts, type FuzzTarget, fuzzTarget, latin1 } from "./fuzz_target.ts";

/** Whether the sink takes each row by itself, joins the last columns of all, or skips rows. */
type Rows = "each" | "run" | "none";
const taken = ["each", "run"] as const;

/** Returns what the sink receives of a stream in pieces; the bytes of a value are joined. */
function decode(stream: string, lengths: readonly number[], rows: Rows): readonly string[] {
  const events: string[] = [];
  const run = { separator: bytesOf(", "), hasValues: false, trimmedBytes: 0 };
  let body = "";
  const add = (event: string) => {
    if (body !== "") events.push(`body ${body}`);
    body = "";
    events.push(event);
  };
  const decoder = new FrameDecoder({
    event: (type) => add(`event ${type}`),
    message: (type, payload) => add(`message ${type} ${latin1(payload)}`),
    wantsRow: () => rows !== "none",
    rowRun: () => rows === "run" ? run : null,
    rowStart: (head, length) => add(`row ${JSON.stringify([head, length])}`),
    rowBytes: (part) => body += latin1(part),
    rowEnd: () => add("end"),
  });
  for (const chunk of cutBytes(bytesOf(stream), lengths)) decoder.push(chunk);
  add("last");
  return events;
}

const columns = fc.array(
  fc.option(fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom("", "é😀", "x".repeat(40)))),
  { maxLength: 4 },
);
const message = fc.oneof(
  columns.map((each) => row(...each)),
  fc.constantFrom(frame("1"), frame("2"), complete("SELECT 1"), ready("I"), ready("T")),
  fc.string({ maxLength: 20 }).map((each) => failure("42P01", each)),
  fc.tuple(fc.constantFrom(..."NASTtnIGHW"), fc.array(fc.nat(255), { maxLength: 8 }))
    .map(([type, payload]) => frame(type, payload)),
).map(latin1);
const stream = fc.array(message, { maxLength: 6 }).map((parts) => parts.join(""));

/** Lengths that no message has, and rows whose columns are longer or shorter than they are. */
const hostile = fc.oneof(
  fc.tuple(fc.constantFrom(..."CZ1D"), fc.integer({ max: 3 })),
  fc.tuple(fc.constantFrom(..."CZ1N"), fc.integer({ min: 256 * 1024 * 1024 + 1 })),
  fc.tuple(fc.constantFrom(..."xyz\0"), fc.nat(20)),
).map(([type, length]) => type + latin1(new Uint8Array(int32(length))));
const uneven = fc.tuple(columns, fc.integer({ min: -3, max: 3 }).filter((by) => by !== 0)).map((
  [each, by],
) => {
  const bytes = row(...each);
  const length = Math.max(bytes.length - 1 + by, 4);
  return "D" + latin1(new Uint8Array(int32(length))) + latin1(bytes.subarray(5)) +
    "\0".repeat(Math.max(by, 0));
});

export const wireTargets: readonly FuzzTarget[] = [
  fuzzTarget({
    name: "messages are the same wherever the stream is cut",
    runs: 20_000,
    values: fc.record({ stream, lengths: cuts, rows: fc.constantFrom<Rows>(...taken, "none") }),
    check: ({ stream, lengths, rows }) =>
      deepStrictEqual(decode(stream, lengths, rows), decode(stream, [], rows)),
  }),
  fuzzTarget({
    name: "hostile lengths are refused wherever the stream is cut",
    runs: 20_000,
    values: fc.record({
      stream: fc.tuple(stream, fc.oneof(hostile, uneven))
        .map(([before, bad]) => before + bad + latin1(ready("I")).repeat(2)),
      lengths: cuts,
      rows: fc.constantFrom<Rows>(...taken),
    }),
    check: ({ stream, lengths, rows }) =>
      throws(() => decode(stream, lengths, rows), ProtocolError),
  }),
];
