import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type {
  ConsoleRelation,
  ConsoleRelationship,
} from "../../../../../src/wings/console/server/console_schema.ts";
import {
  layoutDiagram,
  neighbourhood,
} from "../../../../../src/wings/console/pages/diagram_layout.ts";

function table(name: string, count = 3): ConsoleRelation {
  return {
    ...{ schema: "api", name, comment: null, isView: false, insertable: true, updatable: true },
    deletable: true,
    label: null,
    primaryKey: ["c0"],
    columns: Array.from({ length: count }, (_, index) => ({
      ...{ name: `c${index}`, comment: null, nullable: true, type: "text", baseType: "text" },
      ...{ default: null, generated: false, enumLabels: [], maxLength: null },
    })),
  };
}

/** Returns both directions of a foreign key. */
function reference(from: string, to: string, hint = `${from}_${to}`): ConsoleRelationship[] {
  const forward = {
    kind: "many-to-one",
    origin: ["api", from],
    foreign: ["api", to],
    isForward: true,
    hint,
    pairs: [["c1", "c0"]],
    junction: null,
  } as const;
  const { origin, foreign } = forward;
  const backward = {
    kind: "one-to-many",
    origin: foreign,
    foreign: origin,
    isForward: false,
  } as const;
  return [forward, { ...forward, ...backward }];
}

Deno.test("neighbourhood() contains the tables that foreign keys lead to and from", () => {
  const chain = [...reference("a", "b"), ...reference("b", "c"), ...reference("c", "d")];
  deepStrictEqual([...neighbourhood("b", chain)].sort(), ["a", "b", "c"]);
});

Deno.test("layoutDiagram() places boxes apart, with an arrow for each foreign key", () => {
  const tables = Array.from({ length: 60 }, (_, index) => table(`t${index}`, 1 + index % 12));
  const keys = [
    ...tables.slice(1).flatMap(({ name }, index) => reference(name, `t${Math.floor(index / 3)}`)),
    ...reference("t1", "t0", "second"),
    ...reference("t2", "t2", "itself"),
    ...reference("t3", "elsewhere"),
  ];
  const { nodes, edges, width, height } = layoutDiagram(tables, keys, 1.5);
  strictEqual(nodes.length, 60);
  strictEqual(edges.length, 59 + 2);
  for (const [index, a] of nodes.entries()) {
    ok(a.x >= 0 && a.y >= 0 && a.x + a.width <= width && a.y + a.height <= height, a.relation.name);
    for (const b of nodes.slice(index + 1)) {
      const isApart = a.x + a.width <= b.x || b.x + b.width <= a.x ||
        a.y + a.height <= b.y || b.y + b.height <= a.y;
      ok(isApart, `${a.relation.name} covers ${b.relation.name}`);
    }
  }
});

Deno.test("layoutDiagram() lists keys first, and counts the columns that it leaves out", () => {
  const [node] = layoutDiagram([table("a", 9), table("b")], reference("a", "b"), 1).nodes;
  deepStrictEqual(node!.columns.slice(0, 3), [
    { name: "c0", mark: "key" },
    { name: "c1", mark: "ref" },
    { name: "c2", mark: "" },
  ]);
  deepStrictEqual([node!.columns.length, node!.hidden], [6, 3]);
});

Deno.test("layoutDiagram() puts tables without foreign keys into a grid of the window's shape", () => {
  const tables = Array.from({ length: 60 }, (_, index) => table(`t${index}`));
  for (const aspect of [0.5, 1, 2]) {
    const { width, height, edges } = layoutDiagram(tables, [], aspect);
    strictEqual(edges.length, 0);
    const shape = width / height / aspect;
    ok(shape > 0.6 && shape < 1.6, `${width} by ${height} for ${aspect}`);
  }
});
