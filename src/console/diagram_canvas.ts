/// <reference lib="dom" />
/** Draws a diagram, which pointers, keys and buttons move and scale. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import {
  type DiagramEdge,
  type DiagramLayout,
  type DiagramNode,
  headHeight,
  lineHeight,
} from "./diagram_layout.ts";
import { hrefOf } from "./route.ts";
import { html, Icon, saveFile, type View } from "./view.ts";

/** The part of the diagram that is shown, in its coordinates. */
interface ShownArea {
  readonly x: number;
  readonly y: number;
  /** Pixels per unit. */
  readonly scale: number;
}

const scaleBounds = [0.1, 3] as const;

/** The smallest scale at which names can be read. A larger diagram is shown in part. */
const minFittedScale = 0.6;

/** Pixels around a diagram that fits. */
const margin = 16;

interface DiagramCanvasProps {
  readonly layout: DiagramLayout;
  /** Highlighted table, which is shown first. */
  readonly center: string | null;
  /** Table that is shown first if none is highlighted. */
  readonly start: string;
}

/** The drawing with its controls. Tab moves from table to table. */
export function DiagramCanvas({ layout, center, start }: DiagramCanvasProps): View {
  const frame = useRef<HTMLDivElement>(null);
  const [area, setArea] = useState<ShownArea>({ x: 0, y: 0, scale: 1 });
  const fit = () => setArea(fitted(layout, frame.current!, center ?? start));
  useEffect(fit, [layout, center]);
  const zoom = (factor: number) => {
    const { clientWidth, clientHeight } = frame.current!;
    setArea((old) => scaled(old, factor, { x: clientWidth / 2, y: clientHeight / 2 }));
  };
  const pan = (x: number, y: number) =>
    setArea((old) => ({ ...old, x: old.x + x / old.scale, y: old.y + y / old.scale }));
  const onKeyDown = (event: KeyboardEvent) => {
    const step = panSteps[event.key];
    if (step !== undefined) pan(...step);
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };
  const pointers = usePointers(setArea);
  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    const { left, top } = frame.current!.getBoundingClientRect();
    const at = { x: event.clientX - left, y: event.clientY - top };
    setArea((old) => scaled(old, Math.exp(-event.deltaY / 500), at));
  };
  const { clientWidth = 800, clientHeight = 600 } = frame.current ?? {};
  const box = [area.x, area.y, clientWidth / area.scale, clientHeight / area.scale];
  return html`
    <div ref=${frame} class="diagram-frame" onKeyDown=${onKeyDown}>
      <svg class="diagram" viewBox=${box.join(" ")} role="group" aria-label="Diagram of tables"
        onWheel=${onWheel} ...${pointers}>
        ${layout.edges.map((edge, index) => html`<${Edge} key=${index} ...${{ edge }} />`)}
        ${layout.nodes.map((node) =>
          html`
            <${Box} key=${node.relation.name} ...${{ node }}
              isCenter=${node.relation.name === center}
              onFocus=${() => setArea((old) => revealing(old, node, frame.current!))} />
          `
        )}
      </svg>
      <div class="diagram-controls" role="group" aria-label="Zoom">
        <button type="button" class="icon-button" aria-label="Zoom in" onClick=${() => zoom(1.25)}>
          <${Icon} name="plus" /></button>
        <button type="button" class="icon-button" aria-label="Zoom out" onClick=${() => zoom(0.8)}>
          <${Icon} name="minus" /></button>
        <button type="button" class="small-button" onClick=${fit}>Fit</button>
        <button type="button" class="small-button" onClick=${() =>
          exportSvg(layout, frame.current!)}>
          Export SVG</button>
      </div>
    </div>
  `;
}

/** Returns the area of the whole diagram; if that is too large, the part around a table. */
function fitted(
  { nodes, ...size }: DiagramLayout,
  { clientWidth, clientHeight }: HTMLElement,
  name: string,
): ShownArea {
  const across = (clientWidth - 2 * margin) / size.width;
  const down = (clientHeight - 2 * margin) / size.height;
  const scale = Math.max(minFittedScale, Math.min(across, down, 1));
  const [width, height] = [clientWidth / scale, clientHeight / scale];
  const node = nodes.find(({ relation }) => relation.name === name);
  const at = (middle: number | undefined, length: number, shown: number) =>
    length + 2 * margin <= shown
      ? (length - shown) / 2
      : Math.max(-margin, Math.min((middle ?? 0) - shown / 2, length - shown + margin));
  return {
    scale,
    x: at(node && node.x + node.width / 2, size.width, width),
    y: at(node && node.y + node.height / 2, size.height, height),
  };
}

/** Pixels that a key moves the area by. */
const panSteps: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-60, 0],
  ArrowRight: [60, 0],
  ArrowUp: [0, -60],
  ArrowDown: [0, 60],
};

function bounded(scale: number): number {
  return Math.max(scaleBounds[0], Math.min(scaleBounds[1], scale));
}

