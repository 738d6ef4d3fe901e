import { deepStrictEqual } from "node:assert/strict";
import { concerns, interestOf, type LiveScope } from "../../../../src/wings/live/scope.ts";
import type { ReadNode } from "../../../../src/api/plan/read_node.ts";

const table = 16_384;
const condition = {
  kind: "compare",
  operator: "eq",
  negated: false,
  quantifier: null,
  field: { kind: "column", field: { column: "owner", path: [] } },
  convert: null,
};
const root = { conditions: [condition] } as unknown as ReadNode;
const id = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";

/** Type of the scope, query, and the value that records must have; null for any. */
const values: readonly (readonly [LiveScope["type"], query: string, value: string | null])[] = [
  ["int4", "owner=eq.7", "7"],
  ["int4", "owner=eq.0", "0"],
  ["int8", "owner=eq.-70", "-70"],
  ["int4", "owner=eq.007", null],
  ["int4", "owner=eq.-0", null],
  ["int2", "owner=eq.%207", null],
  ["int4", "owner=eq.%2B7", null],
  ["int4", "owner=eq.1_000", null],
  ["uuid", `owner=eq.${id}`, id],
  ["uuid", `owner=eq.${id.toUpperCase()}`, null],
  ["uuid", `owner=eq.${id.replaceAll("-", "")}`, null],
  ["text", "owner=eq.007", "007"],
  ["varchar", "owner=eq.a%0Ab", "a\nb"],
  ["text", "owner=eq.", ""],
  ["text", "owner=eq.a&owner=neq.b", null],
  ["text", "and=(owner.eq.a)", null],
];

for (const [type, query, value] of values) {
  Deno.test(`interestOf() reads the value of ${type} in ${query}`, () => {
    const tables = new Map([[table, { column: "owner", type }], [table + 1, null]]);
    deepStrictEqual([...interestOf(tables, root, query)], [[table, value], [table + 1, null]]);
  });
}

/** Value of the group, values of the records, whether they make it run. */
const records: readonly (readonly [string | null, readonly (string | null)[], boolean])[] = [
  ["a", ["a"], true],
  ["a", ["b", "c"], false],
  ["a", ["b", null], true],
  [null, ["b"], true],
];

for (const [value, scopes, expected] of records) {
  Deno.test(`concerns() compares ${value} with ${scopes.join()}`, () => {
    const found = new Map([[table, new Set(scopes)]]);
    deepStrictEqual(concerns(new Map([[table, value]]), found), expected);
    deepStrictEqual(concerns(new Map([[table + 1, value]]), found), false);
  });
}
