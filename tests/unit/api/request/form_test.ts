import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { maxNames } from "../../../../src/api/request/body/body_names.ts";
import {
  fieldsToJson,
  FormDecoder,
  maxFormBytes,
  maxFormFields,
} from "../../../../src/api/request/body/form.ts";
import { chunkLengths, decodeInChunks } from "../../../support/clients/in_chunks.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function encoded(form: string | Uint8Array): Uint8Array {
  return typeof form === "string" ? encoder.encode(form) : form;
}

function toJson(form: string | Uint8Array, length?: number) {
  const reader = new FormDecoder("rows");
  const payload = reader.payload(decodeInChunks(reader, encoded(form), length));
  if (payload.kind !== "json") throw new Error("expected a row");
  return { json: decoder.decode(payload.text), keys: payload.keys, moreKeys: payload.moreKeys };
}

function toArguments(form: string | Uint8Array, length?: number) {
  const reader = new FormDecoder("arguments");
  const payload = reader.payload(decodeInChunks(reader, encoded(form), length));
  if (payload.kind !== "form") throw new Error("expected arguments");
  return { fields: payload.fields, keys: payload.keys, moreKeys: payload.moreKeys };
}

type Fields = readonly (readonly [name: string, value: string])[];

const forms: readonly (readonly [form: string, fields: Fields])[] = [
  ["", []],
  ["&&", []],
  ["a=1&b=x+y", [["a", "1"], ["b", "x y"]]],
  ["a=1&a=2", [["a", "1"], ["a", "2"]]],
  ["a", [["a", ""]]],
  ["a=&=b&&=", [["a", ""], ["", "b"], ["", ""]]],
  ["a=b=c;d", [["a", "b=c;d"]]],
  ["?a=1", [["?a", "1"]]],
  ["%C3%A9+=%26%3D%2B%25", [["é ", "&=+%"]]],
  ["a=%zz%2&%=%%41%4", [["a", "%zz%2"], ["%", "%A%4"]]],
  ["a%3Db=%0d%0A", [["a=b", "\r\n"]]],
  ["é=😀%F0%9F%98%80", [["é", "😀😀"]]],
  ["\ufeffa=\ufeff", [["a", "\ufeff"]]],
  ["__proto__=1", [["__proto__", "1"]]],
  ['%22=\\"', [['"', '\\"']]],
];

Deno.test("FormDecoder reads arguments in order", () => {
  for (const [form, fields] of forms) {
    const keys = [...new Set(fields.map(([name]) => name))].sort();
    for (const length of chunkLengths) {
      deepStrictEqual(
        toArguments(form, length),
        { fields, keys, moreKeys: 0 },
        `${form} by ${length}`,
      );
    }
  }
});

Deno.test("FormDecoder writes one object, in which the last of a name counts", () => {
  for (const [form, fields] of forms) {
    const keys = [...new Set(fields.map(([name]) => name))].sort();
    const members = fields.map(([name, value]) =>
      `${JSON.stringify(name)}:${JSON.stringify(value)}`
    );
    const json = `{${members.join(",")}}`;
    for (const length of chunkLengths) {
      deepStrictEqual(toJson(form, length), { json, keys, moreKeys: 0 }, `${form} by ${length}`);
    }
  }
});

Deno.test("fieldsToJson() writes one object, in which the last of a name counts", () => {
  for (const [form, fields] of forms) {
    const { json } = toJson(form);
    deepStrictEqual(JSON.parse(decoder.decode(fieldsToJson(fields))), JSON.parse(json), form);
  }
  strictEqual(decoder.decode(fieldsToJson([])), "{}");
  const twice = [["a", "1"], ["a", '"']] as const;
  strictEqual(decoder.decode(fieldsToJson(twice)), '{"a":"\\""}');
});

Deno.test("FormDecoder rejects text that PostgreSQL cannot store", () => {
  const nul = "The body holds the character NUL";
  const notUtf8 = "The body is not UTF-8 text";
  const rows: [form: string | Uint8Array, message: string][] = [
    ["a=%FF", notUtf8],
    ["%FF=a", notUtf8],
    ["%FF", notUtf8],
    ["a=%C3&b=%A9", notUtf8],
    ["%C3=%A9", notUtf8],
    ["a=%ED%A0%80", notUtf8],
    [Uint8Array.from([0x61, 0x3d, 0xff]), notUtf8],
    [Uint8Array.from([0x61, 0x3d, 0xc3]), notUtf8],
    ["%00=1", nul],
    ["a=%00", nul],
    ["a=\0", nul],
    ["\0", nul],
  ];
  for (const [form, message] of rows) {
    for (const length of chunkLengths) {
      for (const read of [toJson, toArguments]) {
        deepStrictEqual(
          refusalOf(() => read(form, length)),
          { code: "102", status: 400, message },
          `${form} by ${length}`,
        );
      }
    }
  }
});

Deno.test("FormDecoder reads what URLSearchParams writes", () => {
  const text = fc.string({ unit: "grapheme" }).map((each) => each.replaceAll("\0", ""));
  const pairs = fc.array(fc.tuple(text, text), { maxLength: 5 });
  fc.assert(fc.property(pairs, fc.constantFrom(...chunkLengths), (fields, length) => {
    deepStrictEqual(toArguments(new URLSearchParams(fields).toString(), length).fields, fields);
  }));
});

Deno.test("FormDecoder keeps no more of names than matters", () => {
  const form = (count: number) => Array.from({ length: count }, (_, at) => `n${at}=1`).join("&");
  const { keys, moreKeys } = toJson(form(10_000));
  deepStrictEqual({ keys: keys?.length, moreKeys }, {
    keys: maxNames,
    moreKeys: 10_000 - maxNames,
  });
  const long = "x".repeat(100_000);
  for (const read of [toJson, toArguments]) {
    for (const length of [1000, Infinity]) {
      deepStrictEqual(read(`${long}=1`, length).keys, [`${"x".repeat(1024)}…`]);
    }
  }
  strictEqual(toArguments(form(maxFormFields)).fields.length, maxFormFields);
  for (const read of [toJson, toArguments]) {
    deepStrictEqual(refusalOf(() => read(form(maxFormFields + 1))), {
      code: "102",
      status: 400,
      message: "A form has at most 16384 fields",
    });
  }
});

Deno.test("FormDecoder rejects a form of more than 1 MiB at its first excess", () => {
  const [start, rest] = ["a=", "x".repeat(maxFormBytes - 2)];
  for (const read of [toJson, toArguments]) deepStrictEqual(read(start + rest).keys, ["a"]);
  for (const takes of ["rows", "arguments"] as const) {
    const reader = new FormDecoder(takes);
    reader.write(encoder.encode(start + rest));
    deepStrictEqual(refusalOf(() => reader.write(encoder.encode("x"))), {
      code: "130",
      status: 413,
      details: "At most 1048576 bytes are accepted",
      message: "Request body too large",
    });
  }
});

Deno.test("FormDecoder takes linear time for long repetitions", () => {
  for (const piece of ["&", "=", "a=1&", "n", "%", "+", "%C3%A9", "%2"]) {
    const make = (count: number) => encoder.encode(piece.repeat(count));
    const run = (bytes: Uint8Array) => {
      const reader = new FormDecoder("rows");
      for (let at = 0; at < bytes.length; at += 65_536) {
        reader.write(bytes.subarray(at, at + 65_536));
      }
      reader.payload(reader.end());
    };
    assertLinearTime(`FormDecoder of ${piece}`, { size: maxFormFields / 2, make, run });
  }
});
