import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { maxNames } from "../../../../src/api/request/body/body_names.ts";
import { type JsonRows, JsonRowsScan } from "../../../../src/api/request/body/json_rows.ts";
import { chunkLengths, chunksOf } from "../../../support/clients/in_chunks.ts";
import { expectedRows } from "./expected_rows.ts";

const encoder = new TextEncoder();

function readChunks(bytes: Uint8Array, length: number): JsonRows {
  const scan = new JsonRowsScan();
  for (const chunk of chunksOf(bytes, length)) {
    if (!scan.push(chunk)) return { kind: "malformed" };
  }
  return scan.end();
}

/** Reads bytes however they may be cut. */
function readJsonRows(bytes: Uint8Array): JsonRows {
  const whole = readChunks(bytes, Infinity);
  for (const length of chunkLengths) deepStrictEqual(readChunks(bytes, length), whole);
  return whole;
}

function read(text: string): JsonRows {
  return readJsonRows(encoder.encode(text));
}

const object = (...keys: string[]): JsonRows => ({
  kind: "rows",
  shape: "object",
  keys,
  moreKeys: 0,
});
const array = (...keys: string[]): JsonRows => ({
  kind: "rows",
  shape: "array",
  keys,
  moreKeys: 0,
});

Deno.test("JsonRowsScan finds the keys of rows", () => {
  const rows: [text: string, expected: JsonRows][] = [
    ["{}", object()],
    [' {"b":1,\t"a" : [1, {"c": "}"}]}\r\n', object("a", "b")],
    ['{"a":1,"a":2}', object("a")],
    ['{"":0}', object("")],
    ['{"\\u0061":1,"a":2}', object("a")],
    ['{"é":1,"\\u00e9":2,"\\ud83d\\ude00":3}', object("é", "😀")],
    ['{"__proto__":1,"constructor":2}', object("__proto__", "constructor")],
    ['{"a":"\\"{[,:\\\\","b":-0.5e+3}', object("a", "b")],
    ["[{}]", array()],
    ["[{},{}]", array()],
    ['[{"a":1,"b":2},{"b":1,"a":2}]', array("a", "b")],
    ['[{"a":1,"b":2},{"a":1,"b":2,"a":3}]', array("a", "b")],
    ['[{"a":1,"a":2,"b":0},{"b":1,"a":2}]', array("a", "b")],
    ['[{"a":1},{"\\u0061":1},{"a":null}]', array("a")],
    ["[]", { kind: "none", isScalar: false }],
    [" [ ] ", { kind: "none", isScalar: false }],
    ["5", { kind: "none", isScalar: true }],
    ['"x"', { kind: "none", isScalar: true }],
    ["null", { kind: "none", isScalar: true }],
    ["true", { kind: "none", isScalar: true }],
    ["[1,2]", { kind: "mixed" }],
    ["[[]]", { kind: "mixed" }],
    ['[{"a":1},null]', { kind: "mixed" }],
    ['[1,{"a":1}]', { kind: "mixed" }],
    ['[{"a":1},{"b":1}]', { kind: "mixed" }],
    ['[{"a":1},{}]', { kind: "mixed" }],
    ['[{},{"a":1}]', { kind: "mixed" }],
    ['[{"a":1},{"a":1,"b":1}]', { kind: "mixed" }],
    ['[{"a":1,"b":1},{"a":1}]', { kind: "mixed" }],
    ['[{"a":1,"b":1},{"a":1,"a":1}]', { kind: "mixed" }],
    ['[{"a":1,"b":1},{"a":1,"c":1}]', { kind: "mixed" }],
    ['[{"a":1},{"b":1},]', { kind: "malformed" }],
    ['[1,{"a":}]', { kind: "malformed" }],
  ];
  for (const [text, expected] of rows) deepStrictEqual(read(text), expected, text);
});

