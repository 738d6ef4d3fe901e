import { deepStrictEqual } from "node:assert/strict";
import { rawElements, rawMembers, rawValue } from "../../../src/batch/raw_json.ts";

/** Returns the texts of an object's members by name. */
function members(text: string): Readonly<Record<string, string>> {
  const found = rawMembers(text, rawValue(text));
  return Object.fromEntries(
    Array.from(found, ([name, { start, end }]) => [name, text.slice(start, end)]),
  );
}

const objects: readonly (readonly [text: string, members: Readonly<Record<string, string>>])[] = [
  ["{}", {}],
  [" { } ", {}],
  ['{"a":1}', { a: "1" }],
  ['\n{ "a" :\t1.50 , "b":null}', { a: "1.50", b: "null" }],
  ['{"a":"}","b":"\\"]"}', { a: '"}"', b: '"\\"]"' }],
  ['{"a":"\\\\","b":{"c":["}"]}}', { a: '"\\\\"', b: '{"c":["}"]}' }],
  ['{"\\u0061":[1, 2 ],"":-1e5}', { a: "[1, 2 ]", "": "-1e5" }],
  ['{"a":1,"a":{"b":[{}]}}', { a: '{"b":[{}]}' }],
  ['{"a":true}', { a: "true" }],
];

for (const [text, expected] of objects) {
  Deno.test(`rawMembers() finds the members of ${text}`, () => {
    deepStrictEqual(members(text), expected);
    const values = Object.entries(members(text)).map(([name, value]) => [name, JSON.parse(value)]);
    deepStrictEqual(Object.fromEntries(values), JSON.parse(text));
  });
}

const arrays: readonly (readonly [text: string, elements: readonly string[]])[] = [
  ["[]", []],
  ["[ ]", []],
  ['[1,"a,]", {"b":[]} ,[[]]\n]', ["1", '"a,]"', '{"b":[]}', "[[]]"]],
];

for (const [text, expected] of arrays) {
  Deno.test(`rawElements() finds the elements of ${text}`, () => {
    const found = rawElements(text, rawValue(text));
    deepStrictEqual(found.map(({ start, end }) => text.slice(start, end)), expected);
  });
}
