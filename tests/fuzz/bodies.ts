/** Properties of the scanners of JSON and CSV bodies. @module */
import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { CsvDecoder } from "../../src/api/request/body/csv.ts";
import { JsonRowsScan } from "../../src/api/request/body/json_rows.ts";
import { expectedRows } from "../unit/api/request/expected_rows.ts";
import {
  attempt,
  bytesOf,
  cutBytes,
  cuts,
  type FuzzTarget,
  fuzzTarget,
  latin1,
  strictUtf8,
  texts,
  unlessRefused,
} from "./fuzz_target.ts";

/** Bytes, as characters up to U+00FF. */
function bodies(examples: readonly string[], tokens: readonly string[]) {
  const utf8 = (text: string) => latin1(new TextEncoder().encode(text));
  const broken = ["\xff", "\xc3", "\xa9", "\xed\xa0\x80", "\xef\xbb\xbf", "\0"];
  const bytes = texts(examples.map(utf8), [...tokens.map(utf8), ...broken]);
  return fc.record({ bytes, lengths: cuts });
}

const jsonBodies = bodies(
  ['[{"a":1,"é":[true,null]},{"é":-1.5e+3,"a":"x\\"y\\\\"}]', '{"a":{"b":[{}]},"c":""}'],
  [
    ...'{}[],:"\\ \n0-.e',
    ...'"a": "\\u0061": \\ud83d null true 1.5 é😀'.split(" "),
    "x".repeat(30),
  ],
);
const csvBodies = bodies(
  ['a,b\n1,"2"\r\nNULL,"x,""y""\n"\r3,4', '\ufeff"é",b,a\n,"NULL",\n\n5,6,7,8\n'],
  [...'",\n\r a', '""', "\r\n", "NULL", "a,b\n", "1,2\n", "é😀"],
);

/** Returns the rows that the decoder writes; undefined if it refuses the body. */
function decodedCsv(bytes: string, lengths: readonly number[]): unknown {
  return unlessRefused(() => {
    const decoder = new CsvDecoder("rows", () => {});
    const chunks = Array.from(cutBytes(bytesOf(bytes), lengths), (chunk) => decoder.write(chunk));
    const json = [...chunks, decoder.end()].map(latin1).join("");
    return JSON.parse(strictUtf8.decode(bytesOf(json)));
  });
}

/** Returns the records of CSV as fields and whether they have quotes; null if it is malformed. */
function csvRecords(text: string): (readonly [field: string, isQuoted: boolean])[][] | null {
  const records: [string, boolean][][] = [];
  const field = /("((?:[^"]|"")*)"|[^",\r\n]*)(,|[\r\n]|$)/y;
  while (field.lastIndex < text.length) {
    if (/[\r\n]/.test(text[field.lastIndex]!)) {
      field.lastIndex++;
      continue;
    }
    const record: [string, boolean][] = [];
    for (let end = ","; end === ",";) {
      const match = field.exec(text);
      if (match === null) return null;
      record.push([match[2]?.replaceAll('""', '"') ?? match[1]!, match[2] !== undefined]);
      end = match[3]!;
      if (end === "" && records.length === 0) return null;
    }
    records.push(record);
  }
  return records;
}

/** Returns the rows of CSV; undefined if it is malformed. */
function csvRows(bytes: string): unknown[] | undefined {
  const text = attempt(() => strictUtf8.decode(bytesOf(bytes)))?.value.replace(/^\ufeff/, "");
  const [header, ...records] = text === undefined ? [] : csvRecords(text) ?? [];
  if (header === undefined || bytes.includes("\0")) return undefined;
  if (records.some((record) => record.length !== header.length)) return undefined;
  if (new Set(header.map(([name]) => name)).size < header.length) return undefined;
  return records.map((record) =>
    Object.fromEntries(
      record.map(([field, isQuoted], at) => [
        header[at]![0],
        !isQuoted && (field === "" || field === "NULL") ? null : field,
      ]),
    )
  );
}

const malformed = { kind: "malformed" };

export const bodyTargets: readonly FuzzTarget[] = [
  fuzzTarget({
    name: "JSON bodies have the rows that JSON.parse finds",
    runs: 20_000,
    values: jsonBodies,
    check: ({ bytes, lengths }) => {
      // V8 15.0 may take a key of one escaped character, as "\n", for the key "\\".
      if (bytes.includes('"\\')) return;
      const scan = new JsonRowsScan();
      const isRead = cutBytes(bytesOf(bytes), lengths).every((chunk) => scan.push(chunk));
      const read = attempt(() => JSON.parse(strictUtf8.decode(bytesOf(bytes))));
      const expected = read === undefined ? malformed : expectedRows(read.value);
      deepStrictEqual(isRead ? scan.end() : malformed, expected);
    },
  }),
  fuzzTarget({
    name: "CSV bodies have the rows that a plain reader finds",
    runs: 20_000,
    values: csvBodies,
    check: ({ bytes, lengths }) => deepStrictEqual(decodedCsv(bytes, lengths), csvRows(bytes)),
  }),
];
