/// <reference lib="dom" />
/** Live figures of the last 15 minutes, each drawn and as a table. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { ConsoleStats } from "../admin/console_routes.ts";
import { readConsole } from "./api.ts";
import { guarded } from "./model.ts";
import { bytesText, grouped, html, usePolling, type View } from "./view.ts";

/** Pixels. */
const figureHeight = 120;

/** Seconds that the charts show. */
const shownSeconds = 900;

type Second = ConsoleStats[number];

/** A line of a chart. */
interface FigureLine {
  readonly label: string;
  /** Custom property of the style sheet. */
  readonly color: string;
  readonly value: (second: Second) => number | null;
}

interface Figure {
  readonly title: string;
  readonly lines: readonly FigureLine[];
  readonly text: (value: number) => string;
}

const ms = (value: number) => `${grouped(Math.round(value * 10) / 10)} ms`;

const figures: readonly Figure[] = [
  {
    title: "Requests per second",
    text: grouped,
    lines: [
      { label: "all", color: "--accent", value: ({ statuses }) => sum(statuses) },
      { label: "errors", color: "--bad", value: ({ statuses }) => sum(statuses.slice(3)) },
    ],
  },
  {
    title: "Duration",
    text: ms,
    lines: [
      { label: "p50", color: "--accent", value: ({ p50 }) => p50 },
      { label: "p95", color: "--warn", value: ({ p95 }) => p95 },
      { label: "p99", color: "--bad", value: ({ p99 }) => p99 },
    ],
  },
  {
    title: "Pool",
    text: grouped,
    lines: [
      { label: "in use", color: "--accent", value: ({ pool }) => pool.inUse },
      { label: "open", color: "--muted", value: ({ pool }) => pool.open },
      { label: "waiting", color: "--bad", value: ({ pool }) => pool.waiting },
    ],
  },
  {
    title: "Memory",
    text: bytesText,
    lines: [{ label: "resident", color: "--accent", value: ({ memory }) => memory }],
  },
];

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** All figures. They follow the service second by second. */
export function Figures(): View {
  const [seconds, setSeconds] = useState<ConsoleStats>([]);
  const [isTable, setTable] = useState(false);
  const last = useRef(0);
  usePolling(() => {
    void guarded(async () => {
      const next = await readConsole<ConsoleStats>(`stats?after=${last.current}`);
      if (next.length === 0) return;
      last.current = next.at(-1)!.id;
      setSeconds((known) => [...known, ...next].slice(-shownSeconds));
    });
  }, 2000);
  return html`
    <section aria-labelledby="figures">
      <div class="section-head"><h2 id="figures">Last 15 minutes</h2>
        <button type="button" class="small-button" aria-pressed=${String(isTable)}
          onClick=${() => setTable(!isTable)}>Show as table</button></div>
      ${isTable ? html`<${FigureTable} ...${{ seconds }} />` : html`
        <div class="figures">${figures.map((figure) =>
          html`<${Chart} key=${figure.title} ...${{ figure, seconds }} />`
        )}</div>
      `}
    </section>
  `;
}

interface ChartProps {
  readonly figure: Figure;
  readonly seconds: ConsoleStats;
}

function Chart({ figure, seconds }: ChartProps): View {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [
    seconds.map(({ time }) => time),
    ...figure.lines.map(({ value }) => seconds.map(value)),
  ] as uPlot.AlignedData;
  useEffect(() => {
    const element = box.current!;
    plot.current = new uPlot(optionsOf(figure, element), data, element);
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: figureHeight })
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [seconds]);
  const latest = seconds.at(-1);
  const values = figure.lines.map(({ label, value }) => {
    const number = latest === undefined ? null : value(latest);
    return `${label} ${number === null ? "–" : figure.text(number)}`;
  });
  return html`
    <figure class="card figure" role="group" aria-label=${figure.title}>
      <h3>${figure.title}</h3>
      <p class="hint figure-now">${values.join(" · ")}</p>
      <div ref=${box} class="plot" role="img" aria-label=${`${figure.title}: ${
        values.join(", ")
      }`}></div>
    </figure>
  `;
}

function optionsOf({ lines, text }: Figure, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => resolved(style.getPropertyValue(name));
  const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 } };
  const ticks = { show: false };
  return {
    width: element.clientWidth,
    height: figureHeight,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.15)] } },
    axes: [
      { ...axis, ticks, space: 70, size: 24, values: (_plot, values) => values.map(clockText) },
      {
        ...axis,
        ticks,
        size: 62,
        space: 34,
        values: (_plot, values) => values.map((each) => text(each)),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, color: name }) => ({
        label,
        stroke: color(name),
        width: 1.6,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
}

function clockText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toLocaleTimeString("en-GB");
}

/** Returns the color that `light-dark()` has in the current theme. */
function resolved(value: string): string {
  const probe = document.createElement("span");
  probe.style.color = value;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Minutes in place of seconds, since 900 rows say no more. */
function FigureTable({ seconds }: { readonly seconds: ConsoleStats }): View {
  const minutes = Map.groupBy(seconds, ({ time }) => Math.floor(time / 60));
  return html`
    <div class="table-wrap">
      <table class="plain-table" aria-label="Figures by minute">
        <thead>
          <tr>
            <th scope="col">Minute</th>
            <th scope="col" class="is-number">Requests</th>
            <th scope="col" class="is-number">Errors</th>
            <th scope="col" class="is-number">Highest p99</th>
            <th scope="col" class="is-number">Most connections in use</th>
          </tr>
        </thead>
        <tbody>${Array.from(minutes, ([minute, each]) =>
          html`
            <tr key=${minute}>
              <td>${new Date(minute * 60_000).toLocaleTimeString([], {
                hour: "2-digit",
                minute: "2-digit",
              })}</td>
              <td class="is-number">${grouped(sum(each.map(({ statuses }) => sum(statuses))))}</td>
              <td class="is-number">${grouped(
                sum(each.map(({ statuses }) => sum(statuses.slice(3)))),
              )}</td>
              <td class="is-number">${ms(Math.max(0, ...each.map(({ p99 }) => p99 ?? 0)))}</td>
              <td class="is-number">${Math.max(0, ...each.map(({ pool }) => pool.inUse))}</td>
            </tr>
          `).toReversed()}</tbody>
      </table>
    </div>
  `;
}
