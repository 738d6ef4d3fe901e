import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import {
  type Difference,
  lineKeyReader,
  ResultRows,
  textBytes,
} from "../../../../src/wings/live/difference.ts";
import { sumOf } from "../../../../src/wings/live/offset.ts";

const noRows: Difference = { delete: [], update: [], insert: [] };

/** Name, columns of the key, lines before and after, difference. */
const rows = [
  ["no change", ["id"], [`{"id":1}`], [`{"id":1}`], null],
  ["another order", ["id"], [`{"id":1}`, `{"id":2}`], [`{"id":2}`, `{"id":1}`], null],
  ["a new key", ["id"], [], [`{"id":1,"a":2}`], {
    ...noRows,
    insert: [{ key: '"1"', value: `{"id":1,"a":2}` }],
  }],
  ["a known key", ["id"], [`{"id":1,"a":2}`], [`{"id":1,"a":3}`], {
    ...noRows,
    update: [{ key: '"1"', value: `{"id":1,"a":3}` }],
  }],
  ["a missing key", ["id"], [`{"id":1,"a":2}`], [], {
    ...noRows,
    delete: [{ key: '"1"', value: `{"id":1}` }],
  }],
  ["a key of two columns", ["a", "b"], [], [`{"a":"x/y","b":true}`], {
    ...noRows,
    insert: [{ key: '"x/y"/"true"', value: `{"a":"x/y","b":true}` }],
  }],
  ["rows without a key", [], [`{"a":1}`], [`{"a":2}`], {
    ...noRows,
    delete: [{ key: `{"a":1}`, value: `{"a":1}` }],
    insert: [{ key: `{"a":2}`, value: `{"a":2}` }],
  }],
  ["a key that JSON rounds", ["id"], [], [`{"id":9007199254740993}`], {
    ...noRows,
    insert: [{ key: `{"id":9007199254740993}`, value: `{"id":9007199254740993}` }],
  }],
  ["one of three equal rows", [], [`{"a":1}`, `{"a":1}`, `{"a":1}`], [`{"a":1}`, `{"a":1}`], {
    ...noRows,
    delete: [{ key: `{"a":1}\n3`, value: `{"a":1}` }],
  }],
  ["rows of one key", ["id"], [`{"id":1,"a":1}`], [`{"id":1,"a":1}`, `{"id":1,"a":2}`], {
    ...noRows,
    insert: [{ key: '"1"/2', value: `{"id":1,"a":2}` }],
  }],
] as const;

for (const [name, columns, before, after, expected] of rows) {
  Deno.test(`ResultRows.update() finds ${name}`, () => {
    const result = new ResultRows();
    result.update(before, lineKeyReader(columns));
    deepStrictEqual(result.update(after, lineKeyReader(columns)), expected);
  });
}

const lines = fc.array(
  fc.record({ id: fc.integer({ min: 0, max: 6 }), a: fc.integer({ min: 0, max: 2 }) })
    .map((row) => JSON.stringify(row)),
  { maxLength: 12 },
);

Deno.test("ResultRows.update() leads clients to the rows, and the sum names them", () => {
  const contents = fc.array(fc.tuple(lines, fc.constantFrom([], ["id"])), { maxLength: 8 });
  fc.assert(fc.property(contents, (all) => {
    const result = new ResultRows();
    const client = new Map<string, string>();
    for (const [content, columns] of all) {
      const difference = result.update(content, lineKeyReader(columns)) ??
        noRows;
      for (const { key } of difference.delete) strictEqual(client.delete(key), true);
      for (const { key, value } of difference.update) client.set(key, value);
      for (const { key, value } of difference.insert) {
        strictEqual(client.has(key), false);
        client.set(key, value);
      }
      deepStrictEqual([...client.values()].toSorted(), content.toSorted());
      deepStrictEqual(new Map(result.all().map(({ key, value }) => [key, value])), client);
      const sum = content.reduce((total, line) => total + sumOf(line), 0n);
      strictEqual(result.sum, BigInt.asUintN(64, sum));
    }
  }));
});

/** Texts, and the bytes that count: those of UTF-8, or those in memory if they are more. */
const texts = [["", 0], ["abc", 3], ["Zürich", 12], ["日本", 6], ["a😀", 6], [
  "aaaaaaaa→",
  18,
]] as const;

for (const [text, bytes] of texts) {
  Deno.test(`textBytes() counts ${bytes} for "${text}"`, () => strictEqual(textBytes(text), bytes));
}
