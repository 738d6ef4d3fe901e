/**
 * Places the tables of a diagram.
 *
 * @module
 */
import dagre from "@dagrejs/dagre";
import type { ConsoleRelation, ConsoleRelationship } from "../admin/console_data.ts";

/** Columns that a box lists: keys and foreign keys first. */
const maxColumns = 6;

export const headHeight = 30;
export const lineHeight = 19;
const charWidth = 7.1;

/** A table with its place. Coordinates are those of its upper left corner. */
export interface DiagramNode {
  readonly relation: ConsoleRelation;
  readonly columns: readonly { readonly name: string; readonly mark: "key" | "foreign" | "" }[];
  /** Number of columns that the box does not list. */
  readonly hidden: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A foreign key. */
export interface DiagramEdge {
  readonly from: string;
  readonly to: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface DiagramLayout {
  readonly nodes: readonly DiagramNode[];
  readonly edges: readonly DiagramEdge[];
  readonly width: number;
  readonly height: number;
}

/** Returns the names of relations that are within some steps of one. */
export function neighbourhood(
  center: string,
  relationships: readonly ConsoleRelationship[],
  steps: number,
): ReadonlySet<string> {
  let reached = new Set([center]);
  for (let step = 0; step < steps; step++) {
    const next = relationships.filter(({ origin }) => reached.has(origin[1]))
      .map(({ foreign }) => foreign[1]);
    reached = new Set([...reached, ...next]);
  }
  return reached;
}

/** Lays out relations and the foreign keys between them, in layers from left to right. */
export function layoutDiagram(
  relations: readonly ConsoleRelation[],
  relationships: readonly ConsoleRelationship[],
): DiagramLayout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 28, ranksep: 84, marginx: 24, marginy: 24 });
  graph.setDefaultEdgeLabel(() => ({}));
  const names = new Set(relations.map(({ name }) => name));
  const keys = relationships.filter(({ isForward, origin, foreign }) =>
    isForward && names.has(origin[1]) && names.has(foreign[1])
  );
  const boxes = relations.map((relation) => boxOf(relation, keys));
  for (const box of boxes) {
    graph.setNode(box.relation.name, { width: box.width, height: box.height });
  }
  for (const { origin, foreign, hint } of keys) graph.setEdge(origin[1], foreign[1], {}, hint);
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    nodes: boxes.map((box) => {
      const { x, y } = graph.node(box.relation.name) as { x: number; y: number };
      return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
    }),
    edges: graph.edges().map((edge) => ({
      from: edge.v,
      to: edge.w,
      points: (graph.edge(edge) as DiagramEdge).points,
    })),
    width: Math.max(1, width),
    height: Math.max(1, height),
  };
}

function boxOf(
  relation: ConsoleRelation,
  keys: readonly ConsoleRelationship[],
): Omit<DiagramNode, "x" | "y"> {
  const foreign = new Set(
    keys.filter(({ origin }) => origin[1] === relation.name)
      .flatMap(({ pairs }) => pairs.map(([column]) => column)),
  );
  const markOf = (name: string) =>
    relation.primaryKey.includes(name) ? "key" : foreign.has(name) ? "foreign" : "";
  const columns = relation.columns.map(({ name }) => ({ name, mark: markOf(name) } as const))
    .toSorted((a, b) => Number(a.mark === "") - Number(b.mark === ""))
    .slice(0, maxColumns);
  const hidden = relation.columns.length - columns.length;
  const longest = Math.max(
    relation.name.length + 2,
    ...columns.map(({ name }) => name.length + 5),
  );
  return {
    relation,
    columns,
    hidden,
    width: Math.min(320, 28 + longest * charWidth),
    height: headHeight + (columns.length + (hidden > 0 ? 1 : 0)) * lineHeight + 8,
  };
}
