import { strictEqual } from "node:assert/strict";
import { arrayLiteral, arrayOf } from "../../../src/query/array_literal.ts";

const rows: readonly (readonly [elements: readonly string[], array: string])[] = [
  [[], "{}"],
  [[""], '{""}'],
  [["a", "b c", "é😀"], '{"a","b c","é😀"}'],
  [['"', "\\", '\\"x', "{},"], '{"\\"","\\\\","\\\\\\"x","{},"}'],
];

Deno.test("arrayOf() quotes texts, and UTF-8 alike", () => {
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  for (const [elements, array] of rows) {
    strictEqual(arrayLiteral(elements), array);
    strictEqual(arrayOf(elements), array);
    if (elements.length === 0) continue;
    const bytes = elements.map((element) => encoder.encode(element));
    for (const mixed of [bytes, [elements[0]!, ...bytes.slice(1)]]) {
      const read = arrayOf(mixed);
      strictEqual(typeof read === "string" ? read : decoder.decode(read), array);
    }
  }
});
