/// <reference lib="dom" />
/** The most frequent values of a column. A click on a value filters by it. @module */
import { useMemo, useState } from "preact/hooks";
import type { ConsoleRelation } from "../server/console_schema.ts";
import { rowsOf } from "./api.ts";
import { cellText } from "./cells.ts";
import { type ChartChoice, chartKeys, chartQuery, groupColumns } from "./chart_query.ts";
import { ErrorBox } from "./exchange.ts";
import { type ColumnFilter, firstPage, formatQuery, type TableQuery, typeKind } from "./filters.ts";
import { referencesOf, useLabels } from "./labels.ts";
import { useAnswer } from "./loading.ts";
import { readCall, serviceState } from "./model.ts";
import { closeMenu, grouped, html, Icon, Select, type View } from "./view.ts";

interface FacetProps {
  readonly relation: ConsoleRelation;
  readonly query: TableQuery;
  readonly onQuery: (query: TableQuery) => void;
}

/** A menu with a column and its values. It sends requests only when it is opened. */
export function FacetMenu({ relation, query, onQuery }: FacetProps): View {
  const columns = groupColumns(relation);
  const references = new Set(referencesOf(relation).map((each) => each.column));
  const first = columns.find(({ enumLabels }) => enumLabels.length > 0) ??
    columns.find(({ baseType }) => typeKind(baseType) === "boolean") ??
    columns.find(({ name }) => references.has(name)) ?? columns[0];
  const [isOpen, setOpen] = useState(false);
  const [column, setColumn] = useState(first?.name ?? "");
  if (first === undefined || serviceState.value?.features.aggregates !== true) return null;
  return html`
    <details class="menu" onToggle=${(event: Event) =>
      setOpen((event.target as HTMLDetailsElement).open)}>
      <summary class="button"><${Icon} name="chart" />Values</summary>
      ${isOpen && html`
        <div class="box stack" role="group" aria-label="Values of a column">
          <${Select} label="Column" value=${column} onValue=${setColumn}
            options=${columns.map(({ name }) => name)} />
          <${FacetValues} key=${column} ...${{ relation, query, onQuery, column }} />
        </div>
      `}
    </details>
  `;
}

/** Maximum number of values in the menu. */
const maxValues = 12;

function FacetValues(
  { relation, query, onQuery, column }: FacetProps & { readonly column: string },
): View {
  const choice: ChartChoice = { by: column, period: null, measure: "count", of: "" };
  const keys = chartKeys(choice, relation);
  const { order, ...chart } = chartQuery(choice, relation, query);
  const byValue = { column: keys.group, descending: false };
  const counted = { ...chart, order: [...order, byValue], limit: maxValues };
  const { loaded } = useAnswer(readCall(relation, formatQuery(counted)));
  const rows = useMemo(() => loaded?.answer == null ? null : rowsOf(loaded.answer), [loaded]);
  const labels = useLabels(relation, rows).get(column);
  if (loaded?.error != null) return html`<${ErrorBox} error=${loaded.error} />`;
  if (rows === null) return html`<p class="loading">Loading…</p>`;
  const filterBy = (value: unknown) => {
    const others = query.filters.filter((each) => each.column !== column || each.path !== "");
    onQuery({ ...firstPage(query), filters: [...others, filterOf(relation, column, value)] });
  };
  return html`
    <ul onClick=${(event: Event) => closeMenu(event.target as Element)}>${rows.map((row, index) => {
      const value = row[keys.group];
      const label = labels?.get(String(value));
      return html`
        <li key=${index}><button type="button" class="row between facet"
          onClick=${() => filterBy(value)}><span>${cellText(value)}${label !== undefined &&
            html`<small> ${label}</small>`}</span><span class="muted">${grouped(
              Number(row[keys.measure]),
            )}</span></button></li>
      `;
    })}</ul>
    ${rows.length === maxValues && html`<p class="hint">The ${maxValues} most frequent values</p>`}
  `;
}

/** Returns the filter for rows with a value. */
function filterOf(relation: ConsoleRelation, column: string, value: unknown): ColumnFilter {
  const { baseType } = relation.columns.find(({ name }) => name === column)!;
  const common = { column, path: "", value: "" };
  if (value === null) return { ...common, operator: "null" };
  if (typeKind(baseType) === "boolean") return { ...common, operator: value ? "true" : "false" };
  return { ...common, operator: "eq", value: String(value) };
}
