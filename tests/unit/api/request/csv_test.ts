import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { maxNames } from "../../../../src/api/request/body/body_names.ts";
import { CsvDecoder } from "../../../../src/api/request/body/csv.ts";
import { chunkLengths, decodeInChunks } from "../../../support/clients/in_chunks.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";
import type { Payload } from "../../../../src/api/request/body/body_decoder.ts";

const encoder = new TextEncoder();

interface Converted {
  readonly json: string;
  readonly keys: readonly string[];
  /** What the reader said of the keys, and behind how much of the text. */
  readonly told: readonly (readonly string[])[];
}

function convert(
  csv: string | Uint8Array,
  { length = Infinity, firstRowOnly = false } = {},
): Converted {
  const told: (readonly string[])[] = [];
  const reader = new CsvDecoder(
    firstRowOnly ? "arguments" : "rows",
    (payload) => void told.push(keysOf(payload)),
    "row text",
  );
  const bytes = typeof csv === "string" ? encoder.encode(csv) : csv;
  const json = new TextDecoder().decode(decodeInChunks(reader, bytes, length));
  return { json, keys: keysOf(reader.payload(bytes)), told };
}

function keysOf(payload: Payload): readonly string[] {
  return payload.kind === "json" ? payload.keys ?? [] : [];
}

Deno.test("CsvDecoder writes an object for each line below the names", () => {
  const rows: [csv: string, json: string, keys: string[]][] = [
    ["a\n", "[]", []],
    ["a,b\n1,2\n", '[{"a":"1","b":"2"}]', ["a", "b"]],
    ["b,a\r\n1,2\r\n3,4", '[{"b":"1","a":"2"},{"b":"3","a":"4"}]', ["a", "b"]],
    ["a,b\r1,2", '[{"a":"1","b":"2"}]', ["a", "b"]],
    ["a\n1\r\n2\n", '[{"a":"1"},{"a":"2"}]', ["a"]],
    ["\n\r\na\n\n1\n\n\n", '[{"a":"1"}]', ["a"]],
    ["\ufeffa\n1", '[{"a":"1"}]', ["a"]],
    ["a\n\ufeff1", '[{"a":"\ufeff1"}]', ["a"]],
    ["a, b\n 1 ,\t2\n", '[{"a":" 1 "," b":"\\t2"}]', [" b", "a"]],
    ["a,b\n,\n1,", '[{"a":"","b":""},{"a":"1","b":""}]', ["a", "b"]],
    ['"a","b"\n"x,""y""","1\r\n2"\n', '[{"a":"x,\\"y\\"","b":"1\\r\\n2"}]', ["a", "b"]],
    ['a\n""\n', '[{"a":""}]', ["a"]],
    ['a\n""""', '[{"a":"\\""}]', ["a"]],
    ["é\n😀\n", '[{"é":"😀"}]', ["é"]],
    ["a\n\\\b\f\v\x1f\x7f", '[{"a":"\\\\\\b\\f\\u000b\\u001f\x7f"}]', ["a"]],
    ['"q""","é\r\n"\n1,2', '[{"q\\"":"1","é\\r\\n":"2"}]', ['q"', "é\r\n"]],
    ["__proto__\n1", '[{"__proto__":"1"}]', ["__proto__"]],
    // NULL
    ['a\nNULL\n"NULL"\nnull\n', '[{"a":null},{"a":null},{"a":"null"}]', ["a"]],
    [
      "a\nN\nNUL\nNULLS\nNNULL\n NULL",
      '[{"a":"N"},{"a":"NUL"},{"a":"NULLS"},{"a":"NNULL"},{"a":" NULL"}]',
      ["a"],
    ],
    [
      'a,b\nNULL,\n,NULL\n"NU""LL",NULL',
      '[{"a":null,"b":""},{"a":"","b":null},{"a":"NU\\"LL","b":null}]',
      ["a", "b"],
    ],
  ];
  for (const [csv, json, keys] of rows) {
    for (const length of chunkLengths) {
      const expected = { json, keys, told: json === "[]" ? [] : [keys] };
      deepStrictEqual(convert(csv, { length }), expected, `${JSON.stringify(csv)} by ${length}`);
    }
    JSON.parse(json);
  }
});

