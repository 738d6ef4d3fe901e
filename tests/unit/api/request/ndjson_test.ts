import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Payload, PayloadUse } from "../../../../src/api/request/body/body_decoder.ts";
import { payloadReader } from "../../../../src/api/request/body/payload.ts";
import { chunkLengths, decodeInChunks } from "../../../support/clients/in_chunks.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

interface ReadOptions {
  readonly type?: string;
  readonly takes?: PayloadUse;
  readonly columnsGiven?: boolean;
  readonly chunkLength?: number;
}

function read(
  text: string,
  {
    type = "application/x-ndjson",
    takes = "rows",
    columnsGiven = false,
    chunkLength = Infinity,
  }: ReadOptions = {},
): Payload {
  const reader = payloadReader({ contentType: type, takes, columnsGiven });
  const decoder = reader.begin(() => {});
  return decoder.payload(decodeInChunks(decoder, new TextEncoder().encode(text), chunkLength));
}

/** Returns the JSON text of a payload, and its keys. */
function shown(payload: Payload) {
  if (payload.kind !== "json") throw new Error(payload.kind);
  const { shape, keys, text } = payload;
  return { shape, keys, text: new TextDecoder().decode(text) };
}

const rows: readonly (readonly [label: string, body: string, json: string, keys: string[]])[] = [
  ["one line", '{"a":1}\n', '[{"a":1}]', ["a"]],
  ["no last newline", '{"a":1}\n{"a":2}', '[{"a":1},{"a":2}]', ["a"]],
  ["CRLF", '{"a":1}\r\n{"a":2}\r\n', '[{"a":1}\r,{"a":2}\r]', ["a"]],
  ["blank lines", '\n \t\r\n{"a":1}\n\n\n{"a":2}\n\n', '[{"a":1},{"a":2}]', ["a"]],
  ["byte order mark", '\ufeff{"a":1}\n', '[{"a":1}]', ["a"]],
  ["surrogate pairs", '{"é😀":"\\ud83d\\ude00é😀"}\n', '[{"é😀":"\\ud83d\\ude00é😀"}]', ["é😀"]],
  ["escaped newline", '{"a":"x\\ny"}\n', '[{"a":"x\\ny"}]', ["a"]],
  ["nested arrays", '{"b":[[1,{"c":[]}],"]"],"a":{}}', '[{"b":[[1,{"c":[]}],"]"],"a":{}}]', [
    "a",
    "b",
  ]],
  ["numbers", '{"a":-1.50e+3}\n{"a":0}\n', '[{"a":-1.50e+3},{"a":0}]', ["a"]],
  ["no lines", "", "[]", []],
  ["blank lines alone", "\n \n", "[]", []],
  ["empty objects", "{}\n{}", "[{},{}]", []],
];

for (const [label, body, json, keys] of rows) {
  Deno.test(`NdjsonDecoder makes an array of lines: ${label}`, () => {
    for (const chunkLength of chunkLengths) {
      // The first chunk has the whole mark.
      if (body.startsWith("\ufeff") && chunkLength < 3) continue;
      deepStrictEqual(shown(read(body, { chunkLength })), { shape: "array", keys, text: json });
    }
  });
}

const notAnObject = "Empty or invalid json";

const refusals: readonly (readonly [label: string, body: string, line: number])[] = [
  ["array line", '{"a":1}\n\n[{"a":2}]\n', 3],
  ["number line", "5", 1],
  ["two objects", '{"a":1}\n{"a":2} {"a":3}\n', 2],
  ["two objects with a comma", '{"a":1},{"a":2}\n', 1],
  ["comma at the end", '{"a":1},\n{"a":2}\n', 1],
  ["comma at the start", '{"a":1}\n,{"a":2}\n', 2],
  ["end of the array", '{"a":1}\n]\n', 2],
  ["end of the array behind an object", '{"a":1}]\n', 1],
  ["line break inside of an object", '{"a":\n1}\n', 1],
  ["line break inside of a string", '{"a":"\n"}\n', 1],
  ["cut object", '{"a":1}\n{"a":', 2],
  ["text behind an object", '{"a":1} x\n', 1],
  ["CR between objects", '{"a":1}\r{"a":2}\n', 1],
];

for (const [label, body, line] of refusals) {
  Deno.test(`NdjsonDecoder refuses other lines with their numbers: ${label}`, () => {
    for (const chunkLength of chunkLengths) {
      for (const columnsGiven of [false, true]) {
        const details = `Line ${line} is not one JSON object`;
        const refusal = refusalOf(() => read(body, { chunkLength, columnsGiven }));
        deepStrictEqual(refusal, { code: "102", status: 400, message: notAnObject, details });
      }
    }
  });
}

Deno.test("NdjsonDecoder refuses lines with other keys unless columns are given", () => {
  for (const other of ['{"b":1}', "{}", '{"a":1,"b":2}']) {
    const body = `{"a":1}\n\n{"a":2}\n${other}\n`;
    deepStrictEqual(refusalOf(() => read(body)), {
      code: "102",
      status: 400,
      message: "All object keys must match",
      details: "Line 4 has other keys than the first line",
    });
    strictEqual(shown(read(body, { columnsGiven: true })).text, `[{"a":1},{"a":2},${other}]`);
  }
});

Deno.test("NdjsonDecoder gives a function that gets no body no arguments", () => {
  const empty = shown(read("", { takes: "arguments" }));
  deepStrictEqual(empty, { shape: "object", keys: [], text: "{}" });
  strictEqual(shown(read('{"a":1}\n', { takes: "arguments" })).text, '[{"a":1}]');
});

Deno.test("payloadReader() reads lines by each of their media types", () => {
  for (
    const type of [
      "application/x-ndjson",
      "application/jsonl",
      "application/x-jsonlines",
      "Application/X-NDJSON; charset=utf-8",
    ]
  ) strictEqual(shown(read('{"a":1}\n{"a":2}', { type })).text, '[{"a":1},{"a":2}]', type);
});