const malformed = [
  "",
  " ",
  "{",
  "}",
  "[",
  "]",
  "[1",
  "[1,",
  "[,1]",
  "[1,]",
  "[1 2]",
  "[1}",
  "{]",
  "{,}",
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{"a":1 "b":2}',
  "{a:1}",
  "{'a':1}",
  "{1:1}",
  '{"a":[}]}',
  '{"a":[1}',
  '{"a":{"b":1]}',
  "{}{}",
  "{} x",
  "[]]",
  "nul",
  "nulll",
  "True",
  "undefined",
  "NaN",
  "Infinity",
  "-",
  "+1",
  "01",
  "-01",
  "1.",
  ".5",
  "1e",
  "1e+",
  "1.e5",
  "0x10",
  "1_000",
  '"',
  '"a',
  '"\n"',
  '"\t"',
  '"\\x"',
  '"\\u12"',
  '"\\u12g4"',
  '"\\',
  "\v1",
  "\u00a01",
  "\ufeff1",
  "// c\n1",
  '"a\0b"',
  "{\0}",
];

Deno.test("JsonRowsScan refuses what JSON.parse refuses", () => {
  for (const text of malformed) {
    let parses = true;
    try {
      JSON.parse(text);
    } catch {
      parses = false;
    }
    strictEqual(parses, false, text);
    deepStrictEqual(read(text), { kind: "malformed" }, text);
    deepStrictEqual(read(`{"a":${text}}`), { kind: "malformed" }, text);
    deepStrictEqual(read(`[{"a":${text}}]`), { kind: "malformed" }, text);
  }
});

Deno.test("JsonRowsScan refuses a number and a word at the first byte that does not fit", () => {
  for (const text of ["[1a", "[-,", "[01", "[1..", "[1e+e", "[tra", "[nulll", "a", "\xff"]) {
    const scan = new JsonRowsScan({ keysMayVary: true });
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    strictEqual(scan.push(bytes.subarray(0, -1)), true, text);
    strictEqual(scan.push(bytes.subarray(-1)), false, text);
  }
});

Deno.test("JsonRowsScan takes no control characters but as blanks", () => {
  for (let code = 0; code <= 0x20; code++) {
    const character = String.fromCharCode(code);
    const inside = code < 0x20 ? "malformed" : "none";
    strictEqual(read(`"a${character}b"`).kind, inside, `${code}`);
    const isBlank = ["\t", "\n", "\r", " "].includes(character);
    strictEqual(read(`${character}1`).kind, isBlank ? "none" : "malformed", `${code}`);
  }
  strictEqual(read('"a\x7fb"').kind, "none");
});

