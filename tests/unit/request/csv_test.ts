import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { csvRows, readCsv } from "../../../src/request/csv.ts";

Deno.test("readCsv divides lines into fields", () => {
  const rows: [text: string, lines: string[][]][] = [
    ["a\n", [["a"]]],
    ["a,b\n1,2\n", [["a", "b"], ["1", "2"]]],
    ["a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]],
    ["a,b\r1,2", [["a", "b"], ["1", "2"]]],
    ["a\n1\r\n2\n", [["a"], ["1"], ["2"]]],
    ["\n\r\na\n\n1\n\n\n", [["a"], ["1"]]],
    ["a, b\n 1 ,\t2\n", [["a", " b"], [" 1 ", "\t2"]]],
    ["a,b\n,\n1,", [["a", "b"], ["", ""], ["1", ""]]],
    ['"a","b"\n"x,""y""","1\r\n2"\n', [["a", "b"], ['x,"y"', "1\r\n2"]]],
    ['a\n""\n', [["a"], [""]]],
    ["a\n1,2,3\n", [["a"], ["1", "2", "3"]]],
    ["é\n😀\n", [["é"], ["😀"]]],
  ];
  for (const [text, lines] of rows) deepStrictEqual(readCsv(text), { kind: "lines", lines }, text);
});

Deno.test("readCsv tells what is wrong", () => {
  const rows: [text: string, message: string][] = [
    ["", "parse error (no names) at line 1 of the CSV body"],
    ["\n\n", "parse error (no names) at line 1 of the CSV body"],
    ["a,b", "parse error (no line break) at line 1 of the CSV body"],
    ["a,", "parse error (no line break) at line 1 of the CSV body"],
    ['a\n"1', "parse error (quote not closed) at line 2 of the CSV body"],
    ['a\n1\n"1"" \n', "parse error (quote not closed) at line 3 of the CSV body"],
    ['a\n"1"2\n', "parse error (text after a closing quote) at line 2 of the CSV body"],
    ['a\n"1" ,\n', "parse error (text after a closing quote) at line 2 of the CSV body"],
    ['a\n1"2\n', "parse error (quote in a field without quotes) at line 2 of the CSV body"],
  ];
  for (const [text, message] of rows) {
    deepStrictEqual(readCsv(text), { kind: "problem", message }, text);
  }
});

Deno.test("readCsv reads every table that can be printed", () => {
  const field = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'a",\n\r \té') }));
  const line = fc.array(field, { minLength: 1, maxLength: 4 });
  const table = fc.array(line, { minLength: 1, maxLength: 5 });
  const lineBreak = fc.constantFrom("\n", "\r\n", "\r", "\n\n");
  fc.assert(fc.property(table, lineBreak, (lines, end) => {
    const print = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const text = lines.map((fields) => fields.map(print).join(",") + end).join("");
    deepStrictEqual(readCsv(text), { kind: "lines", lines });
  }));
});

Deno.test("csvRows writes lines as objects of strings and nulls", () => {
  const rows: [lines: string[][], json: string, keys: string[]][] = [
    [[["a"]], "[]", []],
    [[["b", "a"], ["1", ""]], '[{"b":"1","a":""}]', ["a", "b"]],
    [[["a"], ["NULL"], ["null"], [" NULL"]], '[{"a":null},{"a":"null"},{"a":" NULL"}]', ["a"]],
    [[["a"], ["1", "2"], ["3"]], '[{"a":"1"},{"a":"3"}]', ["a"]],
    [[["a", "b"], ["1"], ["2"]], '[{"a":"1"},{"a":"2"}]', ["a"]],
    [[["a", "a"], ["1", "2"]], '[{"a":"2"}]', ["a"]],
    [[["a", "a"], ["1"], ["2", "3"]], '[{"a":"1"},{"a":"3"}]', ["a"]],
    [[["a", "b", "a"], ["1", "2", "3"]], '[{"a":"3","b":"2"}]', ["a", "b"]],
    [[['q"', "é\n"], ["\\", '"']], '[{"q\\"":"\\\\","é\\n":"\\""}]', ['q"', "é\n"]],
    [[["__proto__"], ["1"]], '[{"__proto__":"1"}]', ["__proto__"]],
  ];
  for (const [lines, json, keys] of rows) {
    deepStrictEqual(csvRows(lines), { json, keys }, json);
    JSON.parse(json);
  }
});

Deno.test("csvRows refuses lines of different names", () => {
  strictEqual(csvRows([["a", "b"], ["1", "2"], ["3"]]), null);
  strictEqual(csvRows([["a", "b"], ["1"], ["2", "3"]]), null);
  strictEqual(csvRows([["a", "a", "b"], ["1", "2"], ["1", "2", "3"]]), null);
});
