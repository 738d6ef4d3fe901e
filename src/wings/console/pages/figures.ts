/// <reference lib="dom" />
/** Live figures of the last 15 minutes, as drawings and as a table. @module */
import * as Plot from "@observablehq/plot";
import { useState } from "preact/hooks";
import type { ConsoleStats } from "../server/console_routes.ts";
import { Drawing } from "./drawing.ts";
import { useEntries } from "./loading.ts";
import { bytesText, DataTable, grouped, html, type View } from "./view.ts";

/** Seconds that the charts show. */
const shownSeconds = 900;

type Second = ConsoleStats[number];

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
      { label: "open", color: "--text-light", value: ({ pool }) => pool.open },
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

/** All figures, updated each second. */
export function Figures(): View {
  const seconds = useEntries<Second>("stats", { max: shownSeconds });
  const [isTable, setTable] = useState(false);
  return html`
    <section class="stack" aria-labelledby="figures">
      <div class="row between"><h2 id="figures">Last 15 minutes</h2>
        <button type="button" aria-pressed=${String(isTable)}
          onClick=${() => setTable(!isTable)}>Show as table</button></div>
      ${isTable ? html`<${FigureTable} ...${{ seconds }} />` : html`
        <div class="cards quarters">${figures.map((figure) =>
          html`<${Chart} key=${figure.title} ...${{ figure, seconds }} />`
        )}</div>
      `}
    </section>
  `;
}

function Chart(
  { figure, seconds }: { readonly figure: Figure; readonly seconds: ConsoleStats },
): View {
  const latest = seconds.at(-1);
  const values = figure.lines.map(({ label, value }) => {
    const number = latest === undefined ? null : value(latest);
    return `${label} ${number === null ? "–" : figure.text(number)}`;
  });
  const timeOf = ({ time }: Second) => new Date(time * 1000);
  const domain = seconds.length < 2 ? {} : { domain: [seconds[0]!, latest!].map(timeOf) };
  const options = (width: number): Plot.PlotOptions => ({
    height: 120,
    marginLeft: 62,
    x: { type: "time", ...domain, ticks: Math.floor(width / 110), tickSize: 0, label: null },
    y: { ticks: 3, tickSize: 0, tickFormat: figure.text, grid: true, label: null, zero: true },
    marks: figure.lines.map(({ color, value }) =>
      Plot.lineY(seconds.filter((second) => value(second) !== null) as Plot.Data, {
        x: timeOf,
        y: value,
        stroke: `var(${color})`,
      })
    ),
  });
  return html`
    <figure class="box card" role="group" aria-label=${figure.title}>
      <h3>${figure.title}</h3>
      <p class="hint">${values.join(" · ")}</p>
      <${Drawing} label=${`${figure.title}: ${values.join(", ")}`} options=${options}
        deps=${[seconds]} />
    </figure>
  `;
}

/** Table with a row for each minute, because 900 rows for seconds would not show more. */
function FigureTable({ seconds }: { readonly seconds: ConsoleStats }): View {
  const minutes = Map.groupBy(seconds, ({ time }) => Math.floor(time / 60));
  const head = ["Minute", "Requests", "Errors", "Highest p99", "Most connections in use"];
  const rows = Array.from(minutes, ([minute, each]) => [
    new Date(minute * 60_000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }),
    grouped(sum(each.map(({ statuses }) => sum(statuses)))),
    grouped(sum(each.map(({ statuses }) => sum(statuses.slice(3))))),
    ms(Math.max(0, ...each.map(({ p99 }) => p99 ?? 0))),
    Math.max(0, ...each.map(({ pool }) => pool.inUse)),
  ]).toReversed();
  const numbers = [1, 2, 3, 4];
  return html`<${DataTable} label="Figures by minute" ...${{ head, rows, numbers }} />`;
}
