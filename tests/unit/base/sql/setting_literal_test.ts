import { strictEqual } from "node:assert/strict";
import { compile, settingLiteral } from "../../../../src/base/sql/fragment.ts";

const rows: readonly (readonly [name: string, value: string, text: string])[] = [
  ["nothing", "", "E''"],
  ["printable ASCII", '{"sub":"a b~"}; --$1', `E'{"sub":"a b~"}; --$1'`],
  ["a quote", "a'b", "E'a\\U00000027b'"],
  ["a backslash", "a\\", "E'a\\U0000005c'"],
  ["a backslash and a quote", "\\'", "E'\\U0000005c\\U00000027'"],
  ["a control character", "\x01\n\x7f", "E'\\U00000001\\U0000000a\\U0000007f'"],
  ["a letter beyond ASCII", "é", "E'\\U000000e9'"],
  ["a character beyond the first plane", "😀", "E'\\U0001f600'"],
  ["the highest code point", "\u{10ffff}", "E'\\U0010ffff'"],
  ["NUL, which PostgreSQL refuses", "a\0", "E'a\\U00000000'"],
  ["half of a pair", "\ud83d'", "E'\\U0000fffd\\U00000027'"],
];

for (const [name, value, text] of rows) {
  Deno.test(`settingLiteral() quotes ${name}`, () => {
    const { text: compiled, params } = compile(settingLiteral(value));
    strictEqual(compiled, text);
    strictEqual(params.length, 0);
  });
}
