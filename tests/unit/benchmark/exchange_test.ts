import { deepStrictEqual, throws } from "node:assert/strict";
import { AnswerReader, type Exchange } from "../../../tools/benchmark/exchange.ts";

/** Reads pieces that arrive one millisecond after the other. */
function readPieces(pieces: readonly string[]): Exchange {
  let time = 100;
  const reader = new AnswerReader(time, () => time);
  for (const piece of pieces) {
    time++;
    reader.push(new TextEncoder().encode(piece));
  }
  time++;
  return reader.end();
}

const head = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n";

const answers: readonly (readonly [what: string, pieces: readonly string[], answer: Exchange])[] = [
  [
    "times the first byte of the body, not of the head",
    [head, "abc", "def"],
    { status: 200, firstByte: 2, total: 4, bytes: 6 },
  ],
  [
    "takes a body that comes with its head",
    [head + "abcdef"],
    { status: 200, firstByte: 1, total: 2, bytes: 6 },
  ],
  [
    "takes a head in pieces",
    ["HTTP/1.1 200 OK\r\ncontent-length: 6\r", "\n\r", "\nab", "cdef"],
    { status: 200, firstByte: 3, total: 5, bytes: 6 },
  ],
  [
    "counts to the end without a length",
    ["HTTP/1.1 200 OK\r\nX: y\r\n\r\n", "abc"],
    { status: 200, firstByte: 2, total: 3, bytes: 3 },
  ],
  [
    "takes an answer without a body",
    ["HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"],
    { status: 201, firstByte: 2, total: 2, bytes: 0 },
  ],
  [
    "does not look for the length in the body",
    ["HTTP/1.1 200 OK\r\nX: y\r\n\r\n\r\ncontent-length: 9\r\n"],
    { status: 200, firstByte: 1, total: 2, bytes: 21 },
  ],
];

for (const [what, pieces, answer] of answers) {
  Deno.test(`AnswerReader ${what}`, () => deepStrictEqual(readPieces(pieces), answer));
}

const broken: readonly (readonly [what: string, pieces: readonly string[], message: RegExp])[] = [
  ["a body that broke off", [head, "abc"], /^Error: 3 of 6 bytes came$/],
  ["a head that broke off", ["HTTP/1.1 200 OK\r\n"], /^Error: no answer: HTTP/],
  ["no answer at all", [], /^Error: no answer: $/],
];

for (const [what, pieces, message] of broken) {
  Deno.test(`AnswerReader refuses ${what}`, () => {
    throws(() => readPieces(pieces), message);
  });
}