Deno.test("CsvDecoder says what is wrong", () => {
  const inBody = (what: string, line: number) =>
    `parse error (${what}) at line ${line} of the CSV body`;
  const uneven = "All lines must have same number of fields";
  const notUtf8 = "The body is not UTF-8 text";
  const nul = "The body holds the character NUL";
  const rows: [csv: string | Uint8Array, message: string, details?: string][] = [
    ["", inBody("no names", 1)],
    ["\n\n", inBody("no names", 1)],
    ["\ufeff", inBody("no names", 1)],
    ["a,b", inBody("no line break", 1)],
    ["a,", inBody("no line break", 1)],
    ['"a"', inBody("no line break", 1)],
    ['"a', inBody("quote not closed", 1)],
    ['a\n"1', inBody("quote not closed", 2)],
    ['a\n1\n"1"" \n', inBody("quote not closed", 3)],
    ['a\n"1"2\n', inBody("text after a closing quote", 2)],
    ['a\n\n\n"1" ,\n', inBody("text after a closing quote", 2)],
    ['a\n1"2\n', inBody("quote in a field without quotes", 2)],
    ['a\n1,2"\n', inBody("quote in a field without quotes", 2)],
    ["a,b\n1,2\n3\n", uneven, "line 3 has 1, and the line of names 2"],
    ["a,b\n1\n2,3", uneven, "line 2 has 1, and the line of names 2"],
    ["a,b\n1\n2", uneven, "line 2 has 1, and the line of names 2"],
    ["a,a\n1,2", inBody("a name occurs twice", 1)],
    ['a,b,"a"\n1,2,3', inBody("a name occurs twice", 1)],
    [",\n1,2", inBody("a name occurs twice", 1)],
    ["a\n1,2,3\n4", uneven, "line 2 has 3, and the line of names 1"],
    ['a\n1,"2\n",3\n4', uneven, "line 2 has 3, and the line of names 1"],
    ["a,b\n1,2,\n", uneven, "line 2 has 3, and the line of names 2"],
    ["a,b,\n1,2\n", uneven, "line 2 has 2, and the line of names 3"],
    ["a\n\0\n", nul],
    ["\0\n1\n", nul],
    [Uint8Array.from([0x61, 0x0a, 0xff]), notUtf8],
    [Uint8Array.from([0x61, 0x0a, 0xc3]), notUtf8],
    [Uint8Array.from([0x61, 0x0a, 0xed, 0xa0, 0x80]), notUtf8],
    [Uint8Array.from([0xef, 0xbb]), notUtf8],
    [Uint8Array.from([0xff, 0xfe, 0x61]), notUtf8],
  ];
  for (const [csv, message, details] of rows) {
    for (const length of chunkLengths) {
      const refusal = refusalOf(() => convert(csv, { length }));
      const expected = { code: "102", status: 400, message, ...details && { details } };
      deepStrictEqual(refusal, expected, `${csv} by ${length}`);
    }
  }
});

Deno.test("CsvDecoder reads every table that can be printed", () => {
  const field = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'a",\n\r \té😀NUL') }))
    .map((text) => text.replaceAll("\0", "").toWellFormed());
  const width = 3;
  const line = fc.array(field, { minLength: width, maxLength: width });
  const table = fc.array(line, { maxLength: 5 });
  const lineBreak = fc.constantFrom("\n", "\r\n", "\r", "\n\n");
  const lengths = fc.constantFrom(...chunkLengths);
  const names = ["a", "b", "c"];
  fc.assert(fc.property(table, lineBreak, lengths, (lines, end, length) => {
    const print = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const text = [names, ...lines].map((fields) => fields.map(print).join(",") + end).join("");
    const expected = lines.map((fields) =>
      Object.fromEntries(names.map((name, at) => [name, fields[at] === "NULL" ? null : fields[at]]))
    );
    deepStrictEqual(JSON.parse(convert(text, { length }).json), expected);
  }));
});

Deno.test("CsvDecoder stops at the first row when that is enough, but reads on", () => {
  const first = { firstRowOnly: true };
  strictEqual(convert("a,b\n1,2\n3,4\n5,6", first).json, '[{"a":"1","b":"2"}]');
  strictEqual(convert("a\n", first).json, "[]");
  // The whole is the value of a single unnamed parameter.
  strictEqual(convert('""\n1\n2', first).json, '[{"":"1"},{"":"2"}]');
  strictEqual(refusalOf(() => convert("a,b\n1,2\n3", first)).code, "102");
  strictEqual(refusalOf(() => convert('a\n1\n"3', first)).code, "102");
});

