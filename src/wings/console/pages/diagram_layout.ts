/** Computes the layout of a diagram. @module */
import dagre from "@dagrejs/dagre";
import type { ConsoleRelation, ConsoleRelationship } from "../server/console_schema.ts";

/** Maximum columns in a box. Keys and foreign keys come first. */
const maxColumns = 6;

export const headHeight = 30;
export const lineHeight = 19;
const charWidth = 7.1;

/** A table, and the coordinates of its upper left corner. */
export interface DiagramNode {
  readonly relation: ConsoleRelation;
  readonly columns: readonly { readonly name: string; readonly mark: "key" | "ref" | "" }[];
  /** Number of columns that are not listed. */
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
  readonly points: readonly Point[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

export interface DiagramLayout extends Size {
  readonly nodes: readonly DiagramNode[];
  readonly edges: readonly DiagramEdge[];
}

/** Returns the names of a relation and its related relations. */
export function neighbourhood(
  center: string,
  relationships: readonly ConsoleRelationship[],
): ReadonlySet<string> {
  const related = relationships.filter(({ origin }) => origin[1] === center);
  return new Set([center, ...related.map(({ foreign }) => foreign[1])]);
}

type Box = Omit<DiagramNode, "x" | "y">;

/** Pixels between boxes, edges, layers, and groups of connected boxes. */
const [boxGap, edgeGap, rankGap, blockGap] = [20, 8, 56, 32];

/**
 * Arranges relations and their foreign keys. Connected tables form groups of layers. The groups,
 * and tables without foreign keys, fill rows, so that the diagram has about the shape of the
 * window. `aspect` is the width of the window divided by its height.
 */
export function layoutDiagram(
  relations: readonly ConsoleRelation[],
  relationships: readonly ConsoleRelationship[],
  aspect: number,
): DiagramLayout {
  const names = new Set(relations.map(({ name }) => name));
  const keys = relationships.filter(({ isForward, origin, foreign }) =>
    isForward && names.has(origin[1]) && names.has(foreign[1])
  );
  const connected = new Set(keys.flatMap(({ origin, foreign }) => [origin[1], foreign[1]]));
  const boxes = relations.map((relation) => boxOf(relation, keys));
  const isConnected = ({ relation }: Box) => connected.has(relation.name);
  const joined = boxes.filter(isConnected);
  const [across, down] = [layoutLayers(joined, keys, "LR"), layoutLayers(joined, keys, "TB")];
  // Layers go across or down, whichever the window shows at a larger scale.
  const size = ({ width, height }: Size) => Math.max(width / aspect, height);
  const single = boxes.filter((box) => !isConnected(box)).map((box): DiagramLayout => {
    const { width, height } = box;
    return { nodes: [{ ...box, x: 0, y: 0 }], edges: [], width, height };
  });
  const layers = size(down) < size(across) ? down : across;
  return packed(joined.length === 0 ? single : [layers, ...single], aspect);
}

function layoutLayers(
  boxes: readonly Box[],
  keys: readonly ConsoleRelationship[],
  rankdir: "LR" | "TB",
): DiagramLayout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir, nodesep: boxGap, edgesep: edgeGap, ranksep: rankGap });
  graph.setDefaultEdgeLabel(() => ({}));
  // The dot protects Dagre, which keeps nodes as members of an object, from a table named `__proto__`.
  const idOf = (name: string) => `.${name}`;
  for (const { relation, width, height } of boxes) {
    graph.setNode(idOf(relation.name), { width, height });
  }
  for (const { origin, foreign, hint } of keys) {
    const isLoop = origin[1] === foreign[1];
    const [from, to] = [idOf(origin[1]), idOf(foreign[1])];
    if (!isLoop) graph.setEdge(from, to, {}, hint);
  }
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const nodes = boxes.map((box) => {
    const { x, y } = graph.node(idOf(box.relation.name)) as { x: number; y: number };
    return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
  });
  const edges = graph.edges().map((edge) => ({
    from: edge.v.slice(1),
    to: edge.w.slice(1),
    points: (graph.edge(edge) as DiagramEdge).points,
  }));
  const loops = keys.filter(({ origin, foreign }) => origin[1] === foreign[1])
    .map(({ origin }) => loopOf(nodes.find(({ relation }) => relation.name === origin[1])!));
  return { nodes, edges: [...edges, ...loops], width, height };
}

/** Returns the edge of a table to itself, at the side of its box. */
function loopOf({ relation: { name }, x, y, width }: DiagramNode): DiagramEdge {
  const [side, far] = [x + width, x + width + boxGap / 2];
  const [top, bottom] = [y + headHeight / 2, y + headHeight + lineHeight];
  const corners = [[side, bottom], [far, bottom], [far, top], [side, top]] as const;
  const points = corners.map(([cornerX, cornerY]) => ({ x: cornerX, y: cornerY }));
  return { from: name, to: name, points };
}

/** Arranges blocks in rows, highest first, so that the whole has about the shape of the window. */
function packed(blocks: readonly DiagramLayout[], aspect: number): DiagramLayout {
  const area = blocks.reduce(
    (sum, { width, height }) => sum + (width + blockGap) * (height + blockGap),
    0,
  );
  const rowWidth = Math.max(Math.sqrt(area * aspect), ...blocks.map(({ width }) => width));
  const placed: DiagramLayout[] = [];
  let [x, y, rowHeight, widest] = [0, 0, 0, 1];
  for (const block of blocks.toSorted((a, b) => b.height - a.height)) {
    if (x > 0 && x + block.width > rowWidth) [x, y, rowHeight] = [0, y + rowHeight + blockGap, 0];
    placed.push(shifted(block, { x, y }));
    x += block.width + blockGap;
    rowHeight = Math.max(rowHeight, block.height);
    widest = Math.max(widest, x - blockGap);
  }
  return {
    nodes: placed.flatMap(({ nodes }) => nodes),
    edges: placed.flatMap(({ edges }) => edges),
    width: widest,
    height: Math.max(1, y + rowHeight),
  };
}

function shifted(layout: DiagramLayout, { x, y }: Point): DiagramLayout {
  const move = <Moved extends Point>(point: Moved): Moved => {
    return { ...point, x: point.x + x, y: point.y + y };
  };
  const edges = layout.edges.map((edge) => ({ ...edge, points: edge.points.map(move) }));
  return { ...layout, nodes: layout.nodes.map(move), edges };
}

function boxOf(relation: ConsoleRelation, keys: readonly ConsoleRelationship[]): Box {
  const foreign = new Set(
    keys.filter(({ origin }) => origin[1] === relation.name)
      .flatMap(({ pairs }) => pairs.map(([column]) => column)),
  );
  const markOf = (name: string) =>
    relation.primaryKey.includes(name) ? "key" : foreign.has(name) ? "ref" : "";
  const columns = relation.columns.map(({ name }) => ({ name, mark: markOf(name) } as const))
    .toSorted((a, b) => Number(a.mark === "") - Number(b.mark === ""))
    .slice(0, maxColumns);
  const hidden = relation.columns.length - columns.length;
  const longest = Math.max(relation.name.length + 2, ...columns.map(({ name }) => name.length + 5));
  return {
    relation,
    columns,
    hidden,
    width: Math.min(320, 28 + longest * charWidth),
    height: headHeight + (columns.length + (hidden > 0 ? 1 : 0)) * lineHeight + 8,
  };
}
