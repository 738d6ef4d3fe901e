import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  estimateError,
  nodeTitle,
  planRoot,
  planTexts,
  readsOwnClauses,
  slowestNode,
} from "../../../../../src/wings/console/pages/plan_tree.ts";

const scan = {
  "Node Type": "Index Scan",
  "Relation Name": "film",
  "Index Name": "film_pkey",
  "Plan Rows": 3,
  "Actual Rows": 50,
  "Actual Loops": 2,
  "Actual Total Time": 1.5,
  "Total Cost": 8.2,
  "Shared Hit Blocks": 12,
  "Shared Read Blocks": 3,
  "Index Cond": "(id = 1)",
  "Sort Key": ["a", "b"],
};

const planOf = (root: object) => planRoot(JSON.stringify([{ Plan: root, "Execution Time": 4 }]))!;

Deno.test("planRoot() sums rows and times over the loops", () => {
  const { root, planningMs, executionMs } = planOf({
    "Node Type": "Nested Loop",
    "Actual Total Time": 3.5,
    "Actual Loops": 1,
    Plans: [scan],
  });
  deepStrictEqual([planningMs, executionMs, root.ms, root.ownMs], [null, 4, 3.5, 0.5]);
  const { ms, planRows, actualRows, buffers } = root.children[0]!;
  deepStrictEqual([ms, planRows, actualRows, buffers], [3, 6, 100, "12 hit, 3 read"]);
});

Deno.test("planRoot() counts the time of processes that run at once only once", () => {
  const { root } = planOf({
    "Node Type": "Gather",
    "Actual Total Time": 12,
    "Actual Loops": 1,
    "Workers Launched": 2,
    Plans: [
      { ...scan, "Actual Total Time": 9, "Actual Rows": 5, "Actual Loops": 3 },
      { ...scan, "Actual Total Time": 1, "Actual Rows": 5, "Actual Loops": 1 },
    ],
  });
  deepStrictEqual(root.children.map(({ ms, actualRows }) => [ms, actualRows]), [[9, 15], [1, 5]]);
  strictEqual(root.ownMs, 2);
});

Deno.test("planRoot() reads a plan without ANALYZE, and no other text", () => {
  const { root } = planOf({ "Node Type": "Result", "Plan Rows": 7, "Total Cost": 2 });
  deepStrictEqual([root.ms, root.actualRows, root.buffers, root.planRows], [null, null, null, 7]);
  for (const text of ["Seq Scan", "[]", "{}", '[{"Plan":1}]']) strictEqual(planRoot(text), null);
});

Deno.test("nodeTitle() and planTexts() describe a node", () => {
  const { root } = planOf(scan);
  strictEqual(nodeTitle(root), "Index Scan on film using film_pkey");
  deepStrictEqual(planTexts(root), [
    ["Index Cond", "(id = 1)"],
    ["Sort Key", "a, b"],
    ["Actual Loops", "2"],
  ]);
});

for (
  const [planned, actual, parent, factor] of [
    [1, 10, "Sort", 10],
    [1, 9, "Sort", null],
    [500, 5, "Sort", 100],
    [500, 5, "Limit", null],
    [5, 500, "Limit", 100],
    [40, 0, "Sort", 40],
  ] as const
) {
  Deno.test(`estimateError() of ${planned} rows, actually ${actual}, below ${parent}: ${factor}`, () => {
    const below = { "Node Type": "Seq Scan", "Plan Rows": planned, "Actual Rows": actual };
    const { root } = planOf({
      "Node Type": parent,
      Plans: [{ "Node Type": "Sort", Plans: [below] }],
    });
    strictEqual(estimateError(root.children[0]!.children[0]!), factor);
  });
}

Deno.test("readsOwnClauses() is true of nodes that read clauses of the service alone", () => {
  const own = { "Node Type": "CTE Scan", "CTE Name": "svc:page" };
  const rows: readonly (readonly [root: object, expected: boolean])[] = [
    [own, true],
    [{ "Node Type": "Limit", Plans: [own] }, true],
    [{ "Node Type": "Limit", Plans: [own, scan] }, false],
    [{ "Node Type": "CTE Scan", "CTE Name": "recent" }, false],
    [{ "Node Type": "Result" }, false],
    [scan, false],
  ];
  for (const [root, expected] of rows) {
    strictEqual(readsOwnClauses(planOf(root).root), expected, JSON.stringify(root));
  }
});

Deno.test("slowestNode() has the most time of its own; null without ANALYZE", () => {
  const { root } = planOf({
    "Node Type": "Limit",
    "Actual Total Time": 5,
    "Actual Loops": 1,
    Plans: [scan],
  });
  strictEqual(slowestNode(root), root.children[0]);
  const own = { "Node Type": "CTE Scan", "CTE Name": "svc:page", "Actual Total Time": 4 };
  const page = planOf({ "Node Type": "Limit", "Actual Total Time": 9, Plans: [own, scan] }).root;
  strictEqual(slowestNode(page), page.children[1]);
  strictEqual(slowestNode(planOf({ "Node Type": "Result" }).root), null);
});