/** Returns the area with another scale, so that a point of the frame stays where it is. */
function scaled(
  area: ShownArea,
  factor: number,
  at: { readonly x: number; readonly y: number },
): ShownArea {
  const scale = bounded(area.scale * factor);
  return {
    scale,
    x: area.x + at.x / area.scale - at.x / scale,
    y: area.y + at.y / area.scale - at.y / scale,
  };
}

/** Returns the area moved so that it contains a table. */
function revealing(area: ShownArea, node: DiagramNode, frame: HTMLElement): ShownArea {
  const [width, height] = [frame.clientWidth / area.scale, frame.clientHeight / area.scale];
  const isInside = node.x >= area.x && node.x + node.width <= area.x + width &&
    node.y >= area.y && node.y + node.height <= area.y + height;
  if (isInside) return area;
  return {
    ...area,
    x: node.x + node.width / 2 - width / 2,
    y: node.y + node.height / 2 - height / 2,
  };
}

/** Returns listeners: one pointer moves the area, two scale it. */
function usePointers(setArea: (change: (old: ShownArea) => ShownArea) => void) {
  const points = useRef(new Map<number, { x: number; y: number }>());
  const onPointerDown = (event: PointerEvent) => {
    if ((event.target as Element).closest("a") === null) {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    }
    points.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const onPointerMove = (event: PointerEvent) => {
    const previous = points.current.get(event.pointerId);
    if (previous === undefined) return;
    const next = { x: event.clientX, y: event.clientY };
    const other = Array.from(points.current).find(([id]) => id !== event.pointerId)?.[1];
    points.current.set(event.pointerId, next);
    if (other === undefined) {
      setArea((old) => ({
        ...old,
        x: old.x - (next.x - previous.x) / old.scale,
        y: old.y - (next.y - previous.y) / old.scale,
      }));
      return;
    }
    const factor = distance(next, other) / Math.max(1, distance(previous, other));
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    setArea((old) => scaled(old, factor, { x: other.x - left, y: other.y - top }));
  };
  const onPointerUp = (event: PointerEvent) => void points.current.delete(event.pointerId);
  return {
    onPointerDown,
    onPointerMove,
    onPointerUp,
    onPointerCancel: onPointerUp,
    onPointerLeave: onPointerUp,
  };
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function Edge({ edge: { points, from, to } }: { readonly edge: DiagramEdge }): View {
  const path = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  const [tip, before] = [points.at(-1)!, points.at(-2) ?? points[0]!];
  const angle = Math.atan2(tip.y - before.y, tip.x - before.x) * 180 / Math.PI;
  return html`
    <g class="edge">
      <title>${from} refers to ${to}</title>
      <path d=${path} />
      <path class="arrow" d="M-9 -4.5L0 0L-9 4.5z"
        transform=${`translate(${tip.x} ${tip.y}) rotate(${angle})`} />
    </g>
  `;
}

interface BoxProps {
  readonly node: DiagramNode;
  readonly isCenter: boolean;
  readonly onFocus: () => void;
}

function Box({ node, isCenter, onFocus }: BoxProps): View {
  const { relation: { schema, name, isView }, hidden, x, y, width, height } = node;
  const classes = `node ${isView ? "is-view" : ""} ${isCenter ? "is-center" : ""}`;
  const textY = (index: number) => headHeight + index * lineHeight + 15;
  return html`
    <a href=${hrefOf({ page: "table", schema, name, view: "rows", query: "" })} onFocus=${onFocus}>
      <g class=${classes} transform=${`translate(${x} ${y})`}>
        <rect width=${width} height=${height} rx="7" />
        <text class="node-name" x="12" y="20">${name}</text>
        <path class="divider" d=${`M0 ${headHeight}H${width}`} />
        ${node.columns.map((column, index) =>
          html`
            <text key=${column.name} x="12" y=${textY(index)}>${column.name}</text>
            <text class="muted-text" x=${width - 12} y=${textY(index)} text-anchor="end">${{
              key: "key",
              foreign: "ref",
              "": "",
            }[column.mark]}</text>
          `
        )}
        ${hidden > 0 &&
          html`<text class="muted-text" x="12" y=${
            textY(node.columns.length)
          }>${hidden} more</text>`}
      </g>
    </a>
  `;
}

/** Saves the whole diagram. The file has the colors of the page. */
function exportSvg({ width, height }: DiagramLayout, frame: HTMLElement): void {
  const source = frame.querySelector("svg")!;
  const copy = source.cloneNode(true) as SVGSVGElement;
  const originals = source.querySelectorAll<SVGElement>("rect, path, text");
  copy.querySelectorAll<SVGElement>("rect, path, text").forEach((element, index) => {
    const style = getComputedStyle(originals[index]!);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font"] as const) {
      element.style.setProperty(name, style.getPropertyValue(name));
    }
  });
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const text = new XMLSerializer().serializeToString(copy);
  saveFile("diagram.svg", new Blob([text], { type: "image/svg+xml" }));
}
