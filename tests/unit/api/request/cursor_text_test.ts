import { strictEqual } from "node:assert/strict";
import { readCursor, writeCursor } from "../../../../src/api/request/url/cursor_text.ts";

Deno.test("writeCursor() writes base64url of compact JSON", () => {
  const position = { fingerprint: "4f1d9c07", keys: ["45", "3"] };
  strictEqual(writeCursor(position), "WzEsIjRmMWQ5YzA3IixbIjQ1IiwiMyJdXQ");
});

function encode(text: string): string {
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

Deno.test("readCursor() refuses texts that are not cursors", async (t) => {
  const rows: readonly (readonly [label: string, text: string])[] = [
    ["no base64url", "xy+"],
    ["padding", "WzEsImYiLFsiMSJdXQ=="],
    ["no UTF-8", encode('[1,"\xff",[]]')],
    ["no JSON", encode("[1")],
    ["no array", encode('{"0":1}')],
    ["another version", encode('[2,"f",["1"]]')],
    ["a version that is a text", encode('["1","f",["1"]]')],
    ["no keys", encode('[1,"f"]')],
    ["more members", encode('[1,"f",[],0]')],
    ["a number as fingerprint", encode("[1,1,[]]")],
    ["U+0000 in the fingerprint", encode('[1,"\\u0000",[]]')],
    ["a number as key", encode('[1,"f",[1]]')],
    ["a nested key", encode('[1,"f",[["1"]]]')],
    ["17 keys", encode(JSON.stringify([1, "f", Array(17).fill("")]))],
    ["U+0000", encode('[1,"f",["\\u0000"]]')],
    ["half of a surrogate pair", encode('[1,"f",["\\ud800"]]')],
    ["more than 4,096 characters", writeCursor({ fingerprint: "f", keys: ["x".repeat(3100)] })],
  ];
  for (const [label, text] of rows) {
    await t.step(label, () => strictEqual(readCursor(text), undefined));
  }
});
