import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type JsonKind, JsonOutline } from "../../../../src/api/request/body/json_outline.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const outlineOf = (text: string) => new JsonOutline(encoder.encode(text));

const objects: readonly (readonly [text: string, members: Readonly<Record<string, string>>])[] = [
  ["{}", {}],
  [" { } ", {}],
  ['{"a":1}', { a: "1" }],
  ['\n{ "a" :\t1.50 , "b":null}', { a: "1.50", b: "null" }],
  ['{"a":"}","b":"\\"]"}', { a: '"}"', b: '"\\"]"' }],
  ['{"a":"\\\\","b":{"c":["}"]}}', { a: '"\\\\"', b: '{"c":["}"]}' }],
  ['{"\\u0061":[1, 2 ],"":-1e5}', { a: "[1, 2 ]", "": "-1e5" }],
  ['{"a":1,"a":{"b":[{}]}}', { a: '{"b":[{}]}' }],
  ['{"ä":"ö"}', { ä: '"ö"' }],
];

for (const [text, expected] of objects) {
  Deno.test(`JsonOutline.members() finds the members of ${text}`, () => {
    const outline = outlineOf(text);
    const members = new Map<string, string>();
    for (const name of outline.members()) members.set(name, decoder.decode(outline.skip()));
    deepStrictEqual(Object.fromEntries(members), expected);
    // Values that are not read are skipped.
    deepStrictEqual([...new Set(outlineOf(text).members())], Object.keys(expected));
  });
}

const arrays: readonly (readonly [text: string, elements: readonly string[]])[] = [
  ["[]", []],
  ["[ ]", []],
  ['[1,"a,]", {"b":[]} ,[[]]\n]', ["1", '"a,]"', '{"b":[]}', "[[]]"]],
];

for (const [text, expected] of arrays) {
  Deno.test(`JsonOutline.elements() finds the elements of ${text}`, () => {
    const outline = outlineOf(text);
    const elements = Array.from(outline.elements(), () => decoder.decode(outline.skip()));
    deepStrictEqual(elements, expected);
    deepStrictEqual([...outlineOf(text).elements()], expected.map((_, index) => index));
  });
}

Deno.test("JsonOutline reads nested members in one pass", () => {
  const outline = outlineOf('{"a":{"b":[1,{"c":"d"}]},"e":2}');
  const read: (string | number)[] = [];
  for (const name of outline.members()) {
    read.push(name);
    if (outline.kind !== "object") continue;
    for (const inner of outline.members()) {
      read.push(inner);
      for (const index of outline.elements()) read.push(index);
    }
  }
  deepStrictEqual(read, ["a", "b", 0, 1, "e"]);
});

const values: readonly (readonly [text: string, kind: JsonKind, string: string | null])[] = [
  [' "a\\u00e9\\n"', "string", "aé\n"],
  ["1", "number", null],
  ["-1.5e3 ", "number", null],
  ["true", "boolean", null],
  ["false", "boolean", null],
  ["null", "null", null],
  ["[", "array", null],
  ["{", "object", null],
];

for (const [text, kind, string] of values) {
  Deno.test(`JsonOutline tells the type of ${text}`, () => {
    const outline = outlineOf(text);
    strictEqual(outline.kind, kind);
    strictEqual(outline.string(), string);
  });
}
