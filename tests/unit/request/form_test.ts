import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { formToJson, readForm } from "../../../src/request/form.ts";

Deno.test("readForm reads fields in order", () => {
  const rows: [text: string, fields: [string, string][] | null][] = [
    ["", []],
    ["a=1&b=x+y", [["a", "1"], ["b", "x y"]]],
    ["a=1&a=2", [["a", "1"], ["a", "2"]]],
    ["a", [["a", ""]]],
    ["a=&=b&&", [["a", ""], ["", "b"]]],
    ["a=b=c;d", [["a", "b=c;d"]]],
    ["?a=1", [["?a", "1"]]],
    ["%C3%A9+=%26%3D%zz", [["é ", "&=%zz"]]],
    ["é=😀", [["é", "😀"]]],
    ["a=%FF", null],
    ["%00=1", null],
    ["a=%00", null],
  ];
  for (const [text, fields] of rows) deepStrictEqual(readForm(text), fields, text);
});

Deno.test("formToJson writes one object, in which the last of a name counts", () => {
  strictEqual(formToJson([]), "{}");
  strictEqual(
    formToJson([["a", "1"], ["b", '"'], ["a", "2"], ["__proto__", "é"]]),
    '{"a":"2","b":"\\"","__proto__":"é"}',
  );
});