Deno.test("CsvDecoder says the keys behind the first row, and ends when they are refused", () => {
  let told = 0;
  const reader = new CsvDecoder("rows", () => {
    told++;
    throw new Error("no such column");
  }, "row text");
  reader.write(encoder.encode("a,b\n1,"));
  strictEqual(told, 0);
  throws(() => reader.write(encoder.encode("2\n3,4\n5,6\n")), /^Error: no such column$/);
  strictEqual(told, 1);
});

Deno.test("CsvDecoder keeps no more of names than matters", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
  const line = (count: number) => names(count).join(",");
  strictEqual(convert(`${line(maxNames)}\n${line(maxNames)}\n`).keys.length, maxNames);
  deepStrictEqual(refusalOf(() => convert(`${line(maxNames + 1)}\n1\n`)), {
    code: "102",
    status: 400,
    message: "parse error (more than 4096 names) at line 1 of the CSV body",
  });
  const long = "x".repeat(1_000_000);
  for (const length of [1000, Infinity]) {
    deepStrictEqual(convert(`${long},b\n1,2`, { length }).keys, ["b", `${"x".repeat(1024)}…`]);
  }
});

Deno.test("CsvDecoder writes as much more as there is more to read, in linear time", () => {
  const shapes: [name: string, make: (count: number) => string][] = [
    ["short lines", (count) => `a\n${"b\n".repeat(count)}`],
    ["a long field", (count) => `a\n${"b".repeat(count)}`],
    ["a long field in quotes", (count) => `a\n"${"b".repeat(count)}"`],
    ["doubled quotes", (count) => `a\n"${'""'.repeat(count)}"`],
    ["escapes", (count) => `a\n${"\x01".repeat(count)}`],
    ["nulls", (count) => `a\n${"NULL\n".repeat(count)}`],
    ["blank lines", (count) => `a\n${"\n".repeat(count)}`],
    [
      "wide lines",
      (count) =>
        `${[...Array(1000).keys()].join(",")},\n${("1,".repeat(1000) + "\n").repeat(count / 1000)}`,
    ],
  ];
  for (const [name, make] of shapes) {
    const size = 20_000;
    const lengthOf = (count: number) => convert(make(count)).json.length;
    strictEqual(lengthOf(2 * size) - lengthOf(size), lengthOf(3 * size) - lengthOf(2 * size), name);
    const run = (bytes: Uint8Array) => {
      const reader = new CsvDecoder("rows", () => {}, "row text");
      for (let at = 0; at < bytes.length; at += 65_536) {
        reader.write(bytes.subarray(at, at + 65_536));
      }
      reader.end();
    };
    const bytes = (count: number) => encoder.encode(make(count));
    assertLinearTime(`CsvDecoder of ${name}`, { size: 200_000, make: bytes, run });
  }
});

const nulls: readonly (readonly [field: string, exact: unknown, rowText: unknown])[] = [
  ["", null, ""],
  ["NULL", null, null],
  ['""', "", ""],
  ['"NULL"', "NULL", null],
  ["NULLS", "NULLS", "NULLS"],
  ["NUL", "NUL", "NUL"],
  ['"NUL"', "NUL", "NUL"],
];

for (const [field, exact, rowText] of nulls) {
  Deno.test(`CsvDecoder reads the field ${field || "of no text"} as each form has NULL`, () => {
    for (const [form, expected] of [["exact", exact], ["row text", rowText]] as const) {
      for (const body of [`a,b\n${field},x`, `b,a\nx,${field}`, `b,a\nx,${field}\n`]) {
        const reader = new CsvDecoder("rows", () => {}, form);
        const pieces = Array.from(
          new TextEncoder().encode(body),
          (code) => new TextDecoder().decode(reader.write(Uint8Array.of(code))),
        );
        const [row] = JSON.parse(pieces.join("") + new TextDecoder().decode(reader.end()));
        deepStrictEqual(row, { a: expected, b: "x" });
      }
    }
  });
}
