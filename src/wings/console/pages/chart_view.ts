/// <reference lib="dom" />
/** A chart of an aggregate over all filtered rows. Its request is in the URL. @module */
import * as Plot from "@observablehq/plot";
import { useEffect } from "preact/hooks";
import type { ConsoleRelation } from "../server/console_schema.ts";
import {
  type ChartChoice,
  chartKeys,
  chartQuery,
  choiceOf,
  firstChoice,
  groupColumns,
  maxGroups,
  measuredColumns,
  measures,
  periods,
  withColumn,
} from "./chart_query.ts";
import { cellText } from "./cells.ts";
import { Drawing } from "./drawing.ts";
import type { GridRow } from "./edit.ts";
import { type TableQuery, typeKind } from "./filters.ts";
import { type Labels, useLabels } from "./labels.ts";
import { relationshipsOf, serviceState } from "./model.ts";
import { DataTable, Empty, grouped, html, Select, type SelectProps, type View } from "./view.ts";

interface ChartViewProps {
  readonly relation: ConsoleRelation;
  readonly query: TableQuery;
  /** Rows of the query; null during loading, and after an error. */
  readonly rows: readonly GridRow[] | null;
  readonly onQuery: (query: TableQuery) => void;
}

/** Controls of the aggregate, its drawing, and its numbers as a table. */
export function ChartView({ relation, query, rows, onQuery }: ChartViewProps): View {
  const forward = relationshipsOf(relation).filter(({ isForward }) => isForward);
  const references = new Set(forward.flatMap(({ pairs }) => pairs.map(([column]) => column)));
  const current = choiceOf(query, relation);
  const choice = current ?? firstChoice(relation, references);
  const isOff = serviceState.value?.features.aggregates !== true;
  const choose = (next: ChartChoice) => onQuery(chartQuery(next, relation, query));
  useEffect(() => {
    if (current === null && choice !== null && !isOff) choose(choice);
  }, [current === null, isOff]);
  const labels = useLabels(relation, current === null ? null : rows);
  if (isOff || choice === null) {
    return html`
      <${Empty} title=${isOff ? "Aggregates are off" : "No column has groups"}>
        ${isOff && html`<p>Set <code>db-aggregates-enabled</code> to draw charts.</p>`}
        <//>
    `;
  }
  return html`
    <${ChartControls} ...${{ relation, choice, references }} onChoice=${choose} />
    ${current !== null && rows !== null &&
      (rows.length === 0
        ? html`<${Empty} title="No rows" />`
        : html`<${Chart} ...${{ rows, choice, labels }} keys=${chartKeys(choice, relation)} />`)}
  `;
}

interface ChartControlsProps {
  readonly relation: ConsoleRelation;
  readonly choice: ChartChoice;
  readonly references: ReadonlySet<string>;
  readonly onChoice: (choice: ChartChoice) => void;
}

function ChartControls({ relation, choice, references, onChoice }: ChartControlsProps): View {
  const columns = groupColumns(relation);
  const measured = measuredColumns(relation, references);
  const functions = [
    ["count ", "count of rows"] as const,
    ...measured.flatMap(({ name }) =>
      measures.slice(1).map((each) => [`${each} ${name}`, `${each} of ${name}`] as const)
    ),
  ];
  const measure = (value: string) => {
    const space = value.indexOf(" ");
    const name = value.slice(0, space) as ChartChoice["measure"];
    onChoice({ ...choice, measure: name, of: value.slice(space + 1) });
  };
  const isTime = typeKind(columns.find(({ name }) => name === choice.by)!.baseType) === "time";
  const by = (name: string) =>
    onChoice(withColumn(choice, columns.find((each) => each.name === name)!));
  const per = (period: string) => onChoice({ ...choice, period: period as ChartChoice["period"] });
  return html`
    <div class="row bar">
      <${Field} text="Show" options=${functions} value=${`${choice.measure} ${choice.of}`}
        onValue=${measure} />
      <${Field} text="by" options=${columns.map(({ name }) => name)} value=${choice
        .by} onValue=${by} />
      ${isTime &&
        html`<${Field} text="per" options=${periods} value=${choice.period} onValue=${per} />`}
    </div>
  `;
}

function Field({ text, ...props }: Omit<SelectProps, "label"> & { readonly text: string }): View {
  return html`<label class="row muted">${text} <${Select} label=${text} ...${props} /></label>`;
}

interface ChartProps {
  readonly rows: readonly GridRow[];
  readonly choice: ChartChoice;
  readonly labels: Labels;
  readonly keys: ReturnType<typeof chartKeys>;
}

interface Group {
  /** Start of the period; null for other groups, and for rows without a time. */
  readonly time: Date | null;
  readonly name: string;
  readonly y: number;
}

function Chart({ rows, choice, labels, keys }: ChartProps): View {
  const { by, period, measure, of } = choice;
  const names = rows.map(({ [keys.group]: value }) =>
    labels.get(by)?.get(String(value)) ?? cellText(value)
  );
  const groups = rows.map((row, index): Group => ({
    time: period === null || row[keys.group] === null ? null : new Date(String(row[keys.group])),
    name: names[index]!,
    y: Number(row[keys.measure]),
  })).filter((_, index) => rows[index]![keys.measure] !== null);
  const measured = rows.map(({ [keys.measure]: value }, index) => [
    names[index]!,
    value === null ? "null" : grouped(Number(value)),
  ]);
  const most = maxGroups(choice);
  const what = of === "" ? measure : `${measure} of ${of}`;
  const title = `${what} by ${period === null ? by : `${period} of ${by}`}`;
  return html`
    <div class="scroll bar">
      <${Drawing} label=${`${title}, ${groups.length} groups`} deps=${[rows, labels]}
        options=${(width: number) => drawingOf(groups, choice, width)} />
      ${rows.length >= most &&
        html`<p class="hint" role="status">These are the ${
          period === null ? "greatest" : "first"
        } ${grouped(most)} groups.</p>`}
      <details>
        <summary class="button">As a table</summary>
        <${DataTable} label=${title} head=${[by, what]} numbers=${[1]} rows=${measured} />
      </details>
    </div>
  `;
}

function drawingOf(
  groups: readonly Group[],
  { by, period, measure, of }: ChartChoice,
  width: number,
): Plot.PlotOptions {
  const isTilted = period === null && groups.length * 90 > width;
  const times = groups.filter(({ time }) => time !== null) as Plot.Data;
  return {
    height: 420,
    marginLeft: 64,
    marginBottom: isTilted ? 96 : 40,
    x: period === null
      ? {
        label: by,
        type: "band",
        // The axis has indexes as values and names as labels, because two groups may have the same name.
        domain: groups.map((_, index) => index),
        tickFormat: (index: number) => groups[index]!.name,
        tickRotate: isTilted ? -40 : 0,
      }
      : { label: by },
    y: { label: of === "" ? measure : `${measure} of ${of}`, grid: true, zero: true },
    marks: [
      Plot.ruleY([0]),
      period === null
        ? Plot.barY(groups as Plot.Data, { x: (_, index) => index, y: "y", fill: "var(--accent)" })
        : Plot.lineY(times, { x: "time", y: "y", stroke: "var(--accent)", marker: "circle" }),
    ],
  };
}
