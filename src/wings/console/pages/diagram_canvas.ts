/// <reference lib="dom" />
/** Draws a diagram in a scrolling frame, with buttons and keys to scale it. @module */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  type DiagramEdge,
  type DiagramLayout,
  type DiagramNode,
  headHeight,
  lineHeight,
} from "./diagram_layout.ts";
import { hrefOf } from "./route.ts";
import { html, Icon, type View } from "./view.ts";

const scaleBounds = [0.1, 3] as const;

/** Minimum scale at which names are readable. A diagram that does not fit at this scale is shown in part. */
const minFittedScale = 0.6;

/** Pixels around the drawing, as in the style sheet. */
const margin = 16;

interface DiagramCanvasProps {
  readonly layout: DiagramLayout;
  /** Highlighted table, to which the frame scrolls first. */
  readonly center: string | null;
  /** Table to which the frame scrolls first if none is highlighted. */
  readonly start: string;
}

/** The drawing with its controls. Tab moves between tables. */
export function DiagramCanvas({ layout, center, start }: DiagramCanvasProps): View {
  const frame = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(1);
  const fit = () => {
    const { clientWidth, clientHeight } = frame.current!;
    const across = (clientWidth - 2 * margin) / layout.width;
    const down = (clientHeight - 2 * margin) / layout.height;
    setScale(Math.max(minFittedScale, Math.min(across, down, 1)));
    requestAnimationFrame(() => {
      const element = frame.current?.querySelector(`[data-name="${CSS.escape(center ?? start)}"]`);
      element?.scrollIntoView({ block: "center", inline: "center" });
    });
  };
  useLayoutEffect(fit, [layout, center]);
  /** Scales the drawing, so that the center of the frame stays in place. */
  const zoom = (factor: number) => {
    const next = Math.max(scaleBounds[0], Math.min(scaleBounds[1], scale * factor));
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = frame.current!;
    const moved = (start: number, size: number) => (start + size / 2) * next / scale - size / 2;
    setScale(next);
    requestAnimationFrame(() =>
      frame.current?.scrollTo(moved(scrollLeft, clientWidth), moved(scrollTop, clientHeight))
    );
  };
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === "+" || key === "=") zoom(1.25);
    else if (key === "-") zoom(0.8);
    else if (key === "0") fit();
  };
  const box = [0, 0, layout.width, layout.height];
  return html`
    <div class="diagram-frame" onKeyDown=${onKeyDown}>
      <div ref=${frame} class="diagram-scroll" tabindex="0" role="region"
        aria-label="Diagram of tables">
        <svg class="diagram" fill="none" viewBox=${box.join(" ")} width=${layout.width * scale}
          height=${layout.height * scale} role="group" aria-label="Tables and foreign keys">
          ${layout.edges.map((edge, index) => html`<${Edge} key=${index} ...${{ edge }} />`)}
          ${layout.nodes.map((node) =>
            html`
              <${Box} key=${node.relation.name} ...${{ node }}
                isCenter=${node.relation.name === center} />
            `
          )}
        </svg>
      </div>
      <div class="row box diagram-controls" role="group" aria-label="Zoom">
        <button type="button" class="icon-button" aria-label="Zoom in" onClick=${() => zoom(1.25)}>
          <${Icon} name="plus" /></button>
        <button type="button" class="icon-button" aria-label="Zoom out" onClick=${() => zoom(0.8)}>
          <${Icon} name="minus" /></button>
        <button type="button" onClick=${fit}>Fit</button>
      </div>
    </div>
  `;
}

function Edge({ edge: { points, from, to } }: { readonly edge: DiagramEdge }): View {
  const path = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  const [tip, before] = [points.at(-1)!, points.at(-2) ?? points[0]!];
  const angle = Math.atan2(tip.y - before.y, tip.x - before.x) * 180 / Math.PI;
  return html`
    <g>
      <title>${from} refers to ${to}</title>
      <path d=${path} />
      <path class="arrow" d="M-9 -4.5L0 0L-9 4.5z"
        transform=${`translate(${tip.x} ${tip.y}) rotate(${angle})`} />
    </g>
  `;
}

function Box(
  { node, isCenter }: { readonly node: DiagramNode; readonly isCenter: boolean },
): View {
  const { relation: { schema, name, isView }, hidden, x, y, width, height } = node;
  const classes = `node ${isView ? "is-view" : ""} ${isCenter ? "is-center" : ""}`;
  const textY = (index: number) => headHeight + index * lineHeight + 15;
  return html`
    <a href=${hrefOf({ page: "table", schema, name })} data-name=${name}>
      <g class=${classes} transform=${`translate(${x} ${y})`}>
        <rect width=${width} height=${height} rx="7" />
        <text class="node-name" x="12" y="20">${name}</text>
        <path d=${`M0 ${headHeight}H${width}`} />
        ${node.columns.map((column, index) =>
          html`
            <text key=${column.name} x="12" y=${textY(index)}>${column.name}</text>
            <text class="muted" x=${width - 12} y=${textY(index)} text-anchor="end">${column
              .mark}</text>
          `
        )}
        ${hidden > 0 &&
          html`<text class="muted" x="12" y=${textY(node.columns.length)}>${hidden} more</text>`}
      </g>
    </a>
  `;
}
