import { strictEqual } from "node:assert/strict";
import { isRawJson, parseJson, prettyJson } from "../../../../src/base/lib/json_text.ts";

/** Texts of JSON, all of which come back as they were. */
const texts = [
  "51.20",
  "1.0",
  "-0",
  "1e400",
  "12345678901234567890",
  "0.1000000000000000055511151231257827",
  "1E+2",
  '"51.20"',
  '{"price":51.20,"big":9007199254740993,"all":[1.50,2,"3.0",null,true]}',
  '{"a":{"b":[[1.0]]}}',
];

for (const text of texts) {
  Deno.test(`numbers of JSON keep their digits: ${text}`, () => {
    strictEqual(JSON.stringify(parseJson(text)), text);
    strictEqual(prettyJson(text).replaceAll(/\s/g, ""), text);
  });
}

Deno.test("only numbers that JavaScript writes otherwise are kept as texts", () => {
  strictEqual(isRawJson(parseJson("51.20")), true);
  for (const text of ["51.2", "7", '"51.20"', "null", "{}"]) {
    strictEqual(isRawJson(parseJson(text)), false, text);
  }
});
