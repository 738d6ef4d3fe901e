/// <reference lib="dom" />
/**
 * A chart of the rows that a table shows.
 *
 * @module
 */
import * as Plot from "@observablehq/plot";
import { useEffect, useRef, useState } from "preact/hooks";
import type { GridRow } from "./edit.ts";
import { typeKind } from "./filters.ts";
import type { TableViewProps } from "./lazy_view.ts";
import { Empty, html, type View } from "./view.ts";

const marks = { bar: "Bars", line: "Line", dot: "Dots" } as const;

type Mark = keyof typeof marks;

/** Columns that a chart draws. */
interface ChartColumns {
  readonly x: string;
  readonly y: string;
  /** Empty for one color. */
  readonly color: string;
}

/** Bars, lines or dots of two or three columns. */
export function ChartView({ rows, columns, relation }: TableViewProps): View {
  const kindOf = (name: string) => {
    const column = relation.columns.find((each) => each.name === name);
    return column === undefined ? "text" : typeKind(column.baseType);
  };
  const numbers = columns.filter((name) => kindOf(name) === "number");
  const times = columns.filter((name) => kindOf(name) === "time");
  const measures = numbers.filter((name) => !relation.primaryKey.includes(name));
  const texts = columns.filter((name) => kindOf(name) === "text" || kindOf(name) === "boolean");
  const [mark, setMark] = useState<Mark>(times.length > 0 ? "dot" : "bar");
  const [chosen, setChosen] = useState<ChartColumns>({
    x: times[0] ?? texts[0] ?? columns[0] ?? "",
    y: measures[0] ?? numbers[0] ?? "",
    color: "",
  });
  if (numbers.length === 0) {
    return html`
      <${Empty} title="No column has numbers">
        <p>A chart needs one for its height.</p>
        <//>
    `;
  }
  const choice = (label: string, key: keyof ChartColumns, names: readonly string[]) =>
    html`
      <label class="field-inline">${label}
        <select onChange=${(event: Event) =>
          setChosen({ ...chosen, [key]: (event.target as HTMLSelectElement).value })}>
          ${names.map((name) =>
            html`<option key=${name} value=${name} selected=${name === chosen[key]}>${
              name || "–"
            }</option>`
          )}
        </select></label>
    `;
  return html`
    <div class="chart-controls">
      <label class="field-inline">Draw
        <select onChange=${(event: Event) =>
          setMark((event.target as HTMLSelectElement).value as Mark)}>
          ${Object.entries(marks).map(([key, label]) =>
            html`<option key=${key} value=${key} selected=${key === mark}>${label}</option>`
          )}
        </select></label>
      ${choice("Across", "x", columns)} ${choice("Up", "y", numbers)}
      ${choice("Color", "color", ["", ...texts])}
    </div>
    <${Drawing} ...${{ rows, mark, chosen }} isTime=${kindOf(chosen.x) === "time"} />
  `;
}

interface DrawingProps {
  readonly rows: readonly GridRow[];
  readonly mark: Mark;
  readonly chosen: ChartColumns;
  readonly isTime: boolean;
}

function Drawing({ rows, mark, chosen, isTime }: DrawingProps): View {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const draw = () => element.replaceChildren(drawing({ rows, mark, chosen, isTime }, element));
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [rows, mark, chosen, isTime]);
  const text = `${marks[mark]} of ${chosen.y} by ${chosen.x}, ${rows.length} rows`;
  return html`
    <div class="chart">
      <div ref=${box} class="plot-box" role="img" aria-label=${text}></div>
      <p class="hint">The chart shows the rows of this page; the view Rows has them as a table.</p>
    </div>
  `;
}

/** Draws without the package's own `style` element, which the policy of the page forbids. */
function drawing({ rows, mark, chosen, isTime }: DrawingProps, element: HTMLElement): Element {
  const { x, y, color } = chosen;
  const data = rows.map((row) => ({
    x: isTime ? new Date(String(row[x])) : row[x] === null ? "null" : row[x],
    y: row[y] === null ? null : Number(row[y]),
    color: color === "" ? undefined : String(row[color]),
  }));
  const paint = color === "" ? getComputedStyle(element).color : "color";
  const isBand = mark === "bar" || data.some((each) => typeof each.x === "string");
  const figure = Plot.plot({
    className: "drawn",
    width: Math.max(280, element.clientWidth),
    height: 420,
    marginLeft: 56,
    marginBottom: isBand ? 96 : 40,
    x: isBand
      ? { label: x, type: mark === "bar" ? "band" : "point", tickRotate: -40 }
      : { label: x },
    y: { label: y, grid: true, zero: mark === "bar" },
    marks: [Plot.ruleY([0]), layerOf(data, mark, paint)],
  });
  figure.querySelectorAll("style").forEach((style) => style.remove());
  // The element around it has the text of the whole image.
  figure.querySelectorAll("[aria-label]").forEach((each) => each.removeAttribute("aria-label"));
  return figure;
}

function layerOf(data: readonly object[], mark: Mark, paint: string): Plot.Markish {
  const channels = { x: "x", y: "y" } as const;
  switch (mark) {
    case "bar":
      return Plot.barY(data as Plot.Data, { ...channels, fill: paint });
    case "line":
      return Plot.lineY(data as Plot.Data, { ...channels, stroke: paint, z: "color" });
    case "dot":
      return Plot.dot(data as Plot.Data, { ...channels, fill: paint, fillOpacity: 0.75, r: 4 });
    default:
      return mark satisfies never;
  }
}
