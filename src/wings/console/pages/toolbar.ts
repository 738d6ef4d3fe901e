/// <reference lib="dom" />
/** The controls above a grid. @module */
import { queryName } from "../../../api/request/url/filter_param.ts";
import type { ConsoleRelation, ConsoleRelationship } from "../server/console_schema.ts";
import { codeShown, toggleCode } from "./code_panel.ts";
import { FacetMenu } from "./facets.ts";
import { newFilter } from "./filter_bar.ts";
import { emptyTableQuery, formatQuery, type TableQuery, toggleColumn } from "./filters.ts";
import { relationshipsOf, verbsOf } from "./model.ts";
import { hrefOf, type TableView, tableViews } from "./route.ts";
import { html, Icon, type IconName, type View } from "./view.ts";

interface ToolbarProps {
  readonly relation: ConsoleRelation;
  readonly query: TableQuery;
  readonly onQuery: (query: TableQuery) => void;
  readonly onInsert: () => void;
  readonly onRefresh: () => void;
  readonly view: TableView;
  /** Query string of the route. */
  readonly routeQuery: string;
}

/** Filters, columns, embeds, and actions. */
export function Toolbar(props: ToolbarProps): View {
  const { relation, query, onQuery, onInsert, onRefresh, view } = props;
  const addFilter = () => {
    const { filters } = query;
    onQuery({ ...query, filters: [...filters, newFilter(relation, filters)] });
  };
  return html`
    <div class="row bar" role="toolbar" aria-label="Table">
      <button type="button" onClick=${addFilter}><${Icon} name="filter" />Filter</button>
      ${view !== "chart" && html`${columnMenu(props)}${embedMenu(props)}
        <${FacetMenu} ...${{ relation, query, onQuery }} />`}
      ${viewLinks(props)}
      <span class="spacer"></span>
      <button type="button" class="icon-button" aria-label="Refresh" onClick=${onRefresh}>
        <${Icon} name="refresh" /></button>
      <button type="button" class="button is-quiet" aria-pressed=${String(codeShown.value)}
        onClick=${toggleCode}><${Icon} name="code" />Code</button>
      ${view === "rows" && verbsOf(relation).insert && html`
        <button type="button" class="button is-primary" onClick=${onInsert}>
          <${Icon} name="plus" />Insert</button>
      `}
    </div>
  `;
}

const viewLabels: Readonly<Record<TableView, readonly [icon: IconName, label: string]>> = {
  rows: ["table", "Rows"],
  chart: ["chart", "Chart"],
  plan: ["plan", "Plan"],
};

function viewLinks({ relation, view, query, routeQuery }: ToolbarProps): View {
  const { schema, name } = relation;
  // A link between a chart and rows keeps only the filters, because a chart's query selects groups.
  const plain = formatQuery({ ...emptyTableQuery, filters: query.filters });
  const queryOf = (to: TableView) => (to === "chart") === (view === "chart") ? routeQuery : plain;
  return html`
    <nav class="row" aria-label="View">
      ${tableViews.map((each) =>
        html`
          <a class="button is-quiet" key=${each} aria-current=${each === view ? "page" : null}
            href=${hrefOf({ page: "table", schema, name, view: each, query: queryOf(each) })}>
            <${Icon} name=${viewLabels[each][0]} /><span>${viewLabels[each][1]}</span></a>
        `
      )}
    </nav>
  `;
}

function columnMenu({ relation, query, onQuery }: ToolbarProps): View {
  const names = relation.columns.map(({ name }) => name);
  const items = query.select ?? ["*"];
  const isShown = (name: string) => items.includes("*") || items.includes(queryName(name));
  const count = names.filter(isShown).length;
  return html`
    <details class="menu">
      <summary class="button"><${Icon} name="columns" />Columns${count < names.length
        ? ` ${count}/${names.length}`
        : ""}</summary>
      <div class="box" role="group" aria-label="Columns">
        ${names.map((name) =>
          html`<label class="row check" key=${name}><input type="checkbox" checked=${isShown(name)}
            disabled=${isShown(name) && count === 1}
            onChange=${() =>
            onQuery({ ...query, select: toggleColumn(query, name, names) })} />${name}</label>`
        )}
      </div>
    </details>
  `;
}

function embedMenu({ relation, query, onQuery }: ToolbarProps): View {
  const relationships = relationshipsOf(relation);
  if (relationships.length === 0) return null;
  const items = query.select ?? ["*"];
  const toggle = (item: string) => {
    const next = items.includes(item) ? items.filter((each) => each !== item) : [...items, item];
    onQuery({ ...query, select: next.length === 1 && next[0] === "*" ? null : next });
  };
  return html`
    <details class="menu">
      <summary class="button"><${Icon} name="embed" />Related</summary>
      <div class="box" role="group" aria-label="Show with each row">
        <p class="hint">Show with each row</p>
        ${relationships.map((each) => {
          const item = embedItem(each, relationships);
          return html`<label class="row check" key=${item}><input type="checkbox"
            checked=${items.includes(item)} onChange=${() => toggle(item)} /><span>${
            each.foreign[1]
          }<small>${embedHint(each)}</small></span></label>`;
        })}
      </div>
    </details>
  `;
}

/** Returns the `select` item for a relationship, with a hint if another relationship has the same target. */
export function embedItem(
  { kind, origin, foreign: [, name], hint, pairs, isForward }: ConsoleRelationship,
  all: readonly ConsoleRelationship[],
): string {
  if (kind === "computed") return `${queryName(hint)}(*)`;
  // If a table refers to itself, the column's name selects the parent. As a hint after the table's
  // name, it selects the children.
  if (origin[1] === name && pairs.length === 1) {
    const [column, other] = pairs[0]!;
    return isForward ? `${queryName(column)}(*)` : `${queryName(name)}!${queryName(other)}(*)`;
  }
  const same = all.filter(({ foreign }) => foreign[1] === name);
  return same.length < 2 ? `${queryName(name)}(*)` : `${queryName(name)}!${queryName(hint)}(*)`;
}

function embedHint({ kind, pairs, junction, isForward }: ConsoleRelationship): string {
  if (kind === "computed") return "computed";
  if (junction !== null) return `through ${junction[1]}`;
  const columns = pairs.map(([column, other]) => isForward ? column : other).join(", ");
  return isForward ? `by ${columns}` : `rows whose ${columns} refers here`;
}
