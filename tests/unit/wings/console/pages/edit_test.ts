import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import type {
  ConsoleColumn,
  ConsoleRelation,
} from "../../../../../src/wings/console/server/console_schema.ts";
import { cellText, csvText, valueText } from "../../../../../src/wings/console/pages/cells.ts";
import { hasKey, valueOf, writeCall } from "../../../../../src/wings/console/pages/edit.ts";

const column = (name: string, baseType: string): ConsoleColumn => ({
  ...{ name, baseType, type: baseType, comment: null, nullable: true, default: null },
  ...{ generated: false, enumLabels: [], maxLength: null },
});

const relation: ConsoleRelation = {
  ...{ schema: "api", name: "odd name/é", comment: null, isView: false },
  ...{ insertable: true, updatable: true, deletable: true, primaryKey: ["id", "a.b"], label: null },
  columns: [column("id", "bigint"), column("a.b", "text")],
};
const row = { id: "9007199254740993", "a.b": 'x,"y"&z' };
const path = "odd%20name%2F%C3%A9";
const keyFilter = "id=eq.9007199254740993&%22a.b%22=eq.x,%22y%22%26z";

Deno.test("writeCall() changes the row of a key alone", () => {
  const options = { profile: [["Content-Profile", "api"]] as const, tag: '"a"' };
  deepStrictEqual(writeCall(relation, { row, changes: { name: null }, ...options }), {
    method: "PATCH",
    path,
    query: keyFilter,
    headers: [
      ["Content-Type", "application/json"],
      ["Prefer", "return=representation, handling=strict, max-affected=1"],
      ["If-Match", '"a"'],
      ["Content-Profile", "api"],
    ],
    body: '{"name":null}',
  });
});

Deno.test("writeCall() deletes the row of a key alone", () => {
  const call = writeCall(relation, { row, changes: null, profile: [], tag: null });
  deepStrictEqual([call.method, call.query, call.body], ["DELETE", keyFilter, null]);
  deepStrictEqual(call.headers, [
    ["Prefer", "return=representation, handling=strict, max-affected=1"],
  ]);
});

Deno.test("writeCall() inserts a row without a filter", () => {
  const call = writeCall(relation, { row: null, changes: { id: 1 }, profile: [], tag: null });
  deepStrictEqual([call.method, call.query, call.body], ["POST", "", '{"id":1}']);
});

Deno.test("hasKey() is false for rows that lack a part of the key", () => {
  strictEqual(hasKey(relation, row), true);
  strictEqual(hasKey(relation, { id: 1 }), false);
  strictEqual(hasKey({ ...relation, primaryKey: [] }, row), false);
});

/** Type and text of a form, and the JSON value. */
const values: readonly (readonly [type: string, text: string, value: unknown])[] = [
  ["integer", "12", 12],
  ["bigint", "9007199254740993", "9007199254740993"],
  ["numeric", "1.50", "1.50"],
  ["numeric", "-2.5", -2.5],
  ["integer", "x", "x"],
  ["boolean", "true", true],
  ["boolean", "false", false],
  ["text", "12", "12"],
  ["jsonb", '{"a":[1]}', { a: [1] }],
  ["text[]", "{a,b}", "{a,b}"],
  ["text[]", '["a"]', ["a"]],
];

for (const [baseType, text, value] of values) {
  Deno.test(`valueOf() reads ${JSON.stringify(text)} as ${baseType}`, () => {
    deepStrictEqual(valueOf({ baseType }, text), value);
  });
}

Deno.test("valueOf() rejects text that is not JSON for json", () => {
  throws(() => valueOf({ baseType: "json" }, "{"), SyntaxError);
});

Deno.test("cellText() and valueText() show values as text", () => {
  strictEqual(cellText(null), "null");
  strictEqual(cellText("a\n b"), "a b");
  strictEqual(cellText("x".repeat(500)), `${"x".repeat(200)}…`);
  strictEqual(cellText({ a: 1 }), '{ "a": 1 }');
  strictEqual(valueText("\\x0a0b", "bytea"), "2 bytes");
});

Deno.test("csvText() quotes fields, and guards formulas", () => {
  const rows = [{ a: '=1+1"', b: null, c: "x,\ny" }, { a: "-1", b: 2, c: { d: 1 } }];
  strictEqual(
    csvText(rows, ["a", "b", "c"]),
    'a,b,c\r\n"\'=1+1""",,"x,\ny"\r\n\'-1,2,"{\n  ""d"": 1\n}"\r\n',
  );
});
