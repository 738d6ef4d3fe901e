import { deepStrictEqual } from "node:assert/strict";
import { atOnce } from "../../../support/timing/at_once.ts";
import {
  trackViewColumns,
  type ViewColumns,
} from "../../../../src/state/schema_cache/view_columns.ts";

/** View columns as [position, relation, column]. */
type Rule = readonly (readonly [number, number, number])[];

function track(columns: readonly string[], rules: Record<number, Rule>) {
  const shown = atOnce(trackViewColumns({
    views: [{ oid: 1, columnNames: [undefined, ...columns] }],
    rules: new Map(
      Object.entries(rules).map(([oid, rule]) => [
        Number(oid),
        rule.map(([position, relation, column]) => ({ position, relation, column })),
      ]),
    ),
    keyColumns: new Map([2, 10, 20].map((table) => [table, new Set([1, 2, 5, 7])])),
  }));
  return plain(shown.get(1)!);
}

function plain(shown: ViewColumns) {
  return Array.from(shown, ([table, columns]) => [table, [...columns]]);
}

const rows: readonly {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rules: Record<number, Rule>;
  readonly gives: unknown;
}[] = [
  {
    name: "columns of several tables",
    columns: ["a", "b", "c"],
    rules: { 1: [[1, 10, 1], [2, 20, 1], [3, 10, 2]] },
    gives: [[10, [[1, ["a"]], [2, ["c"]]]], [20, [[1, ["b"]]]]],
  },
  {
    name: "a column shown twice, in the view's order",
    columns: ["first", "second"],
    rules: { 1: [[1, 10, 2], [2, 10, 2]] },
    gives: [[10, [[2, ["first", "second"]]]]],
  },
  {
    name: "a chain of views",
    columns: ["a"],
    rules: { 1: [[1, 2, 5]], 2: [[5, 3, 6]], 3: [[6, 10, 7]] },
    gives: [[10, [[7, ["a"]]]]],
  },
  {
    name: "no columns of a column that a view on the way computes",
    columns: ["a"],
    rules: { 1: [[1, 2, 5]], 2: [[4, 10, 4]] },
    gives: [],
  },
  {
    name: "a view that is not listed as the end",
    columns: ["a"],
    rules: { 1: [[1, 2, 5]] },
    gives: [[2, [[5, ["a"]]]]],
  },
  {
    name: "no columns of a cycle",
    columns: ["a"],
    rules: { 1: [[1, 2, 1]], 2: [[1, 3, 1]], 3: [[1, 2, 1]] },
    gives: [],
  },
  { name: "no columns of a view on itself", columns: ["a"], rules: { 1: [[1, 1, 1]] }, gives: [] },
  {
    name: "no columns beyond the view's columns",
    columns: ["a"],
    rules: { 1: [[1, 10, 1], [2, 10, 2]] },
    gives: [[10, [[1, ["a"]]]]],
  },
  {
    name: "no columns outside keys",
    columns: ["a", "b", "c"],
    rules: { 1: [[1, 10, 3], [2, 30, 1], [3, 10, 1]] },
    gives: [[10, [[1, ["c"]]]]],
  },
  { name: "no columns of a view without a rule", columns: ["a"], rules: {}, gives: [] },
];

for (const { name, columns, rules, gives } of rows) {
  Deno.test(`trackViewColumns() returns ${name}`, () => {
    deepStrictEqual(track(columns, rules), gives);
  });
}