Deno.test("JsonRowsScan reads every value that JSON.stringify writes", () => {
  const key = fc.oneof(fc.constantFrom("a", "b", "é", "\n", '"', "\\", "__proto__"), fc.string());
  const json = fc.oneof(
    fc.jsonValue({ depthSize: "medium" }),
    fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true }),
    fc.array(fc.dictionary(fc.constantFrom("a", "b"), fc.jsonValue()), { maxLength: 3 }),
    fc.array(fc.record({ a: fc.jsonValue(), é: fc.jsonValue() }), { maxLength: 5 }),
  );
  fc.assert(
    fc.property(json, fc.constantFrom("", " ", "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      deepStrictEqual(read(text), expectedRows(value));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("JsonRowsScan takes UTF-8 alone", () => {
  const strict = new TextDecoder("utf-8", { fatal: true });
  const isUtf8 = (bytes: Uint8Array) => {
    try {
      strict.decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  const check = (inside: readonly number[]) => {
    const bytes = Uint8Array.from([0x22, ...inside, 0x22]);
    const expected = isUtf8(bytes) ? "none" : "malformed";
    strictEqual(readJsonRows(bytes).kind, expected, inside.join(" "));
    const key = Uint8Array.from([...encoder.encode('{"'), ...inside, ...encoder.encode('":1}')]);
    strictEqual(readJsonRows(key).kind, isUtf8(bytes) ? "rows" : "malformed");
  };
  const edges = [0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0];
  for (let lead = 0x80; lead <= 0xff; lead++) {
    check([lead]);
    for (const second of edges) {
      check([lead, second]);
      for (const third of [0x7f, 0x80, 0xbf, 0xc0]) {
        check([lead, second, third]);
        check([lead, second, third, 0x7f]);
        check([lead, second, third, 0x80]);
      }
    }
  }
  strictEqual(readJsonRows(Uint8Array.from([0xc3, 0xa9])).kind, "malformed");
});

Deno.test("JsonRowsScan knows the keys when the first row has ended or has too many", () => {
  const rows: [before: string, after: string, expected: JsonRows][] = [
    ['[{"a":1,"b":{}', "}", array("a", "b")],
    ['{"a":{"c":[{}]}', "}", object("a")],
    ['[{"a":1},5', ",", { kind: "mixed" }],
  ];
  for (const [before, after, expected] of rows) {
    const scan = new JsonRowsScan();
    scan.push(encoder.encode(before));
    strictEqual(scan.areKeysKnown, expected.kind === "mixed", before);
    scan.push(encoder.encode(after));
    strictEqual(scan.areKeysKnown, true, before);
    deepStrictEqual(scan.rows(), expected, before);
  }
  const scan = new JsonRowsScan();
  const keys = Array.from({ length: maxNames }, (_, at) => `"k${at}":0`);
  scan.push(encoder.encode(`{${keys}`));
  strictEqual(scan.areKeysKnown, false);
  scan.push(encoder.encode(',"one more"'));
  strictEqual(scan.areKeysKnown, true);
});

Deno.test("JsonRowsScan keeps no more of keys than matters", () => {
  const keys = Array.from({ length: 10_000 }, (_, at) => `"k${at}":0`);
  const kept = { kind: "rows", keys: maxNames, moreKeys: 10_000 - maxNames } as const;
  const shown = (rows: JsonRows) =>
    rows.kind === "rows" ? { ...rows, keys: rows.keys.length } : rows;
  const whole = (text: string) => shown(readChunks(encoder.encode(text), Infinity));
  deepStrictEqual(whole(`{${keys}}`), { ...kept, shape: "object" });
  deepStrictEqual(whole(`[{${keys}},{${keys}}]`), { ...kept, shape: "array" });
  const long = "x".repeat(100_000);
  const cut = `${"x".repeat(1024)}…`;
  for (const length of [1000, Infinity]) {
    const readBy = (text: string) => readChunks(encoder.encode(text), length);
    deepStrictEqual(readBy(`{"${long}":1}`), object(cut));
    deepStrictEqual(readBy(`[{"${long}":1},{"${long}":2}]`), array(cut));
    deepStrictEqual(readBy(`[{"${long}":1},{"x":2}]`), { kind: "mixed" });
    deepStrictEqual(readBy(`{"${"\\u0041".repeat(1000)}":1}`).kind, "rows");
  }
  // What ends in the middle of an escape or of a character is cut there.
  for (const text of ["\\u00e9", "é", "😀"]) {
    for (let before = 1020; before < 1026; before++) {
      strictEqual(read(`{"${"x".repeat(before)}${text}":1}`).kind, "rows");
    }
  }
});

Deno.test("JsonRowsScan collects the keys of all rows where they may vary", () => {
  const rows: [text: string, keys: readonly string[], keysVary: boolean][] = [
    ['[{"a":1},{"a":2}]', ["a"], false],
    ['[{"a":1},{"b":2}]', ["a", "b"], true],
    ['[{"a":1,"b":1},{"a":2}]', ["a", "b"], true],
    ['[{"b":1},{"a":1,"b":1}]', ["a", "b"], true],
    ['[{},{"a":1}]', ["a"], true],
    ['[{"a":1},{}]', ["a"], true],
    ['[{"a":1,"a":2},{"a":3}]', ["a"], false],
  ];
  for (const [text, keys, keysVary] of rows) {
    for (const length of chunkLengths) {
      const scan = new JsonRowsScan({ keysMayVary: true });
      const bytes = encoder.encode(text);
      for (let at = 0; at < bytes.length; at += length) scan.push(bytes.subarray(at, at + length));
      const expected = { kind: "rows", shape: "array", keys, moreKeys: 0 } as const;
      deepStrictEqual(scan.end(), keysVary ? { ...expected, keysVary: true } : expected, text);
    }
  }
  const scan = new JsonRowsScan({ keysMayVary: true });
  scan.push(encoder.encode('[{"a":1},5]'));
  deepStrictEqual(scan.end(), { kind: "mixed" });
});
