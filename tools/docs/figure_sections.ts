/** Tables of the figures in `docs/reference/figures/requests.json`, in Markdown. @module */
import requests from "../../docs/reference/figures/requests.json" with { type: "json" };
import { type LoadSet, loadSets } from "../benchmark/cases.ts";
import type { LargeStanding, LoadStanding } from "../benchmark/contest.ts";
import { geometricMean } from "../benchmark/figures.ts";
import type { LoadField } from "../benchmark/measure.ts";
import { compare, largeTable, times } from "../benchmark/report.ts";
import type { RunFacts } from "../benchmark/run_facts.ts";
import { markdownTable, shown } from "../benchmark/table.ts";

/** The raw results, as `deno task bench --json` prints them. */
const { run, loads, large } = requests as unknown as {
  readonly run: RunFacts;
  readonly loads: readonly LoadStanding[];
  readonly large: readonly LargeStanding[];
};

const titles: Readonly<Record<LoadSet, string>> = {
  plain: "Tables without policies",
  token: "Tables without policies, with tokens",
  rls: "Row-level security, with tokens",
};

/** A column of a table: its head, the measured program, and the figure. */
type FigureColumn = readonly [head: string, name: "service" | "peer" | "floor", field: LoadField];

const latencies: readonly FigureColumn[] = [
  ["p50 ms", "service", "p50"],
  ["peer", "peer", "p50"],
  ["p99 ms", "service", "p99"],
  ["peer", "peer", "p99"],
];

const processorTimes: readonly FigureColumn[] = [
  ["CPU µs", "service", "cpu"],
  ["peer", "peer", "cpu"],
  ["PostgreSQL µs", "service", "postgresCpu"],
  ["peer", "peer", "postgresCpu"],
  ["by hand", "floor", "postgresCpu"],
];

/** Returns method, machine and tables of all cases. */
export function figureSection(): string {
  const sets = loadSets.filter((set) => loads.some((load) => load.set === set));
  return [methodText(), ...sets.map(setText), ...(large.length === 0 ? [] : [largeText()])]
    .join("\n\n");
}

/** Returns a short table for the README. */
export function headlineSection(): string {
  const headlines = new Map([
    ["plain row by key, token", "row by key, token"],
    ["user's row by key", "user's row by key, row-level security"],
    ["user's page of 20", "user's page of 20, row-level security"],
    ["user's insert, representation", "user's insert, returned, row-level security"],
  ]);
  return rateTable(
    loads.filter(({ name }) => headlines.has(name))
      .map((load) => ({ ...load, name: headlines.get(load.name)! })),
    latencies.slice(2),
  );
}

function methodText(): string {
  const shares = loads.flatMap(({ service, peer, floor }) =>
    [service, peer, floor].map((figures) => figures?.otherLoad ?? NaN)
  ).filter((share) => !Number.isNaN(share));
  const others = shares.length === 0
    ? "not recorded"
    : `up to ${Math.round(100 * Math.max(...shares))} %`;
  return [
    `- Date: ${run.date}; svc at revision \`${run.revision}\`; peer: ${run.peer ?? "none"}`,
    `- Machine: ${run.machine}; ${run.versions}`,
    `- Method: ${run.method}; medians`,
    `- Processors used by other programs: ${others}`,
    ...(run.remark === null ? [] : [`- ${run.remark}`]),
  ].join("\n");
}

function setText(set: LoadSet): string {
  const cases = loads.filter((load) => load.set === set);
  const ratios = cases.map((load) => compare(load).speed).filter((ratio) => ratio !== null)
    .sort((one, other) => one - other);
  return `### ${titles[set]}

${rateTable(cases, latencies)}

${table(cases, processorTimes)}

Geometric mean of the ratios: ${times(geometricMean(ratios))}; without the highest: ${
    times(geometricMean(ratios.slice(0, -1)))
  }`;
}

function largeText(): string {
  return `### One large answer and one large body\n\n${largeTable(large)}`;
}

/** Rates and their ratio precede other columns. */
function rateTable(cases: readonly LoadStanding[], columns: readonly FigureColumn[]): string {
  const rates: readonly FigureColumn[] = [
    ["requests/s", "service", "perSecond"],
    ["peer", "peer", "perSecond"],
  ];
  const heads = [...rates.map(([head]) => head), "ratio", ...columns.map(([head]) => head)];
  const rows = cases.map((load) => [
    load.name,
    ...cells(load, rates),
    times(compare(load).speed),
    ...cells(load, columns),
  ]);
  return markdownTable(["case", ...heads], rows);
}

function table(cases: readonly LoadStanding[], columns: readonly FigureColumn[]): string {
  const rows = cases.map((load) => [load.name, ...cells(load, columns)]);
  return markdownTable(["case", ...columns.map(([head]) => head)], rows);
}

function cells(load: LoadStanding, columns: readonly FigureColumn[]): readonly string[] {
  return columns.map(([, name, field]) => shown(load[name]?.[field] ?? null));
}
